"""neper (tcp_rr, tcp_stream, udp_rr and so on): transactions per second and their latencies, or what a stream carried.

It prints `name=value`. Of a stream each end counts what it read: `local_throughput` arrived here, `remote_throughput` at the
other end, in bits per second; before it had these, `throughput` is what arrived here (stream.c, rr.c, thread.c). Latencies are
seconds.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from assay.catalogue import Parser, printed

EXPECTED = "the results of neper (num_transactions= and throughput=, or local_throughput= and remote_throughput=)"
PAIR = re.compile(r"([a-zA-Z_][\w.]{1,40})=(\S{1,40})\s*")
BEGUN = re.compile(r"total_run_time=.{1,30}")
OPTIONS = re.compile(r"VERSION=.{1,30}")
"""What begins a run, with its options and without."""
SIGN = re.compile(r"(?:num_transactions|throughput_units|local_throughput|remote_throughput|throughput_Mbps)=.{1,40}")
BITS = re.compile(r"([KMGT]?)(i?)(bit|B)/s")
LATENCIES = {
    "latency_mean": "latency_mean_ns",
    "latency_max": "latency_max_ns",
    **{f"latency_p{percent}": f"latency_p{percent.replace('.', '')}_ns" for percent in ("50", "90", "95", "99", "99.9")},
}


def _figures(text: str) -> Iterator[printed.Figure]:
    """Yield the figures of the last run in the output."""
    rows = printed.lines(text)
    begun = printed.last_run(rows, BEGUN)
    found = _pairs(rows[begun:])
    if "num_transactions" in found:
        yield "transaction.count", printed.exact(int(found["num_transactions"]))
        yield "transaction.ops_per_s", printed.number(found["throughput"])
        yield from ((f"transaction.{name}", time) for name, time in printed.latencies(LATENCIES, found, printed.SECOND))
    elif "request_size" in _options(rows[:begun]):  # a server that counts none itself: what the client told it
        yield "transaction.ops_per_s", printed.number(found["remote_throughput"])
    elif "local_throughput" in found:
        for side, name in (("receive", "local_throughput"), ("send", "remote_throughput")):
            if float(found[name]):
                yield f"{side}.bytes_per_s", printed.number(found[name], 1 / 8)
    elif unit := BITS.fullmatch(found.get("throughput_units", "Mbit/s")):
        size = printed.power(unit[1], 1024 if unit[2] else 1000) / (8 if unit[3] == "bit" else 1)
        yield "receive.bytes_per_s", printed.number(found.get("throughput") or found["throughput_Mbps"], size)


def _pairs(rows: Iterable[str]) -> dict[str, str]:
    return {match[1]: match[2] for row in rows if (match := PAIR.fullmatch(row.strip()))}


def _options(before: Sequence[str]) -> dict[str, str]:
    """Return the options of a run that stand before its results."""
    options = before[printed.last_run(before, OPTIONS) :]
    return {} if any(BEGUN.fullmatch(row) for row in options) else _pairs(options)


def _begins(rows: Iterable[str]) -> re.Pattern[str]:
    return OPTIONS if any(OPTIONS.fullmatch(row.strip()) for row in rows) else BEGUN


def runs(text: str) -> list[str]:
    """Return the texts of the runs in an output."""
    return printed.runs_in(text, _begins(printed.lines(text)))


PARSER = Parser(
    name="neper",
    programs=("tcp_rr", "tcp_crr", "tcp_stream", "udp_rr", "udp_stream", "psp_rr", "psp_crr", "psp_stream"),
    recognises=printed.prints(
        ("tcp_rr", "tcp_crr", "tcp_stream", "udp_rr", "udp_stream", "psp_rr", "psp_crr", "psp_stream"), SIGN
    ),
    **printed.reads(_figures, EXPECTED, runs=runs),
)
