"""db_bench of RocksDB and LevelDB: operations per second and bytes per second of each benchmark.

`MB/s` is 2^20 bytes/s of keys and values, as they were put or got (RocksDB 7.8, tools/db_bench_tool.cc: 1048576.0). LevelDB
prints microseconds per operation only; operations per second follow for one thread. With `--histogram` there are percentiles.
A benchmark that runs twice counts the last time. Keys of `(N of M found)` that were not found are errors.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from assay.catalogue import Parser, printed

EXPECTED = "lines of db_bench such as `fillseq : 3.144 micros/op 318083 ops/sec 3.144 seconds 1000000 operations; 35.2 MB/s`"
ROW = re.compile(
    r"([a-z][A-Za-z0-9_]{1,40})(?: \[\S{1,40}\])?\s*:\s{1,12}([\d.]{1,20}) micros/op(?: ([\d.]{1,20}) ops/sec)?"
    r"(?: ([\d.]{1,20}) seconds (\d{1,18}) operations)?;?(?:\s{1,12}([\d.]{1,20}) MB/s)?"
    r"(?:\s{1,12}\((?:(\d{1,18}) of (\d{1,18}) found|.{1,80})\))?\s*"
)
PERCENTILES = re.compile(r"Percentiles: P50: ([\d.]{1,20}) P75: [\d.]{1,20} P99: ([\d.]{1,20}) P99\.9: ([\d.]{1,20}) .{1,60}")
NAMES = ("latency_p50_ns", "latency_p99_ns", "latency_p999_ns")


def _figures(text: str) -> Iterator[printed.Figure]:
    found: dict[str, dict[str, printed.ParsedNumber]] = {}
    name = ""
    for row in printed.lines(text):
        if match := ROW.fullmatch(row):
            name = match[1].lower()
            found[name] = dict(_benchmark(match))
        elif "micros/op" in row:
            name = ""  # percentiles that follow are of a benchmark whose line cannot be read
        elif name and (match := PERCENTILES.fullmatch(row.rstrip())):
            found[name] |= {figure: printed.number(value, 1e3) for figure, value in zip(NAMES, match.groups(), strict=True)}
    for name, figures in found.items():
        yield from ((f"{name}.{figure}", number) for figure, number in figures.items())


def _benchmark(match: re.Match[str]) -> Iterator[printed.Figure]:
    """Yield the figures of one line."""
    _, micros, rate, seconds, count, megabytes, found, keys = match.groups()
    each = printed.number(micros, 1e3)
    if rate is not None:
        yield "ops_per_s", printed.number(rate)
    elif each.value > 0:
        per_s = printed.SECOND / each.value
        yield "ops_per_s", printed.ParsedNumber(value=per_s, half=per_s * each.half / each.value)
    if count is not None:
        yield "count", printed.exact(int(count))
        yield "elapsed_ns", printed.number(seconds, printed.SECOND)
    if keys is not None:
        if int(found) > int(keys):
            raise ValueError(f"keys, {found} of {keys} found")
        yield "count", printed.exact(int(count or keys))
        yield "errors", printed.exact(int(keys) - int(found))
        yield "attempts", printed.exact(int(keys))
    if megabytes is not None:
        yield "bytes_per_s", printed.number(megabytes, printed.MIB)


PARSER = Parser(
    name="db_bench",
    recognises=printed.prints(("db_bench",), ROW),
    **printed.reads(_figures, EXPECTED),
    programs=("db_bench",),
)
