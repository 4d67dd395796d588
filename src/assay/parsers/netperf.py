"""netperf: data sent or received by its streams, and transactions per second.

`10^6bits` are decimal; with -f K, M, G `KBytes`, `MBytes`, `GBytes` are powers of 1,024 (netperf 2.7.1, src/netlib.c,
format_units and calc_thruput). MAERTS is a stream that this side receives. Without its head (-P 0) a line of six numbers above
one of two is that of transactions; a stream tells neither its direction nor its unit then, and has no figure.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

from assay.catalogue import Parser, console, printed

EXPECTED = "the table of a netperf test with its heading (or THROUGHPUT= and THROUGHPUT_UNITS= of the omni test)"
TITLE = re.compile(r"(?:MIGRATED )?((?:TCP|UDP|OMNI|SCTP) [A-Za-z/ ]{3,40}?)(?: TEST| Test) from .{1,300}")
UNIT = re.compile(r".{0,120}\ssecs\.?(.{0,80}\s)?(10\^[0369]bits|[KMG]?Bytes)/s(?:ec)?\s.*")
NUMBERS = re.compile(r"\s{0,8}\d[\d.]*(?:\s+\d[\d.]*){2,12}\s*")
RATE = "per sec"
BARE_TRANSACTIONS = re.compile(r"\d{1,9} +\d{1,9} +\d{1,9} +\d{1,9} +(\d{1,9}\.\d\d) +(\d{1,12}\.\d\d) *")
BARE_STREAM = re.compile(r" *\d{4,7} +\d{4,7} +\d{1,8} +\d{1,9}\.\d\d +\d{1,12}\.\d\d *")
BUFFERS = re.compile(r"\d{1,9} +\d{1,9} *")
"""What is left of the tables with -P 0."""
STREAMS = {"STREAM": "send", "SENDFILE": "send", "MAERTS": "receive", "Send": "send", "Receive": "receive"}
SIZES = {f"10^{power}bits": 10.0**power / 8 for power in (0, 3, 6, 9)} | {
    f"{letter}Bytes": 1024.0**power for power, letter in enumerate(("", "K", "M", "G"))
}
LATENCIES = {
    "MEAN_LATENCY": "latency_mean_ns",
    "MAX_LATENCY": "latency_max_ns",
    **{f"P{percent}_LATENCY": f"latency_p{percent}_ns" for percent in (50, 90, 99)},
}
TRANSACTIONS = "Trans/s"
DATAGRAMS = {6: 4, 8: 6}
"""Numbers in the sender's line of a UDP stream (socket, message, time, messages, errors, rate; with -c CPU, service demand), and
in the receiver's."""
OMNI = {
    "Throughput": "THROUGHPUT",
    "Throughput Units": "THROUGHPUT_UNITS",
    "Elapsed Time (sec)": "ELAPSED_TIME",
    "Mean Latency Microseconds": "MEAN_LATENCY",
    "Maximum Latency Microseconds": "MAX_LATENCY",
    **{f"{percent}th Percentile Latency Microseconds": f"P{percent}_LATENCY" for percent in (50, 90, 99)},
}
"""Heads of the omni test's CSV (-o) and their names with -k."""


def _figures(text: str) -> Iterator[printed.Figure]:
    rows = printed.lines(text)
    titles = [match[1] for row in rows if (match := TITLE.fullmatch(row))]
    if not titles:
        yield from _bare(rows)
    if len(titles) != 1:
        return
    stream = next((name for word, name in STREAMS.items() if titles[0].endswith(word)), None)
    table = [row.split() for row in rows if NUMBERS.fullmatch(row)]
    unit = next((match[2] for row in rows if (match := UNIT.fullmatch(f"{row} "))), None)
    if stream and unit and titles[0].startswith("UDP"):
        yield from _datagrams(table, SIZES[unit])
    elif stream and unit and table:
        yield f"{stream}.elapsed_ns", printed.number(table[0][3], printed.SECOND)
        yield f"{stream}.bytes_per_s", printed.number(table[0][4], SIZES[unit])
    elif table and any(RATE in row for row in rows):
        yield "transaction.elapsed_ns", printed.number(table[0][4], printed.SECOND)
        yield "transaction.ops_per_s", printed.number(table[0][5])
    else:
        pairs = dict(row.split("=", 1) for row in rows if re.fullmatch(r"[A-Z0-9_]{1,60}=\S{1,60}", row))
        yield from _keys(stream, {**_omni_csv(rows), **pairs})


