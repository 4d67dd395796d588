"""iperf3: data that its client sent and received over the network, from text or JSON.

`bits/sec` count in powers of 1,000, `Bytes` in powers of 1,024 (iperf 3.12, src/units.c, unit_snprintf). Sent data are taken from
the line `sender`, received data from `receiver`: both are counted on this machine. Lost datagrams are errors.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from assay.catalogue import Parser, printed

EXPECTED = "the complete report of iperf3 -c (text, or the JSON of -J) without an error"
BEGUN = re.compile(r"Connecting to host .{1,300}")
ROW = re.compile(
    r"\[\s*(\d{1,9}|SUM)\](?:\[([TR])X-C\])?\s+[\d.]+-([\d.]+)\s+sec\s+([\d.]+) ([KMGT]?)Bytes"
    r"\s+([\d.]+) ([KMGT]?)(bits|Bytes)/sec(.{0,80}?)\s+(sender|receiver)\s*"
)
LOST = re.compile(r".*\s(\d+)/(\d+) \(.{1,12}%\).*")


def _figures(text: str) -> Iterator[printed.Figure]:
    """Yield the figures of the last run in the output: --logfile appends each run."""
    if "{" in text and '"end"' in text:
        yield from _json(text)
        return
    whole = printed.lines(text)
    rows = whole[printed.last_run(whole, BEGUN) :]
    if not any(row.startswith("Connecting to host") for row in rows) or not any(row.startswith("iperf Done") for row in rows):
        return
    reverse = any(row.startswith("Reverse mode") for row in rows)
    found = [match for row in rows if (match := ROW.fullmatch(row))]
    single = len({match[1] for match in found} - {"SUM"}) == len({match[2] for match in found})
    for match in found:
        sent = match[2] == "T" if match[2] else not reverse
        if (single or match[1] == "SUM") and match[10] == ("sender" if sent else "receiver"):
            yield from _of_row("send" if sent else "receive", match)
    yield from _loss("receive" if reverse else "send", found)


def _of_row(operation: str, match: re.Match[str]) -> Iterator[printed.Figure]:
    unit = printed.power(match[7], 1000) / 8 if match[8] == "bits" else printed.power(match[7])
    yield f"{operation}.bytes", printed.number(match[4], printed.power(match[5]))
    yield f"{operation}.elapsed_ns", printed.number(match[3], printed.SECOND)
    yield f"{operation}.bytes_per_s", printed.number(match[6], unit)


def _loss(operation: str, found: Sequence[re.Match[str]]) -> Iterator[printed.Figure]:
    """Yield the lost datagrams of one stream or the sum."""
    for match in found:
        lost = LOST.fullmatch(match[9] + " ")
        if lost and match[10] == "receiver":
            yield f"{operation}.errors", printed.exact(int(lost[1]))


def _json(text: str) -> Iterator[printed.Figure]:
    report = printed.json_report(text)
    if "error" in report:
        raise ValueError(f"error {str(report['error'])[:200]!r}")
    end, reverse = report["end"], bool(report["start"]["test_start"]["reverse"])
    sums = [("receive", "sum_received") if reverse else ("send", "sum_sent")]
    if "sum_received_bidir_reverse" in end:
        sums.append(("receive", "sum_received_bidir_reverse"))
    for operation, key in sums:
        row = end[key]
        yield f"{operation}.bytes", printed.exact(printed.json_number(row["bytes"]))
        yield f"{operation}.elapsed_ns", printed.exact(printed.json_number(row["seconds"]) * printed.SECOND)
        yield f"{operation}.bytes_per_s", printed.exact(printed.json_number(row["bits_per_second"]) / 8)
        lost = end["sum_received"].get("lost_packets") if "sum_received" in end else None
        if lost is not None:
            yield f"{operation}.errors", printed.exact(printed.json_number(lost))


PARSER = Parser(
    name="iperf3",
    recognises=printed.prints(("iperf3",), "Connecting to host", '"test_start"'),
    **printed.reads(_figures, EXPECTED),
    result_file=printed.file_option("iperf3", "--logfile"),
)
