"""ab (ApacheBench): requests per second, their latency, failures, and the bytes of the responses.

`Kbytes/sec` counts in 1,024 bytes (support/ab.c of httpd 2.4). Failed requests and answers other than 2xx overlap, so the larger
number is the errors; both are in the number of completed requests. An answer is also called failed where it has another length
than the first one, as pages have that change: these are no errors, and doubtful, as are empty pages. The percentiles are whole
milliseconds.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from assay.catalogue import Parser, printed

EXPECTED = "the report of ab (Complete requests, Failed requests, Requests per second)"
BEGUN = re.compile(r"This is ApacheBench, Version .{1,100}")
HEAD = re.compile(r"Server Software:.{0,200}")
RATE = re.compile(r"Requests per second:\s+([\d.,]{1,20}) \[#/sec\] \(mean\)")
MEAN = re.compile(r"Time per request:\s+([\d.,]{1,20}) \[ms\] \(mean\)")
TRANSFER = re.compile(r"Transfer rate:\s+([\d.,]{1,20}) \[Kbytes/sec\] received")
PERCENTILE = re.compile(r"\s*(50|90|95|99|100)%\s+(\d{1,12})(?: \(longest request\))?")
NAMES = {"50": "p50", "90": "p90", "95": "p95", "99": "p99", "100": "max"}
FAILED, OTHERS, CONTENT = "Failed requests", "Non-2xx responses", "HTML transferred"
FAILURES = (FAILED, OTHERS)
KINDS = re.compile(r"\s*\((?:Connect|Receive): .{0,80}?\bLength: (\d{1,18}), .{1,60}\)")
"""What the failed requests are, below their number."""


def _figures(text: str) -> Iterator[printed.Figure]:
    """Yield the figures of the last run in the output."""
    whole = printed.lines(text)
    rows = [row.rstrip() for row in whole[max(printed.last_run(whole, BEGUN), printed.last_run(whole, HEAD)) :]]
    rate, found = printed.first_match(rows, RATE), printed.named(rows)
    if rate is None:
        return
    yield "request.ops_per_s", printed.number(rate[1])
    yield from _counts(found, printed.first_match(rows, KINDS))
    yield "request.elapsed_ns", printed.number(found["Time taken for tests"].removesuffix(" seconds"), printed.SECOND)
    if mean := printed.first_match(rows, MEAN):
        yield "request.latency_mean_ns", printed.number(mean[1], 1e6)
    yield from _percentiles(rows)
    yield "response.bytes", printed.exact(int(found["Total transferred"].removesuffix(" bytes")))
    if transfer := printed.first_match(rows, TRANSFER):
        yield "response.bytes_per_s", printed.number(transfer[1], printed.KIB)


def _counts(found: Mapping[str, str], kinds: re.Match[str] | None) -> Iterator[printed.Figure]:
    count = int(found["Complete requests"])
    yield "request.count", printed.exact(count)
    if [name for name in found if name.startswith("Non-") and name not in FAILURES]:
        return  # a line of failures that cannot be read
    failed, others = (int(found[name]) if name in found else 0 for name in FAILURES)
    odd = min(failed, int(kinds[1])) if kinds else 0
    if FAILED not in found and OTHERS not in found:
        raise ValueError("number of failed requests")
    yield "request.errors", printed.exact(max(failed - odd, others))
    doubtful = count - others if found.get(CONTENT) == "0 bytes" else max(0, odd - others)  # an error page has another length
    if doubtful:
        yield "request.doubtful", printed.exact(doubtful)
    yield "request.attempts", printed.exact(count)
    yield "request.answered", printed.exact(max(0, count - others))


def _percentiles(rows: Sequence[str]) -> Iterator[printed.Figure]:
    for match in (match for row in rows if (match := PERCENTILE.fullmatch(row))):
        if int(match[2]):
            yield f"request.latency_{NAMES[match[1]]}_ns", printed.number(match[2], 1e6)


PARSER = Parser(
    name="ab",
    programs=("ab",),
    recognises=printed.prints(("ab",), BEGUN, RATE),
    **printed.reads(_figures, EXPECTED, begins=BEGUN),
)
