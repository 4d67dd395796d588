"""memtier_benchmark: operations and bytes per second and latencies of each command and of all, from its table or its JSON.

Latencies are milliseconds, `KB/sec` counts in 1,024 bytes (run_stats.cpp of 1.2 to 2). The last table counts, which is the mean
of several runs (-x). The table has neither a number of operations nor of failures; `Misses/sec` are keys without a value:
errors of what was to be read, for each second, where they are most of it, else doubtful.
Its JSON (--json-out-file) has counts; each connection that failed is an error there.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from assay.catalogue import Parser, printed

EXPECTED = "the table of memtier_benchmark with the columns Type, Ops/sec and KB/sec"
HEADING = re.compile(r"\s*Type\s+Ops/sec\s+Hits/sec\s+Misses/sec\s.{1,300}")
BEGUN = re.compile(r"(?:ALL STATS|BEST RUN RESULTS)\s*")
"""The heads of the first table of a call: with -x the best run, the worst one and the mean have one each."""
BEST = "BEST RUN RESULTS"
REPORTS = ("ALL STATS", "AGGREGATED AVERAGE RESULTS")
TYPE = re.compile(r"([A-Z][a-z_.]{1,40})s", re.ASCII)
JSON_SIGN, ALL = '"ALL STATS"', "Totals"
LATENCIES = {
    "Latency": "latency_mean_ns",
    "Avg.Latency": "latency_mean_ns",
    "Average Latency": "latency_mean_ns",
    "Max Latency": "latency_max_ns",
    "p50.00": "latency_p50_ns",
    "p90.00": "latency_p90_ns",
    "p95.00": "latency_p95_ns",
    "p99.00": "latency_p99_ns",
    "p99.90": "latency_p999_ns",
    "p50Latency": "latency_p50_ns",
    "p90Latency": "latency_p90_ns",
    "p95Latency": "latency_p95_ns",
    "p99Latency": "latency_p99_ns",
    "p99.9Latency": "latency_p999_ns",
    "p100Latency": "latency_max_ns",
}
NONE = "---"
MISSED = ("errors", "doubtful", "attempts")


def _figures(text: str) -> Iterator[printed.Figure]:
    """Yield the figures of the last table or report in the output."""
    documents = printed.json_documents(text)
    reports = [report for found in documents for name, report in found.items() if name.startswith(REPORTS)]
    if reports:
        yield from _json(reports[-1])
        return
    whole = printed.lines(text)
    at = printed.last_run(whole, HEADING)
    if any(row.startswith(BEST) for row in whole) and not any(row.startswith(REPORTS[1]) for row in whole[:at]):
        raise ValueError(f"mean of the runs ({REPORTS[1]})")
    rows = whole[at:]
    for cells, is_whole in printed.table(rows, HEADING):
        name = _operation(cells["Type"])
        if name and is_whole and float(cells["Ops/sec"]):
            yield from ((f"{name}.{figure}", number) for figure, number in _of(cells))


def _operation(kind: str) -> str | None:
    """Return the operation of a row: of one command, or of all."""
    match = TYPE.fullmatch(kind)
    return "request" if kind == ALL else f"request_{match[1].lower().replace('.', '_')}" if match else None


def _of(cells: Mapping[str, str]) -> Iterator[printed.Figure]:
    yield "ops_per_s", printed.number(cells["Ops/sec"])
    yield "bytes_per_s", printed.number(cells["KB/sec"], printed.KIB)
    hits, misses = (cells.get(name, NONE) for name in ("Hits/sec", "Misses/sec"))
    if NONE not in (hits, misses) and float(hits) + float(misses):
        mostly = float(misses) > float(hits)  # else the misses of a cache may be meant
        yield "errors", printed.exact(float(misses) if mostly else 0.0)
        yield "doubtful", printed.exact(0.0 if mostly else float(misses))
        yield "attempts", printed.exact(float(hits) + float(misses))
    yield from printed.latencies(LATENCIES, {column: cell for column, cell in cells.items() if cell != NONE}, 1e6)


def _json(report: Mapping[str, Any]) -> Iterator[printed.Figure]:
    """Yield the figures of a report; one that was interrupted has none."""
    if report.get("Runtime", {}).get("Interrupted") == "true":
        raise ValueError("end (Interrupted)")
    for kind, row in report.items():
        name = _operation(kind) if isinstance(row, dict) and row.get("Count") else None
        if name:
            cells = {key: str(value) for key, value in {**row, **row.get("Percentile Latencies", {})}.items()}
            yield f"{name}.count", printed.exact(int(printed.json_number(row["Count"])))
            share = int(printed.json_number(row["Count"])) / (float(cells["Ops/sec"]) or 1.0)
            for figure, number in _of(cells):  # misses are told for each second, as the table does
                yield f"{name}.{figure}", printed.exact(round(number.value * share)) if figure in MISSED else number
            if "Connection Errors" in row and kind == ALL:
                yield f"{name}.errors", printed.exact(printed.json_number(row["Connection Errors"]))


PARSER = Parser(
    name="memtier",
    programs=("memtier_benchmark",),
    recognises=printed.prints(("memtier_benchmark",), HEADING, JSON_SIGN),
    **printed.reads(_figures, EXPECTED, begins=BEGUN),
)
