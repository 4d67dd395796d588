"""hey: requests per second, their latency, and failures by status code.

A response other than 2xx and 3xx is an error, and so is a request without a response; a redirection is
doubtful. Latencies are those of all responses.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from assay.catalogue import Parser, printed

EXPECTED = "the report of hey (Summary, Requests/sec, Status code distribution)"
BEGUN, STATUSES = re.compile(r"Summary:|All requests done\."), re.compile(r"Status code distribution:")
FAILURES = re.compile(r"Error distribution:")
STATUS = re.compile(r"\s*\[(\d{3})\]\s+(\d{1,18}) responses")
FAILED = re.compile(r"\s*\[(\d{1,18})\]\s+(?!\S{1,18} responses$).{1,2000}")
PERCENTILE = re.compile(r"\s*(50|90|95|99)% in ([\d.]{1,20}) secs\.?")
LATENCIES = {"Average": "latency_mean_ns", "Slowest": "latency_max_ns"}
GOOD = ("2", "3")


def _figures(text: str) -> Iterator[printed.Figure]:
    """Yield the figures of the last run in the output."""
    whole = [row.rstrip() for row in printed.lines(text)]
    rows = whole[printed.last_run(whole, BEGUN) :]
    found = printed.named(rows)
    if "Requests/sec" not in found:
        yield from _counts(rows)
        return
    yield "request.ops_per_s", printed.number(found["Requests/sec"])
    yield "request.elapsed_ns", printed.number(_seconds(found["Total"]), printed.SECOND)
    yield from _counts(rows)
    times = {name: _seconds(found[name]) for name in LATENCIES if name in found and "NaN" not in found[name]}
    yield from ((f"request.{figure}", number) for figure, number in printed.latencies(LATENCIES, times, printed.SECOND))
    for match in (match for row in rows if (match := PERCENTILE.fullmatch(row))):
        yield f"request.latency_p{match[1]}_ns", printed.number(match[2], printed.SECOND)
    if "Total data" in found:
        yield "response.bytes", printed.exact(int(found["Total data"].removesuffix(" bytes")))


def runs(text: str) -> list[str]:
    """Return the texts of the runs in an output; up to 0.1.0 a line without a result stands before the summary."""
    return [part for part in printed.runs_in(text, BEGUN) if "code distribution:" in part or "Error distribution:" in part]


def _seconds(value: str) -> str:
    return re.sub(r" secs?\.?$", "", value)


def _counts(rows: Sequence[str]) -> Iterator[printed.Figure]:
    """Yield the responses and the failures; none where a line of theirs cannot be read."""
    at = next((at for at, row in enumerate(rows) if STATUSES.fullmatch(row) or FAILURES.fullmatch(row)), None)
    told = [row for row in rows[at or 0 :] if row.lstrip().startswith("[")]
    answers, failures = ([match for row in told if (match := form.fullmatch(row))] for form in (STATUS, FAILED))
    if at is None or len(answers) + len(failures) != len(told):
        return
    count, failed = sum(int(one[2]) for one in answers), sum(int(one[1]) for one in failures)
    yield "request.count", printed.exact(count)
    yield "request.errors", printed.exact(failed + sum(int(one[2]) for one in answers if one[1][0] not in GOOD))
    yield "request.attempts", printed.exact(count + failed)
    yield "request.answered", printed.exact(sum(int(one[2]) for one in answers if one[1][0] == "2"))
    if moved := sum(int(one[2]) for one in answers if one[1][0] == "3"):  # it follows them unless it is told not to
        yield "request.doubtful", printed.exact(moved)


PARSER = Parser(
    name="hey",
    programs=("hey",),
    recognises=printed.prints(("hey",), STATUSES, FAILURES),
    **printed.reads(_figures, EXPECTED, runs=runs),
)
