"""YCSB: operations and their latencies by type, and the rate of all, from its measurements (`[READ], Operations, 25000`).

Times are microseconds, of versions before 0.2 milliseconds where the name says so (YCSB 0.17, core/.../measurements). Returns
other than OK, and operations of `[READ-FAILED]`, are errors.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from assay.catalogue import Parser, printed

EXPECTED = "YCSB's measurements with [OVERALL], RunTime(ms) and Throughput(ops/sec)"
ROW = re.compile(r"\[([A-Z][A-Z-]{1,40})\], ([^,]{1,60}), ([\d.Ee+]{1,40})\s*")
OVERALL, FAILED = "OVERALL", "-FAILED"
NO_OPERATIONS = ("TOTAL_GC", "CLEANUP", "INTENDED")
LATENCIES = {
    "AverageLatency": "latency_mean_ns",
    "MaxLatency": "latency_max_ns",
    "50thPercentileLatency": "latency_p50_ns",
    "90thPercentileLatency": "latency_p90_ns",
    "95thPercentileLatency": "latency_p95_ns",
    "99thPercentileLatency": "latency_p99_ns",
}
UNITS = {"us": 1e3, "ms": 1e6}
GOOD = ("Return=OK", "Return=0", "Return=BATCHED_OK")


def _figures(text: str) -> Iterator[printed.Figure]:
    found: dict[str, dict[str, str]] = {}
    for match in (match for row in printed.lines(text) if (match := ROW.fullmatch(row))):
        found.setdefault(match[1], {})[match[2]] = match[3]
    overall = found[OVERALL]
    yield "request.ops_per_s", printed.number(overall["Throughput(ops/sec)"])
    yield "request.elapsed_ns", printed.number(overall["RunTime(ms)"], 1e6)
    for name, cells in found.items():
        if name != OVERALL and not name.startswith(NO_OPERATIONS) and not name.endswith(FAILED) and "Operations" in cells:
            failed = int(found.get(f"{name}{FAILED}", {}).get("Operations", "0"))
            yield from ((f"request_{name.lower().replace('-', '_')}.{key}", figure) for key, figure in _of(cells, failed))


def _of(cells: Mapping[str, str], failed: int) -> Iterator[printed.Figure]:
    """Yield the figures of one type of operation."""
    bad = sum(int(count) for name, count in cells.items() if name.startswith("Return=") and name not in GOOD)
    yield "count", printed.exact(int(cells["Operations"]))
    yield "errors", printed.exact(bad + failed)
    yield "attempts", printed.exact(int(cells["Operations"]) + failed)
    for name, value in cells.items():
        latency, _, unit = name.rstrip(")").partition("(")
        if latency in LATENCIES:
            yield LATENCIES[latency], printed.number(value, UNITS[unit])


PARSER = Parser(
    name="ycsb", recognises=printed.prints(("ycsb", "ycsb.sh"), "[OVERALL], RunTime(ms)"), **printed.reads(_figures, EXPECTED)
)
