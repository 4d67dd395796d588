"""YCSB: operations and their latencies by type, and the rate of all, from its measurements (`[READ], Operations, 25000`).

Times are microseconds, of versions before 0.2 milliseconds where the name says so (YCSB 0.17, core/.../measurements); 0 is below
what the buckets tell. Returns other than OK, and operations of `[READ-FAILED]` or `[READ-NOT_FOUND]`, are errors. Its JSON has
the same names.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping

from assay.catalogue import Parser, printed

EXPECTED = "YCSB's measurements with [OVERALL], RunTime(ms) and Throughput(ops/sec)"
ROW = re.compile(r"\[([A-Z][A-Z-]{1,40})\], ([^,]{1,60}), ([\d.Ee+]{1,40})\s*")
BEGUN = re.compile(r"\[OVERALL\], RunTime\(ms\), .{1,40}")
SAID = re.compile(r".{0,8000}\b(?:com\.yahoo|site)\.ycsb\.(?:Client|DBWrapper|db\.).{0,8000}")
OVERALL = "OVERALL"
FAILED = re.compile(r"-(?:FAILED|ERROR|NOT_FOUND|NOT_IMPLEMENTED|UNEXPECTED_STATE|BAD_REQUEST|FORBIDDEN|SERVICE_UNAVAILABLE)$")
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
NO_CODE = "Return="
"""What a client in another language prints for every operation: it does not tell those that failed."""
GOOD = ("Return=OK", "Return=0", "Return=BATCHED_OK")


def _figures(text: str) -> Iterator[printed.Figure]:
    found: dict[str, dict[str, str]] = {}
    for name, measurement, value in _cells(text):
        found.setdefault(name, {})[measurement] = value
    overall = found[OVERALL]
    yield "request.ops_per_s", printed.number(overall["Throughput(ops/sec)"])
    yield "request.elapsed_ns", printed.number(overall["RunTime(ms)"], 1e6)
    failed = Counter[str]()
    for name, cells in found.items():
        if FAILED.search(name):
            failed[FAILED.sub("", name)] += _whole(cells.get("Operations", "0"))
    for name, cells in found.items():
        if name != OVERALL and not name.startswith(NO_OPERATIONS) and not FAILED.search(name) and "Operations" in cells:
            operation = f"request_{name.lower().replace('-', '_')}"
            yield from ((f"{operation}.{key}", figure) for key, figure in _of(cells, failed[name]))


def _cells(text: str) -> Iterator[tuple[str, str, str]]:
    """Yield the name, the measurement and the value of each line of the last run, or of each object of the JSON."""
    for cell in printed.json_documents(re.sub(r"(?<=[\]},[])\s*(?=\{\"metric\")", "\n", text)):
        if {"metric", "measurement", "value"} <= set(cell):
            yield str(cell["metric"]), str(cell["measurement"]), str(cell["value"])
    rows = printed.lines(text)
    yield from ((match[1], match[2], match[3]) for row in rows[printed.last_run(rows, BEGUN) :] if (match := ROW.fullmatch(row)))


def _whole(number: str) -> int:
    """Return a count, which 0.12 prints as `1000000.0`."""
    return int(number.removesuffix(".0"))


def _of(cells: Mapping[str, str], failed: int) -> Iterator[printed.Figure]:
    """Yield the figures of one type of operation."""
    count = _whole(cells["Operations"])
    bad = sum(_whole(number) for name, number in cells.items() if name.startswith("Return=") and name not in GOOD)
    yield "count", printed.exact(count)
    has_codes = failed > 0 or any(name.startswith(NO_CODE) for name in cells)  # a file that is cut has none
    if NO_CODE not in cells and has_codes:
        yield "errors", printed.exact(max(bad, failed))  # the same failures twice, where both are told
        yield "attempts", printed.exact(count + failed)
    for name, value in cells.items():
        latency, _, unit = name.rstrip(")").partition("(")
        if latency in LATENCIES and float(value):
            yield LATENCIES[latency], printed.number(value, UNITS[unit])


PARSER = Parser(
    name="ycsb",
    recognises=printed.prints(("ycsb", "ycsb.sh"), BEGUN, SAID, '"metric":"OVERALL"', '"metric" : "OVERALL"'),
    **printed.reads(_figures, EXPECTED, begins=BEGUN),
)
