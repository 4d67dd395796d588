"""ioping: requests and bytes per second, and latencies, from its statistics.

The first line counts the time of the requests alone, without the pauses between them. Sizes are powers of 1,024, `k` of counts is
1,000 (ioping 1.3, ioping.c). Each number has three digits.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

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
UNITS = {**printed.TIMES, "min": 60 * printed.SECOND, "hour": 3600 * printed.SECOND}


def _figures(text: str) -> Iterator[printed.Figure]:
    """Yield the figures of the last run in the output."""
    whole = [row.rstrip() for row in printed.lines(text)]
    rows = whole[printed.last_run(whole, BEGUN) :]
    requests, times = printed.first_match(rows, REQUESTS), printed.first_match(rows, TIMES)
    if requests is None:
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


PARSER = Parser(
    name="ioping",
    programs=("ioping",),
    recognises=printed.prints(("ioping",), BEGUN, REQUESTS),
    **printed.reads(_figures, EXPECTED, ends=TIMES),
    tier=printed.of_device,
    direct="-D",
)
