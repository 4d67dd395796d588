"""sysbench: operations and rates of its fileio test, and the rate of its prepare step.

`MiB/s` is 2^20 bytes/s (sysbench 1.0.20, src/tests/fileio/sb_fileio.c: megabytes of 1,024 * 1,024). Its latencies mix reads,
writes and fsyncs, so they are figures only for pure reads, and not if `0.00` ms is printed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from assay.catalogue import Parser, printed

EXPECTED = "the report of sysbench 1.0's fileio (File operations, Throughput, total time)"
BEGUN = re.compile(r"sysbench \d.{1,100}")
ROW = re.compile(r"\s+([a-z0-9/, MiB()]{3,40}):\s+([\d.]+)s?\s*", re.IGNORECASE)
PREPARED = re.compile(r"(\d+) bytes written in ([\d.]+) seconds \(([\d.]+) MiB/sec\)\.")
SIDES = {"read": ("reads/s", "read, MiB/s"), "write": ("writes/s", "written, MiB/s")}
LATENCIES = {
    "avg": "latency_mean_ns",
    "max": "latency_max_ns",
    "95th percentile": "latency_p95_ns",
    "99th percentile": "latency_p99_ns",
}


def _figures(text: str) -> Iterator[printed.Figure]:
    """Yield the figures of the last run (prepare or run) in the output."""
    whole = printed.lines(text)
    rows = whole[printed.last_run(whole, BEGUN) :]
    for row in rows:
        if prepared := PREPARED.fullmatch(row):
            yield "write.bytes", printed.exact(int(prepared[1]))
            yield "write.elapsed_ns", printed.number(prepared[2], printed.SECOND)
            yield "write.bytes_per_s", printed.number(prepared[3], printed.MIB)
    found = {match[1]: match[2] for row in rows if (match := ROW.fullmatch(row))}
    if "reads/s" not in found:
        return
    for side, (operations, rate) in SIDES.items():
        if float(found[operations]) > 0:
            yield f"{side}.ops_per_s", printed.number(found[operations])
            yield f"{side}.bytes_per_s", printed.number(found[rate], printed.MIB)
            yield f"{side}.elapsed_ns", printed.number(found["total time"], printed.SECOND)
    if float(found["fsyncs/s"]) > 0:
        yield "fsync.ops_per_s", printed.number(found["fsyncs/s"])
    elif float(found["writes/s"]) == 0:
        yield "read.count", printed.exact(int(found["total number of events"]))
        latencies = ((name, printed.number(found[row], 1e6)) for row, name in LATENCIES.items() if row in found)
        yield from ((f"read.{name}", latency) for name, latency in latencies if latency.value)


PARSER = Parser(
    name="sysbench",
    recognises=printed.prints(("sysbench",), "File operations:", PREPARED),
    **printed.reads(_figures, EXPECTED),
    tier=printed.of_device,
    direct="--file-extra-flags=direct",
)
