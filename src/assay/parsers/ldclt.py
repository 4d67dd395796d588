"""ldclt of 389 Directory Server: operations per second, their number and errors, from its global statistics.

The rate is the number of operations over the sampled time (ldclt.c, printGlobalStatistics). Errors are added over their codes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from assay.catalogue import Parser, printed

EXPECTED = "ldclt's line `Global average rate: N/thr (M/sec), total: K`"
RATE = re.compile(
    r".{0,40}ldclt\[\d{1,10}\]: Global average rate:\s+[\d.]{1,20}/thr\s+\(\s*([\d.]{1,20})/sec\), total:\s+(\d{1,18})\s*"
)
ERROR = re.compile(r".{0,40}ldclt\[\d{1,10}\]: Global (?:error\s+\d{1,6}|illegal errors) .{1,200} occurs\s+(\d{1,18}) times\s*")
SAID = re.compile(r".{0,40}ldclt\[\d{1,10}\]: .{1,300}")
NO_ERROR = re.compile(r".{0,40}ldclt\[\d{1,10}\]: Global no error occurs during this session\.\s*")
ANY_ERROR = re.compile(r".{0,40}ldclt\[.{1,10}\]: Global (?:error|illegal|no error) .{1,300}")


def _figures(text: str) -> Iterator[printed.Figure]:
    """Yield the figures of the last run in the output."""
    whole = printed.lines(text)
    rows = whole[printed.last_run(whole, RATE) :]
    rate = printed.first_match(rows, RATE)
    if rate is None:
        return
    yield "request.ops_per_s", printed.number(rate[1])
    yield "request.count", printed.exact(int(rate[2]))
    told = [row for row in rows if ANY_ERROR.fullmatch(row)]
    errors = [match for row in told if (match := ERROR.fullmatch(row))]
    if told and len(errors) + sum(NO_ERROR.fullmatch(row) is not None for row in told) == len(told):
        yield "request.errors", printed.exact(sum(int(match[1]) for match in errors))
        yield "request.attempts", printed.exact(int(rate[2]))


PARSER = Parser(
    name="ldclt",
    programs=("ldclt",),
    recognises=printed.prints(("ldclt",), SAID),
    **printed.reads(_figures, EXPECTED, begins=RATE),
)