def _bare(rows: Sequence[str]) -> Iterator[printed.Figure]:
    """Yield the figures of the last transactions without a head."""
    if any(BARE_STREAM.fullmatch(row) for row in rows):
        raise ValueError("head (without it, with -P 0, a stream tells neither its direction nor its unit)")
    for match, after in ((BARE_TRANSACTIONS.fullmatch(row), after) for row, after in pairwise(rows)):
        if match and BUFFERS.fullmatch(after):
            yield "transaction.elapsed_ns", printed.number(match[1], printed.SECOND)
            yield "transaction.ops_per_s", printed.number(match[2])


def _datagrams(table: Sequence[Sequence[str]], size: float) -> Iterator[printed.Figure]:
    """Yield the sent datagrams; lost ones count as errors."""
    sent, arrived = table[0], table[1]
    if DATAGRAMS.get(len(sent)) != len(arrived):
        raise ValueError(f"sender's line with {len(sent)} numbers, the receiver's with {len(arrived)}")
    yield "send.elapsed_ns", printed.number(sent[2], printed.SECOND)
    yield "send.count", printed.exact(int(sent[3]))
    yield "send.errors", printed.exact(max(0, int(sent[3]) - int(arrived[2])) + int(sent[4]))
    yield "send.attempts", printed.exact(int(sent[3]) + int(sent[4]))
    yield "send.bytes_per_s", printed.number(sent[5], size)


def _omni_csv(rows: Sequence[str]) -> dict[str, str]:
    """Return the last row of the omni test's CSV below its head, by the names of -k."""
    at = next((at for at, row in enumerate(rows) if "Throughput" in row.split(",")), None)
    if at is None:
        return {}
    end = next((end for end, row in enumerate(rows[at:], at) if row[:1].isdigit()), len(rows))
    names = " ".join(console.REMARK.sub("", row) for row in rows[at:end]).split(",")  # a mail breaks the long head
    found = [row.split(",") for row in rows[end:] if row.count(",") == len(names) - 1]
    return {OMNI[name]: cell for name, cell in zip(names, found[-1], strict=True) if name in OMNI} if found else {}


def _keys(stream: str | None, found: dict[str, str]) -> Iterator[printed.Figure]:
    """Yield the figures of the omni test's list of names and values (-- -k)."""
    unit = found.get("THROUGHPUT_UNITS", "")
    operation = "transaction" if unit == TRANSACTIONS else stream
    if operation is None or "THROUGHPUT" not in found:
        return
    if unit == TRANSACTIONS:
        yield f"{operation}.ops_per_s", printed.number(found["THROUGHPUT"])
        yield from ((f"{operation}.{figure}", number) for figure, number in printed.latencies(LATENCIES, found, 1e3))
    else:
        yield f"{operation}.bytes_per_s", printed.number(found["THROUGHPUT"], SIZES[unit.removesuffix("/s")])
    if "ELAPSED_TIME" in found:
        yield f"{operation}.elapsed_ns", printed.number(found["ELAPSED_TIME"], printed.SECOND)


def runs(text: str) -> list[str]:
    """Return the texts of the runs in an output."""
    has_heads = any(TITLE.fullmatch(row) for row in printed.lines(text))
    return printed.runs_in(text, TITLE) if has_heads else printed.runs_in(text, BARE_TRANSACTIONS)


PARSER = Parser(
    name="netperf",
    recognises=printed.prints(("netperf",), TITLE, BARE_TRANSACTIONS, BARE_STREAM),
    **printed.reads(_figures, EXPECTED, runs=runs),
)
