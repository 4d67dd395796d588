"""ioping: requests and bytes per second, and latencies, from its statistics.

The first line counts the time of the requests alone, without the pauses between them. Sizes are powers of 1,024, `k` of counts is
1,000 (ioping 1.3, ioping.c). Each number has three digits. Up to 0.8 the line has no amount, and its time is that of the whole
call, which the rates do not count; it does not tell a read from a write.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from assay.catalogue import Parser, printed

EXPECTED = "the statistics of ioping (requests completed in, min/avg/max/mdev)"
BEGUN = re.compile(r"--- .{1,400} ioping statistics ---")
REQUESTS = re.compile(
    r"([\d.]{1,20})(?: ([kMGT]))? requests completed in ([\d.]{1,20}) (ns|us|ms|s|min|hour), "
    r"([\d.]{1,20}) ([KMGTP]?)i?B (read|written), ([\d.]{1,20})(?: ([kMGT]))? iops, ([\d.]{1,20}) ([KMGTP]?)i?B/s"
)
TIMES = re.compile(
    r"min/avg/max/mdev = [\d.]{1,20} \w{1,5} / ([\d.]{1,20}) (ns|us|ms|s|min|hour) "
    r"/ ([\d.]{1,20}) (ns|us|ms|s|min|hour) / .{1,30}"
)
OLD = re.compile(
    r"([\d.]{1,20})(?: ([kMG]))? requests completed in [\d.]{1,20} \w{1,5}, "
    r"([\d.]{1,20})(?: ([kMG]))? iops, ([\d.]{1,20}) ([KMGTkmgt]?)i?[Bb]/s"
)
OLD_TIMES = re.compile(r"min/avg/max/mdev = [\d.]{1,20}/([\d.]{1,20})/([\d.]{1,20})/[\d.]{1,20} (ms)")
"""The forms up to 0.8, and up to 0.6."""
UNITS = {**printed.TIMES, "min": 60 * printed.SECOND, "hour": 3600 * printed.SECOND}


def _figures(text: str) -> Iterator[printed.Figure]:
    """Yield the figures of the last run in the output."""
    whole = [row.rstrip() for row in printed.lines(text)]
    rows = whole[printed.last_run(whole, BEGUN) :]
    requests, times = printed.first_match(rows, REQUESTS), printed.first_match(rows, TIMES)
    if requests is None:
        yield from _old(rows)
        return
    count, thousands, elapsed, unit, size, prefix, way, rate, of_rate, speed, of_speed = requests.groups()
    side = "read" if way == "read" else "write"
    yield f"{side}.ops_per_s", printed.number(rate, printed.power(of_rate or "", 1000))
    yield f"{side}.count", printed.number(count, printed.power(thousands or "", 1000))
    yield f"{side}.elapsed_ns", printed.number(elapsed, UNITS[unit])
    yield f"{side}.bytes", printed.number(size, printed.power(prefix))
    yield f"{side}.bytes_per_s", printed.number(speed, printed.power(of_speed))
    if times is not None:
        yield f"{side}.latency_mean_ns", printed.number(times[1], UNITS[times[2]])
        yield f"{side}.latency_max_ns", printed.number(times[3], UNITS[times[4]])


def _old(rows: Sequence[str]) -> Iterator[printed.Figure]:
    """Yield the figures of a version up to 0.8."""
    if (requests := printed.first_match(rows, OLD)) is None:
        return
    times, apart = printed.first_match(rows, OLD_TIMES), printed.first_match(rows, TIMES)
    mean, unit, most, of_most = (times[1], times[3], times[2], times[3]) if times else apart.groups() if apart else ("",) * 4
    count, thousands, rate, of_rate, speed, of_speed = requests.groups()
    yield "request.ops_per_s", printed.number(rate, printed.power(of_rate or "", 1000))
    yield "request.count", printed.number(count, printed.power(thousands or "", 1000))
    yield "request.bytes_per_s", printed.number(speed, printed.power(of_speed))
    if mean:
        yield "request.latency_mean_ns", printed.number(mean, UNITS[unit])
        yield "request.latency_max_ns", printed.number(most, UNITS[of_most])


PARSER = Parser(
    name="ioping",
    programs=("ioping",),
    recognises=printed.prints(("ioping",), BEGUN, REQUESTS, OLD),
    **printed.reads(_figures, EXPECTED, ends=TIMES),
    tier=printed.of_device,
    direct="-D",
)
