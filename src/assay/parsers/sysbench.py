"""sysbench: operations and rates of fileio and its prepare step, transactions of its databases, events of its other tests.

`MiB/s` is 2^20 bytes/s (sysbench 1.0.20, src/tests/fileio/sb_fileio.c: megabytes of 1,024 * 1,024), and so is `Mb` of 0.4.
1.1 has one line for each side of fileio, and its time under `Throughput` (src/sysbench.c, sb_report_cumulative).
Latencies of fileio mix reads, writes and fsyncs: they are figures only for pure reads, and not if `0.00` ms is printed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from assay.catalogue import Parser, printed

EXPECTED = "the report of sysbench 0.4 to 1.1 (fileio, oltp, cpu, memory, threads, mutex) with its total time"
BEGUN = re.compile(r".{0,20}\bsysbench v? ?\d.{1,100}")
ROW = re.compile(r"\s*([a-z0-9/, .MiB()]{3,40}):\s+([\d.]+)(?:s|ms)?\s*", re.IGNORECASE)
PREPARED = re.compile(r"(\d+) bytes written in ([\d.]+) seconds \(([\d.]+) (?:MiB|MB|Mb)/sec\)\.")
SIDES = {"read": ("reads/s", "read, MiB/s"), "write": ("writes/s", "written, MiB/s")}
LATENCIES = {
    "avg": "latency_mean_ns",
    "max": "latency_max_ns",
    "95th percentile": "latency_p95_ns",
    "approx.  95 percentile": "latency_p95_ns",
    "99th percentile": "latency_p99_ns",
}
FILES_0_4 = re.compile(r"Operations performed:\s+(\d{1,18}) [Rr]eads?, (\d{1,18}) [Ww]rites?, \d{1,18} Other = \d{1,18} Total")
BYTES_0_4 = re.compile(r"Read ([\d.]{1,20})([KMGT]?)b\s+Written ([\d.]{1,20})([KMGT]?)b\s+Total transferred .{1,100}")
TRANSACTIONS = re.compile(r"\s*transactions:\s+(\d{1,18})\s+\(([\d.]{1,20}) per sec\.\)")
IGNORED = re.compile(r"\s*(?:ignored errors|deadlocks):\s+(\d{1,18})\s+\(.{1,40}\)")
FILES_1_1 = re.compile(r"\s*(read|write|fsync):\s+IOPS=([\d.]{1,20})(?: ([\d.]{1,20}) MiB/s \([\d.]{1,20} MB/s\))?\s*")
BROKEN = re.compile(r"(?:FATAL: |Number of unfinished transactions on forced shutdown: ).{1,300}")
NEWER_NAMES = {"time elapsed": "total time", "events/s (eps)": "events per second"}
MOVED = re.compile(r"([\d.]{1,20}) (?:MiB|MB) transferred \(([\d.]{1,20}) (?:MiB|MB)/sec\)")
MOVES = re.compile(r"(?:Total operations|Operations performed): (\d{1,18}) \(\s*([\d.]{1,20}) (?:per second|ops/sec)\)")

COUNTS = re.compile(r"\s*(?:Total operations|Operations performed|transactions|reads/s):.{0,200}")
"""The lines that tell which test it was."""


def _figures(text: str) -> Iterator[printed.Figure]:
    """Yield the figures of the last run (prepare or run) in the output."""
    whole = printed.lines(text)
    rows = whole[printed.last_run(whole, BEGUN) :]
    for row in rows:
        if prepared := PREPARED.fullmatch(row):
            yield "write.bytes", printed.exact(int(prepared[1]))
            yield "write.elapsed_ns", printed.number(prepared[2], printed.SECOND)
            yield "write.bytes_per_s", printed.number(prepared[3], printed.MIB)
    found = {NEWER_NAMES.get(name := match[1].strip(), name): match[2] for row in rows if (match := ROW.fullmatch(row))}
    sides = {match[1]: match for row in rows if (match := FILES_1_1.fullmatch(row))}
    if "reads/s" in found:
        yield from _files(found)
    elif len(sides) == len(SIDES) + 1:
        yield from _files_1_1(sides, found)
    elif "total time" in found:
        yield from _others(rows[::-1], found, printed.number(found["total time"], printed.SECOND))


def _files(found: Mapping[str, str]) -> Iterator[printed.Figure]:
    """Yield the figures of fileio."""
    for side, (operations, rate) in SIDES.items():
        if float(found[operations]) > 0:
            yield f"{side}.ops_per_s", printed.number(found[operations])
            yield f"{side}.bytes_per_s", printed.number(found[rate], printed.MIB)
            yield f"{side}.elapsed_ns", printed.number(found["total time"], printed.SECOND)
    if float(found["fsyncs/s"]) > 0:
        yield "fsync.ops_per_s", printed.number(found["fsyncs/s"])
    elif float(found["writes/s"]) == 0:
        yield "read.count", printed.exact(int(found["total number of events"]))
        yield from _latencies("read", found)


def _files_1_1(sides: Mapping[str, re.Match[str]], found: Mapping[str, str]) -> Iterator[printed.Figure]:
    """Yield the figures of fileio of 1.1, which prints no time."""
    done = [name for name, match in sides.items() if float(match[2])]
    for name in done:
        yield f"{name}.ops_per_s", printed.number(sides[name][2])
        if name in SIDES:
            yield f"{name}.bytes_per_s", printed.number(sides[name][3], printed.MIB)
    if done == ["read"]:
        yield from _latencies("read", found)


def _others(rows: Sequence[str], found: Mapping[str, str], elapsed: printed.ParsedNumber) -> Iterator[printed.Figure]:
    """Yield the figures of fileio of 0.4, of a database, of memory, or of a test that only has events.

    `rows` begin with the last: with --report-checkpoints the last report counts, which covers what came after the one before.
    """
    files, transactions, moves = (printed.first_match(rows, form) for form in (FILES_0_4, TRANSACTIONS, MOVES))
    if files is transactions is moves is None:
        _refuse_damaged(rows)
    if files is not None:
        yield from _files_0_4(rows, files, elapsed)
    elif transactions is not None:
        yield "transaction.count", printed.exact(int(transactions[1]))
        yield "transaction.ops_per_s", printed.number(transactions[2])
        yield "transaction.elapsed_ns", elapsed
        if ignored := printed.first_match(rows, IGNORED):
            yield "transaction.errors", printed.exact(int(ignored[1]))
        yield from _latencies("transaction", found)
    elif moves is not None:
        yield "memory.elapsed_ns", elapsed
        yield from _memory(rows, moves)
    elif "total number of events" in found:
        yield "iteration.count", printed.exact(int(found["total number of events"]))
        yield "iteration.elapsed_ns", elapsed
        if "events per second" in found:
            yield "iteration.ops_per_s", printed.number(found["events per second"])
        yield from _latencies("iteration", found)


def _memory(rows: Sequence[str], moves: re.Match[str]) -> Iterator[printed.Figure]:
    yield "memory.count", printed.exact(int(moves[1]))
    yield "memory.ops_per_s", printed.number(moves[2])
    if moved := printed.first_match(rows, MOVED):
        yield "memory.bytes", printed.number(moved[1], printed.MIB)
        yield "memory.bytes_per_s", printed.number(moved[2], printed.MIB)


def _refuse_damaged(rows: Sequence[str]) -> None:
    """Raise ValueError for a line that tells which test it was and that cannot be read."""
    if damaged := printed.first_match(rows, COUNTS):
        raise ValueError(f"count {damaged[0].strip()[:80]!r}")


def _files_0_4(rows: Sequence[str], counts: re.Match[str], elapsed: printed.ParsedNumber) -> Iterator[printed.Figure]:
    """Yield the figures of fileio of 0.4: counts and bytes of each side, over the total time."""
    amounts = printed.first_match(rows, BYTES_0_4)
    for side, at in (("read", 1), ("write", 2)):
        count = printed.exact(int(counts[at]))
        if not count.value:
            continue
        yield f"{side}.count", count
        yield f"{side}.elapsed_ns", elapsed
        yield f"{side}.ops_per_s", _over(count, elapsed)
        if amounts is not None:
            amount = printed.number(amounts[2 * at - 1], printed.power(amounts[2 * at]))
            yield f"{side}.bytes", amount
            yield f"{side}.bytes_per_s", _over(amount, elapsed)


def _over(amount: printed.ParsedNumber, elapsed: printed.ParsedNumber) -> printed.ParsedNumber:
    rate = amount.value * printed.SECOND / elapsed.value
    return printed.ParsedNumber(
        value=rate, half=amount.half * printed.SECOND / elapsed.value + rate * elapsed.half / elapsed.value
    )


def _latencies(operation: str, found: Mapping[str, str]) -> Iterator[printed.Figure]:
    latencies = ((name, printed.number(found[row], 1e6)) for row, name in LATENCIES.items() if row in found)
    yield from ((f"{operation}.{name}", latency) for name, latency in latencies if latency.value)


PARSER = Parser(
    name="sysbench",
    recognises=printed.prints(("sysbench",), "File operations:", PREPARED, BEGUN, "Test execution summary:", "Threads fairness:"),
    **printed.reads(_figures, EXPECTED, begins=BEGUN, broken=BROKEN),
    tier=printed.of_device,
    direct="--file-extra-flags=direct",
)
