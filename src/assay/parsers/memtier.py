"""memtier_benchmark: operations and bytes per second and latencies of SET, of GET and of both, from its table.

Latencies are milliseconds, `KB/sec` counts in 1,024 bytes (run_stats.cpp of 1.2 to 2). The last table counts, which is the mean
of several runs (-x). The table has neither a number of operations nor of failures; `Misses/sec` are keys without a value.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from assay.catalogue import Parser, printed

EXPECTED = "the table of memtier_benchmark with the columns Type, Ops/sec and KB/sec"
HEADING = re.compile(r"\s*Type\s+Ops/sec\s+Hits/sec\s+Misses/sec\s.{1,300}")
TYPES = {"Sets": "request_set", "Gets": "request_get", "Totals": "request"}
LATENCIES = {
    "Latency": "latency_mean_ns",
    "Avg.Latency": "latency_mean_ns",
    "p50Latency": "latency_p50_ns",
    "p90Latency": "latency_p90_ns",
    "p95Latency": "latency_p95_ns",
    "p99Latency": "latency_p99_ns",
    "p99.9Latency": "latency_p999_ns",
    "p100Latency": "latency_max_ns",
}
NONE = "---"


def _figures(text: str) -> Iterator[printed.Figure]:
    """Yield the figures of the last table in the output."""
    whole = printed.lines(text)
    rows = whole[printed.last_run(whole, HEADING) :]
    for cells, is_whole in printed.table(rows, HEADING):
        name = TYPES.get(cells["Type"])
        if name is None or not is_whole or not float(cells["Ops/sec"]):
            continue
        yield f"{name}.ops_per_s", printed.number(cells["Ops/sec"])
        yield f"{name}.bytes_per_s", printed.number(cells["KB/sec"], printed.KIB)
        told = {column: cell for column, cell in cells.items() if cell != NONE}
        yield from ((f"{name}.{figure}", number) for figure, number in printed.latencies(LATENCIES, told, 1e6))


PARSER = Parser(
    name="memtier",
    programs=("memtier_benchmark",),
    recognises=printed.prints(("memtier_benchmark",), HEADING),
    **printed.reads(_figures, EXPECTED, begins=HEADING),
)
