"""ab (ApacheBench): requests per second, their latency, failures, and the bytes of the responses.

`Kbytes/sec` counts in 1,024 bytes (support/ab.c of httpd 2.4). Failed requests and answers other than 2xx overlap, so the larger
number is the errors; both are in the number of completed requests. The percentiles are whole milliseconds.
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
PERCENTILE = re.compile(r"\s+(50|90|95|99|100)%\s+(\d{1,12})(?: \(longest request\))?")
NAMES = {"50": "p50", "90": "p90", "95": "p95", "99": "p99", "100": "max"}
FAILURES = ("Failed requests", "Non-2xx responses")


def _figures(text: str) -> Iterator[printed.Figure]:
    """Yield the figures of the last run in the output."""
    whole = printed.lines(text)
    rows = [row.rstrip() for row in whole[max(printed.last_run(whole, BEGUN), printed.last_run(whole, HEAD)) :]]
    rate, found = printed.first_match(rows, RATE), printed.named(rows)
    if rate is None:
        return
    yield "request.ops_per_s", printed.number(rate[1])
    yield from _counts(found)
    yield "request.elapsed_ns", printed.number(found["Time taken for tests"].removesuffix(" seconds"), printed.SECOND)
    if mean := printed.first_match(rows, MEAN):
        yield "request.latency_mean_ns", printed.number(mean[1], 1e6)
    yield from _percentiles(rows)
    yield "response.bytes", printed.exact(int(found["Total transferred"].removesuffix(" bytes")))
    if transfer := printed.first_match(rows, TRANSFER):
        yield "response.bytes_per_s", printed.number(transfer[1], printed.KIB)


def _counts(found: Mapping[str, str]) -> Iterator[printed.Figure]:
    count = int(found["Complete requests"])
    yield "request.count", printed.exact(count)
    if [name for name in found if name.startswith("Non-") and name not in FAILURES]:
        return  # a line of failures that cannot be read
    yield "request.errors", printed.exact(max(int(found[name]) for name in FAILURES if name in found))
    yield "request.attempts", printed.exact(count)


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
