"""ldclt of 389 Directory Server: operations per second, their number and errors, from its global statistics.

The rate is the number of successful operations over the sampled time (ldclt.c, printGlobalStatistics): no rate where a thread
ended before. The statistics of one process grow; the last count. Errors are added over their codes, and are no operations.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from assay.catalogue import Parser, printed

EXPECTED = "ldclt's line `Global average rate: N/thr (M/sec), total: K`"
SAID = re.compile(r".{0,40}ldclt\[(\d{1,10})\]: .{1,300}")
HEAD = r".{0,40}ldclt\[\d{1,10}\]: "
RATE = re.compile(HEAD + r"Global average rate:\s+[\d.]{1,20}/thr\s+\(\s*([\d.]{1,20}|-?nan|-?inf)/sec\), total:\s+(\d{1,18})\s*")
ANY_RATE = re.compile(r".{0,40}ldclt\[.{1,10}\]: Global average rate:.{1,120}")
ERROR = re.compile(HEAD + r"Global (?:error\s+-?\d{1,6}|illegal errors) .{1,200} occurs\s+(\d{1,18}) times\s*")
NO_ERROR = re.compile(HEAD + r"Global no error occurs during this session\.\s*")
ANY_ERROR = re.compile(r".{0,40}ldclt\[.{1,10}\]: Global (?:error|illegal|no error) .{1,300}")
IDLE = re.compile(r".{0,40}ldclt\[.{1,10}\]: Global number of dead threads: .{1,20}")
FAILED = re.compile(r".{0,40}ldclt\[.{1,10}\]: Exit status (?!0 ).{1,80}")


def runs(text: str) -> list[str]:
    """Return the text of each process, told by its number."""
    found, process = [""], ""
    for row in text.splitlines(keepends=True):
        if (match := SAID.fullmatch(row.rstrip("\r\n"))) and match[1] != process:
            found += [""] if process else []
            process = match[1]
        found[-1] += row
    return found


def _figures(text: str) -> Iterator[printed.Figure]:
    """Yield the figures of the last process with a result."""
    each = [printed.lines(part) for part in runs(text)]
    rows = next((rows for rows in reversed(each) if printed.first_match(rows, ANY_RATE)), [])
    if failed := printed.first_match(rows, FAILED):
        raise ValueError(f"run that did its work ({failed[0].strip()[:120]!r})")
    rows = rows[printed.last_run(rows, ANY_RATE) :]
    if not rows:
        return
    if (rate := RATE.fullmatch(rows[0])) is None:
        raise printed.damaged_line(rows, 0)
    if not any(IDLE.fullmatch(row) for row in rows):
        yield "request.ops_per_s", printed.number(rate[1])
    yield "request.count", printed.exact(int(rate[2]))
    told = [row for row in rows if ANY_ERROR.fullmatch(row)]
    errors = [match for row in told if (match := ERROR.fullmatch(row))]
    if told and len(errors) + sum(NO_ERROR.fullmatch(row) is not None for row in told) == len(told):
        failures = sum(int(match[1]) for match in errors)
        yield "request.errors", printed.exact(failures)
        yield "request.attempts", printed.exact(int(rate[2]) + failures)


PARSER = Parser(
    name="ldclt",
    programs=("ldclt",),
    recognises=printed.prints(("ldclt",), SAID),
    **printed.reads(_figures, EXPECTED, runs=runs),
)
