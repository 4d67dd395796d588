"""iperf3: data that one end sent and received over the network, from text or JSON of the client or the server.

`bits/sec` count in powers of 1,000, `Bytes` in powers of 1,024 (iperf 3.12, src/units.c, unit_snprintf). Sent data are taken from
the line `sender`, received data from `receiver`; of sent data the line `receiver` tells what arrived. Datagrams are the count,
lost ones are errors; each direction has its own loss, which the receiving side counts. UDP up to 3.9 has one sum for both sides;
json-stream has one event a line (3.17). A server sends where its rows have retransmits or no jitter (src/iperf_locale.c of 3.21).

Intervals in which nothing was moved are a pause. In JSON a test whose time was over counts, too, if only the exchange of results
failed: what arrived is unknown then.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from assay.catalogue import Parser, printed

EXPECTED = "the complete report of iperf3 (text, or the JSON of -J) without an error"
BEGUN = re.compile(r"(Connecting to host|Accepted connection from) .{1,300}")
EVENTS_BEGUN = re.compile(r'\{ ?"event": ?"start".{1,100000}')
ROW = re.compile(
    r"\[\s*(\d{1,9}|SUM)\](?:\[([TR])X-[CS]\])?\s+[\d.]+-([\d.]+)\s+sec\s+([\d.]+) ([KMGT]?)Bytes"
    r"\s+([\d.]+) ([KMGT]?)(bits|Bytes)/sec(.{0,80}?)\s*(sender|receiver)?\s*"
)
SIDE = re.compile(ROW.pattern.replace("(sender|receiver)?", "(?:sender|receiver)"))
LOST = re.compile(r".*\s(\d+)/\s*(\d+) \(.{1,12}%\).*")
HEAD = re.compile(r"\[ ID\](?:\[Role\])? Interval .{1,100}")
BROKEN = re.compile(r"iperf3?: (?:error|interrupt|the (?:client|server) has terminated).{0,300}")
END_KEYS = {False: "", True: "_bidir_reverse"}
"""What follows the names of an end's sums, by whether they are of the other direction of --bidir."""


def _figures(text: str) -> Iterator[printed.Figure]:
    """Yield the figures of the last run in the output: --logfile appends each run."""
    reports = list(_reports(text))
    if reports:
        yield from _json(reports[-1])
        return
    whole = printed.lines(text)
    rows = whole[printed.last_run(whole, BEGUN) :]
    begun = printed.first_match(rows, BEGUN)
    if broken := printed.first_match(rows, BROKEN):
        raise ValueError(f"end ({broken[0].strip()[:120]!r})")
    ruled = [at + 1 for at, row in enumerate(rows) if set(row.split()) == {"-"}]  # several streams have one for each interval
    summary = max((at for at in ruled if any(HEAD.fullmatch(row) for row in rows[at : at + 1])), default=len(rows))
    found = [match for row in rows[summary:] if (match := ROW.fullmatch(row))]
    if summary == len(rows):  # of a report that was quoted in part: the rows of the summary say whose they are
        found = [match for row in rows if (match := ROW.fullmatch(row)) and match[10]]
    elif begun is None and not any(HEAD.fullmatch(row) for row in rows[:summary]):
        raise ValueError("rows of the intervals (without them and the first lines nobody knows which end sent)")
    is_whole = any(row.startswith("iperf Done") for row in rows) or {"sender", "receiver"} <= {match[10] for match in found}
    if not is_whole and (begun is None or begun[1].startswith("Connecting")):
        return
    single = len({match[1] for match in found} - {"SUM"}) == len({match[2] for match in found})
    for match in found:
        if not (single or match[1] == "SUM"):
            continue
        sent = match[2] == "T" if match[2] else _sends(rows[:summary])
        operation = "send" if sent else "receive"
        if match[10] is None or match[10] == ("sender" if sent else "receiver"):
            yield from _of_row(operation, match)
            parts = [one for row in rows[:summary] if (one := ROW.fullmatch(row)) and one.groups()[:2] == match.groups()[:2]]
            yield from _pause(operation, [(float(one[3]), float(one[4])) for one in parts if "(omitted)" not in one[9]])
        elif sent:
            yield from ((f"send.delivered_{name.partition('.')[2]}", number) for name, number in _of_row(operation, match))
        if (lost := LOST.fullmatch(match[9] + " ")) and match[10] != "sender":
            yield from _datagrams(operation, int(lost[1]), int(lost[2]))


def _pause(operation: str, intervals: Sequence[tuple[float, float]]) -> Iterator[printed.Figure]:
    """Yield the longest time of whole intervals in which nothing was moved, and its begin, if there was one.

    `intervals` is the end of each, in s, and what was moved in it.
    """
    longest, at, begin = 0.0, 0.0, 0.0
    for end, moved in intervals:
        if moved:
            begin = end
        elif end - begin > longest:
            longest, at = end - begin, begin
    if longest and any(moved for _, moved in intervals):
        yield f"{operation}.longest_pause_ns", printed.exact(longest * printed.SECOND)
        yield f"{operation}.pause_begin_ns", printed.exact(at * printed.SECOND)


