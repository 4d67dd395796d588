"""NTttcp of Linux and of Windows: bytes that were sent or received, and their rate.

On Windows `MEG` and `MB` count in 2^20 bytes, on Linux in 10^6, and `Gbps` in 10^9 bits (ntttcp-for-linux, src/util.c). The text
of Windows does not say which end it is of: its operation is `transfer`. `Errors` are of the buffers that it counts. The JSON of
Linux has the numbers of its XML.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from assay.catalogue import Parser, printed

EXPECTED = (
    "NTttcp's Totals (test duration, total bytes, throughput; or Bytes(MEG), realtime(s), Throughput(MB/s)), or its XML or JSON"
)
TOTALS = re.compile(r".{0,40}#####  Totals:  #####\s*")
LINE = re.compile(
    r"(?:\d\d:\d\d:\d\d )?(?:INFO: )?\s*(test duration|total bytes|throughput)\s*:\s*([\d.]{1,20})\s?([A-Za-z]{0,7})\s*"
)
SENDS = re.compile(r".{0,40}(?:connections created in|Test cycle time negotiated is) .{1,60}")
BITS = re.compile(r"([KMGT]?)bps")
COLUMNS = ("Bytes(MEG)", "realtime(s)", "Throughput(MB/s)")
XML = re.compile(r"<ntttcp([sr]) computername=.{0,200} version=\"([\w.-]{1,20})\".{0,20}>")
ELEMENT = re.compile(
    r"\s*<(total_bytes|realtime|throughput|total_buffers|errors)(?: metric=\"([^\"]{1,20})\")?>([\d.]{1,30})</\1>\s*"
)
JSON = re.compile(r'\s*"ntttcp([sr])"\s?: \{')
TOTAL = re.compile(r"\s*<total_bytes .{1,80}")


def _figures(text: str) -> Iterator[printed.Figure]:
    """Yield the figures of the last run in the output."""
    rows = printed.lines(text)
    if begun := printed.first_match(reversed(rows), XML):
        yield from _xml("send" if begun[1] == "s" else "receive", begun[2], rows[printed.last_run(rows, TOTAL) :])
        return
    if begun := printed.first_match(rows, JSON):
        yield from _json("send" if begun[1] == "s" else "receive", printed.json_report(text)[f"ntttcp{begun[1]}"])
        return
    at = printed.last_run(rows, TOTALS)
    if not rows or not TOTALS.fullmatch(rows[at]):
        return
    found = {match[1]: (match[2], match[3]) for row in rows[at:] if (match := LINE.fullmatch(row))}
    if found:
        before = max((index for index in range(at) if TOTALS.fullmatch(rows[index])), default=0)
        side = "send" if printed.first_match(rows[before:at], SENDS) else "receive"
        yield f"{side}.bytes", printed.exact(int(found["total bytes"][0]))
        yield f"{side}.elapsed_ns", printed.number(found["test duration"][0], printed.SECOND)
        yield f"{side}.bytes_per_s", _rate(*found["throughput"])
    else:
        yield from _windows(rows[at:])


def _rate(value: str, unit: str) -> printed.ParsedNumber:
    match = BITS.fullmatch(unit)
    if match is None:
        raise ValueError(f"{unit!r} as a unit")
    return printed.number(value, printed.power(match[1], 1000) / 8)


def _windows(rows: Sequence[str]) -> Iterator[printed.Figure]:
    """Yield the figures of the table of Windows."""
    for cells in printed.ruled(rows, "="):
        if all(name in cells for name in COLUMNS):
            amount, elapsed, rate = (cells[name] for name in COLUMNS)
            yield "transfer.bytes", printed.number(amount, printed.MIB)
            yield "transfer.elapsed_ns", printed.number(elapsed, printed.SECOND)
            yield "transfer.bytes_per_s", printed.number(rate, printed.MIB)
        if "Errors" in cells:
            yield "transfer.errors", printed.exact(int(cells["Errors"]))
        if "Buffers" in cells:
            yield "transfer.count", printed.number(cells["Buffers"])


def _xml(side: str, version: str, rows: Sequence[str]) -> Iterator[printed.Figure]:
    """Yield the figures of the totals, which stand behind those of the threads."""
    found = {(match[1], match[2]): match[3] for row in rows if (match := ELEMENT.fullmatch(row))}
    yield f"{side}.bytes", printed.number(found["total_bytes", "MB"], 1e6 if version.endswith("-linux") else printed.MIB)
    yield f"{side}.elapsed_ns", printed.number(found["realtime", "s"], printed.SECOND)
    yield f"{side}.bytes_per_s", printed.number(found["throughput", "mbps"], 1e6 / 8)
    yield f"{side}.errors", printed.exact(int(found["errors", None]))
    if float(buffers := found.get(("total_buffers", None), "0")):
        yield f"{side}.count", printed.number(buffers)


def _json(side: str, report: Mapping[str, Any]) -> Iterator[printed.Figure]:
    """Yield the figures of a JSON report, whose numbers are texts."""
    rates = {one["metric"]: one["value"] for one in report["throughputs"]}
    yield f"{side}.bytes", printed.number(report["totalBytes"]["value"], {"MB": 1e6}[report["totalBytes"]["metric"]])
    yield f"{side}.elapsed_ns", printed.number(report["realTime"]["value"], {"s": printed.SECOND}[report["realTime"]["metric"]])
    yield f"{side}.bytes_per_s", printed.number(rates["mbps"], 1e6 / 8)
    yield f"{side}.errors", printed.exact(int(report["errors"]))


PARSER = Parser(
    name="ntttcp",
    programs=("ntttcp", "NTttcp.exe", "ntttcp.exe"),
    recognises=printed.prints(("ntttcp", "NTttcp.exe", "ntttcp.exe"), TOTALS, XML, JSON),
    **printed.reads(_figures, EXPECTED, begins=XML),
)
