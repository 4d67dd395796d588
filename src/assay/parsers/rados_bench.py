"""rados bench of Ceph: bytes and operations per second, their number and latencies, for writes and reads.

`MB/sec` counts in 2^20 bytes (src/common/obj_bencher.cc, 1024*1024), also in its JSON (--format json). A report of `seq` and one
of `rand` look alike: both are `read`, and the later counts. An object that was not what had been written is an error.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from assay.catalogue import Parser, printed

EXPECTED = "the report of rados bench (Total time run, Total writes made or Total reads made, Bandwidth (MB/sec))"
TOTAL_TIME, BANDWIDTH = "Total time run", "Bandwidth (MB/sec)"
BEGUN = re.compile(rf"\s*{TOTAL_TIME}:\s.{{1,80}}")
JSON = {
    "total_time_run": TOTAL_TIME,
    "total_writes_made": "Total writes made",
    "total_reads_made": "Total reads made",
    "write_size": "Write size",
    "read_size": "Read size",
    "object_size": "Object size",
    "bandwidth": BANDWIDTH,
    "average_latency": "Average Latency",
    "max_latency": "Max latency",
    "max_latency:": "Max latency",
}
"""The names of the JSON, one of which had a colon too many up to Ceph 14."""
WRONG = re.compile(r"\S{1,200} is not correct!\s*")
STOPPED = re.compile(r"error during benchmark: .{1,200}")
SIDES = {"Total writes made": ("write", "Write size"), "Total reads made": ("read", "Read size")}
LATENCIES = {
    "Average Latency(s)": "latency_mean_ns",
    "Average Latency": "latency_mean_ns",
    "Max latency(s)": "latency_max_ns",
    "Max latency": "latency_max_ns",
}


def _figures(text: str) -> Iterator[printed.Figure]:
    rows = printed.lines(text)
    for report in (found for found in printed.json_documents(text) if "total_time_run" in found):
        rows += [f"{JSON[name]}: {value}" for name, value in report.items() if name in JSON]
    begins = [at for at, row in enumerate(rows) if BEGUN.fullmatch(row)]
    reports: dict[str, Mapping[str, str]] = {}
    for start, end in zip(begins, [*begins[1:], len(rows)], strict=True):
        found = printed.named(rows[start:end])
        reports |= {name: found for name in SIDES if name in found}
    wrong = sum(WRONG.fullmatch(row) is not None for row in rows)
    for name, report in reports.items():
        if wrong and SIDES[name][0] == "read":
            yield "read.errors", printed.exact(wrong)
        yield from ((f"{SIDES[name][0]}.{figure}", number) for figure, number in _report(name, report))


def _report(name: str, found: Mapping[str, str]) -> Iterator[tuple[str, printed.ParsedNumber]]:
    """Yield the figures of one report."""
    count, elapsed = int(found[name]), printed.number(found[TOTAL_TIME], printed.SECOND)
    size = found.get(SIDES[name][1]) or found.get("Object size")
    yield "bytes_per_s", printed.number(found[BANDWIDTH], printed.MIB)
    yield "elapsed_ns", elapsed
    yield "count", printed.exact(count)
    if size is not None:
        yield "bytes", printed.exact(count * int(size))
    yield "ops_per_s", printed.ParsedNumber(value=count / elapsed.value * printed.SECOND, half=0.0)
    yield from printed.latencies(LATENCIES, found, printed.SECOND)


PARSER = Parser(
    name="rados_bench",
    programs=("rados",),
    recognises=printed.prints(("rados",), BEGUN, STOPPED, '"total_time_run"'),
    **printed.reads(_figures, EXPECTED, begins=BEGUN, broken=STOPPED),
    tier=printed.of_device,
)