def _sends(rows: Sequence[str]) -> bool:
    """Return whether this end sends: a client without --reverse, another end whose rows are those of a sender."""
    if rows[0].startswith("Connecting"):
        return not any(row.startswith("Reverse mode") for row in rows)
    head = printed.first_match(rows, HEAD)
    return head is not None and ("Retr" in head[0] or ("Datagrams" in head[0] and "Jitter" not in head[0]))


def _of_row(operation: str, match: re.Match[str]) -> Iterator[printed.Figure]:
    unit = printed.power(match[7], 1000) / 8 if match[8] == "bits" else printed.power(match[7])
    yield f"{operation}.bytes", printed.number(match[4], printed.power(match[5]))
    yield f"{operation}.elapsed_ns", printed.number(match[3], printed.SECOND)
    yield f"{operation}.bytes_per_s", printed.number(match[6], unit)


def _datagrams(operation: str, lost: float, every: float) -> Iterator[printed.Figure]:
    yield f"{operation}.errors", printed.exact(lost)
    yield f"{operation}.count", printed.exact(every)
    yield f"{operation}.attempts", printed.exact(every)


def _reports(text: str) -> Iterator[Mapping[str, Any]]:
    """Yield each whole report: an object with start and end, or the events of a stream."""
    start: object = None
    for found in printed.json_documents(text):
        if "event" not in found:
            if "start" in found:
                yield found
        elif found["event"] == "start":
            start = found["data"]
        elif found["event"] == "end" and start is not None:
            yield {"start": start, "end": found["data"]}
        elif found["event"] == "error":
            yield {"start": start, "error": found["data"]}


def _json(report: Mapping[str, Any]) -> Iterator[printed.Figure]:
    end, start = report.get("end") or {}, report["start"] or {}
    if "error" in report and not _is_over(start, end):
        raise ValueError(f"error {str(report['error'])[:200]!r}")
    sends = bool(start["test_start"]["reverse"]) == ("accepted_connection" in start)
    for is_other, key in END_KEYS.items():
        operation = "send" if sends is not is_other else "receive"
        sides = {name: end.get(f"sum_{name}{key}") for name in ("sent", "received")}
        row = sides["received" if operation == "receive" else "sent"] or (None if is_other else end["sum"])
        if row is None:
            continue
        yield f"{operation}.bytes", printed.exact(printed.json_number(row["bytes"]))
        yield f"{operation}.elapsed_ns", printed.exact(printed.json_number(row["seconds"]) * printed.SECOND)
        yield f"{operation}.bytes_per_s", printed.exact(printed.json_number(row["bits_per_second"]) / 8)
        yield from _pause(operation, list(_intervals(report, f"sum{key}")))
        arrived = sides["received"] or row
        if operation == "send" and sides["received"] and arrived["bytes"]:  # a server does not know what arrived
            yield "send.delivered_bytes", printed.exact(printed.json_number(arrived["bytes"]))
            yield "send.delivered_elapsed_ns", printed.exact(printed.json_number(arrived["seconds"]) * printed.SECOND)
            yield "send.delivered_bytes_per_s", printed.exact(printed.json_number(arrived["bits_per_second"]) / 8)
        if arrived.get("packets"):
            yield from _datagrams(
                operation, printed.json_number(arrived["lost_packets"]), printed.json_number(arrived["packets"])
            )


def _intervals(report: Mapping[str, Any], key: str) -> Iterator[tuple[float, float]]:
    """Yield the end of each interval, in s, and the bytes in it; not those that -O omits."""
    for one in report.get("intervals", ()):
        row = one.get(key) or {"omitted": True}
        if not row.get("omitted"):
            yield printed.json_number(row["end"]), printed.json_number(row["bytes"])


def _is_over(start: Mapping[str, Any], end: Mapping[str, Any]) -> bool:
    """Return whether a test of a stated time ran to its end, so that only the exchange of the results can have failed."""
    asked = start.get("test_start", {}).get("duration") or math.inf
    return any(sums.get("seconds", 0) >= asked for name in ("sum_sent", "sum_received") if (sums := end.get(name)))


PARSER = Parser(
    name="iperf3",
    recognises=printed.prints(("iperf3",), BEGUN, BROKEN, SIDE, '"test_start"'),
    **printed.reads(_figures, EXPECTED, runs=lambda text: printed.runs_in(text, EVENTS_BEGUN) or printed.runs_in(text, BEGUN)),
    result_file=printed.file_option("iperf3", "--logfile"),
    trap=printed.to_itself,
)
