"""wrk and wrk2: requests per second, their latency, and the bytes of the responses.

`KB`, `MB` and `GB` are powers of 1,024, times are rounded to two decimals (wrk 4.1.0, src/units.c). Latencies are those of the
requests that were answered; the percentiles need `--latency`. Errors are those of sockets, and answers other than 2xx and 3xx,
which are in the count of requests. wrk2 prints percentiles with three decimals (src/wrk.c, print_stats_latency).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from assay.catalogue import Parser, printed

EXPECTED = "the report of wrk (Thread Stats, requests in, Requests/sec)"
BEGUN = re.compile(r"(?:> ?)?Running \S{1,20} test @ .{1,1000}")
RATE = re.compile(r"Requests/sec:\s+([\d.]{1,20})")
TRANSFER = re.compile(r"Transfer/sec:\s+([\d.]{1,20})([KMGTP]?)B")
TOTAL = re.compile(r"\s*(\d{1,18}) requests in ([\d.]{1,12})(us|ms|s|m|h), ([\d.]{1,12})([KMGTP]?)B read")
HEADING = re.compile(r"\s*Thread Stats\s+Avg\s+Stdev\s+(Max|99%)\s+\+/- Stdev")
LATENCY = re.compile(r"\s*Latency\s+([\d.]{1,12})(us|ms|s|m|h)\s+\S{1,20}\s+([\d.]{1,12})(us|ms|s|m|h)\s+[\d.]{1,8}%")
PERCENTILE = re.compile(r"\s*(\d{1,3}(?:\.\d{3})?)%\s+([\d.]{1,12})(us|ms|s|m|h)")
THIRD = {"Max": "max", "99%": "p99"}
"""What the third column is: builds of wrk2 put the 99th percentile in the place of the maximum."""
PERCENTILES = {50.0: "p50", 90.0: "p90", 95.0: "p95", 99.0: "p99", 99.9: "p999"}
SOCKETS = re.compile(r"\s*Socket errors: connect (\d{1,18}), read (\d{1,18}), write (\d{1,18}), timeout (\d{1,18})")
STATUS = re.compile(r"\s*Non-2xx or 3xx responses: (\d{1,18})")


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
        unsent, refused = errors
        yield "request.errors", printed.exact(unsent + refused)
        yield "request.attempts", printed.exact(int(total[1]) + unsent)
    heading = printed.first_match(rows, HEADING)
    if heading and (latency := printed.first_match(rows, LATENCY)):
        yield "request.latency_mean_ns", printed.number(latency[1], printed.TIMES[latency[2]])
        yield f"request.latency_{THIRD[heading[1]]}_ns", printed.number(latency[3], printed.TIMES[latency[4]])
    for match in (found for row in rows if (found := PERCENTILE.fullmatch(row))):
        if name := PERCENTILES.get(float(match[1])):
            yield f"request.latency_{name}_ns", printed.number(match[2], printed.TIMES[match[3]])
    yield "response.bytes", printed.number(total[4], printed.power(total[5]))
    if transfer := printed.first_match(rows, TRANSFER):
        yield "response.bytes_per_s", printed.number(transfer[1], printed.power(transfer[2]))


def _errors(rows: Sequence[str]) -> tuple[int, int] | None:
    """Failed calls of sockets and refusing answers, between the lines of the total and of the rate.

    None where a line there cannot be read.
    """
    ends = [at for at, row in enumerate(rows) if TOTAL.fullmatch(row) or RATE.fullmatch(row)]
    counts = [SOCKETS.fullmatch(row) or STATUS.fullmatch(row) for row in rows[ends[0] + 1 : ends[-1]]]
    if None in counts:
        return None
    found = [(match.re, sum(map(int, match.groups()))) for match in counts if match]
    return sum(number for form, number in found if form is SOCKETS), sum(number for form, number in found if form is STATUS)


PARSER = Parser(
    name="wrk",
    programs=("wrk", "wrk2"),
    recognises=printed.prints(("wrk", "wrk2"), BEGUN, RATE),
    **printed.reads(_figures, EXPECTED, begins=BEGUN),
)
