"""wrk: requests per second, their latency, and the bytes of the responses.

`KB`, `MB` and `GB` are powers of 1,024, times are rounded to two decimals (wrk 4.1.0, src/units.c). Latencies are those of the
requests that were answered; the percentiles need `--latency`. Errors are those of sockets, and answers other than 2xx and 3xx.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from assay.catalogue import Parser, printed

EXPECTED = "the report of wrk (Thread Stats, requests in, Requests/sec)"
BEGUN = re.compile(r"Running \S{1,20} test @ .{1,1000}")
RATE = re.compile(r"Requests/sec:\s+([\d.]{1,20})")
TRANSFER = re.compile(r"Transfer/sec:\s+([\d.]{1,20})([KMGTP]?)B")
TOTAL = re.compile(r"\s+(\d{1,18}) requests in ([\d.]{1,12})(us|ms|s|m|h), ([\d.]{1,12})([KMGTP]?)B read")
LATENCY = re.compile(r"\s+Latency\s+([\d.]{1,12})(us|ms|s|m|h)\s+\S{1,20}\s+([\d.]{1,12})(us|ms|s|m|h)\s+[\d.]{1,8}%")
PERCENTILE = re.compile(r"\s+(50|90|99)%\s+([\d.]{1,12})(us|ms|s|m|h)")
SOCKETS = re.compile(r"\s+Socket errors: connect (\d{1,18}), read (\d{1,18}), write (\d{1,18}), timeout (\d{1,18})")
STATUS = re.compile(r"\s+Non-2xx or 3xx responses: (\d{1,18})")


def _figures(text: str) -> Iterator[printed.Figure]:
    """Yield the figures of the last run in the output."""
    whole = printed.lines(text)
    rows = [row.rstrip() for row in whole[printed.last_run(whole, BEGUN) :]]
    rate, total = printed.first_match(rows, RATE), printed.first_match(rows, TOTAL)
    if rate is None or total is None:
        return
    yield "request.ops_per_s", printed.number(rate[1])
    yield "request.count", printed.exact(int(total[1]))
    yield "request.elapsed_ns", printed.number(total[2], printed.TIMES[total[3]])
    if (errors := _errors(rows)) is not None:
        yield "request.errors", printed.exact(errors)
    if latency := printed.first_match(rows, LATENCY):
        yield "request.latency_mean_ns", printed.number(latency[1], printed.TIMES[latency[2]])
        yield "request.latency_max_ns", printed.number(latency[3], printed.TIMES[latency[4]])
    for match in (found for row in rows if (found := PERCENTILE.fullmatch(row))):
        yield f"request.latency_p{match[1]}_ns", printed.number(match[2], printed.TIMES[match[3]])
    yield "response.bytes", printed.number(total[4], printed.power(total[5]))
    if transfer := printed.first_match(rows, TRANSFER):
        yield "response.bytes_per_s", printed.number(transfer[1], printed.power(transfer[2]))


def _errors(rows: Sequence[str]) -> int | None:
    """The errors between the lines of the total and of the rate; None where a line there cannot be read."""
    ends = [at for at, row in enumerate(rows) if TOTAL.fullmatch(row) or RATE.fullmatch(row)]
    counts = [SOCKETS.fullmatch(row) or STATUS.fullmatch(row) for row in rows[ends[0] + 1 : ends[-1]]]
    return None if None in counts else sum(int(count) for match in counts if match for count in match.groups())


PARSER = Parser(
    name="wrk",
    recognises=printed.prints(("wrk",), BEGUN, RATE),
    **printed.reads(_figures, EXPECTED),
)
