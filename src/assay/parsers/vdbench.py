"""vdbench: rates and response times of reads and writes, from the line `avg_FIRST-LAST` of the last run definition.

`MB/sec` is 2^20 bytes/s as its head says (`1024**2`), response times are milliseconds. One line has reads and writes together;
the share `read pct` divides the operations (vdbench 5.04.07, summary.html and its terminal). Runs of file systems (fwd) have
other columns and are not read.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from assay.catalogue import Parser, printed

EXPECTED = "vdbench's table with interval, i/o rate, MB/sec, bytes i/o, read pct and resp time, with its line avg"
HEAD = re.compile(r".{1,40}\binterval\s+i/o\s+MB/sec\s+bytes\s+read\s+resp\s+read\s+write\s.{1,100}")
UNITS = re.compile(r"\s+rate\s+(1024\*\*2|1000\*\*2)\s+i/o\s+pct\s+time\s+resp\s+resp\s.{1,100}")
BEGUN = re.compile(r"\S{1,20} Starting RD=\S{1,80};? .{1,300}")
AVERAGE = re.compile(
    r"\S{1,20}\s+avg_\d{1,9}-\d{1,9}" + r"\s+([\d.]{1,20})" * 9 + r"(?:\s+[\d.]{1,20}){2}(?:\s+(?:[\d.]{1,20}|NaN)){2}\s*"
)


def _figures(text: str) -> Iterator[printed.Figure]:
    size, found = _last(printed.lines(text))
    if found is None:
        return
    rate, megabytes, _, pct, _, read_ms, write_ms, read_max, write_max = found.groups()
    share = float(pct) / 100
    if not 0 <= share <= 1:
        raise ValueError(f"{pct!r} as a share of reads")
    for side, part, mean, longest in (("read", share, read_ms, read_max), ("write", 1 - share, write_ms, write_max)):
        if part and float(rate):
            yield f"{side}.ops_per_s", _part(rate, part)
            yield f"{side}.bytes_per_s", _part(megabytes, part).times(size)
            yield f"{side}.latency_mean_ns", printed.number(mean, 1e6)
            yield f"{side}.latency_max_ns", printed.number(longest, 1e6)


def _last(rows: Sequence[str]) -> tuple[float, re.Match[str] | None]:
    """Return the bytes of a MB, and the averages of the last run definition; None where it has not ended."""
    size, found = 0.0, None
    for row in rows:
        if units := UNITS.fullmatch(row):
            size = printed.MIB if units[1] == "1024**2" else 1e6
        elif BEGUN.fullmatch(row):
            found = None
        elif size and (match := AVERAGE.fullmatch(row)):
            found = match
    return size, found


def _part(text: str, part: float) -> printed.ParsedNumber:
    """Return the part of a number; of a mix the share is rounded to 0.01 %, too."""
    whole = printed.number(text)
    rounded = 0.0 if part == 1 else whole.value * 0.5e-4
    return printed.ParsedNumber(value=whole.value * part, half=whole.half * part + rounded)


PARSER = Parser(
    name="vdbench",
    recognises=printed.prints(("vdbench",), HEAD, UNITS),
    **printed.reads(_figures, EXPECTED),
    tier=printed.of_device,
)
