"""iperf 2: data sent or received over the network, from its text or its CSV (-y C).

`bits/sec` count in powers of 1,000, `Bytes` in powers of 1,024 (iperf 2.1, src/stdio.c). The row of the whole time counts, of
several streams the row `SUM`. A stream to the port of the test sends, one from it receives (--dualtest has both); the rows of a
`Server Report` are what arrived of what was sent.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from assay.catalogue import Parser, printed

EXPECTED = "the report of iperf 2 (Client connecting to or Server listening on, rows with Interval and Bandwidth), or its CSV"
BEGUN = re.compile(r"(Client connecting to .{1,100}, |Server listening on )(?:TCP|UDP) port (\d{1,5}).{0,100}")
STREAM = re.compile(r"\[\s*(\*?\d{1,9})\] local \S{1,80} port \d{1,5} connected with \S{1,80} port (\d{1,5})(.{0,200})")
PORT = "5001"
"""Where a server listens unless it is told otherwise: a report without its head has the side of the load by it."""
ROW = re.compile(
    r"\[\s*(\*?\d{1,9}|SUM(?:-\d{1,9})?)\]\s+([\d.]{1,20})- ?([\d.]{1,20}) sec\s+([\d.]{1,20}) ([KMGT]?)Bytes"
    r"\s+([\d.]{1,20}) ([KMGT]?)(bits|Bytes)/sec(.{0,200})"
)
ANY_ROW = re.compile(r"\[.{1,12}\]\s+\S{1,20}- ?\S{1,20} sec\s(?!.{1,30}out-of-order).{1,300}")
CSV_KEY = re.compile(r"\d{14}(?:\.\d{1,6})?(?:,[^,]{0,60}){4},(-?\d{1,9}),([\d.]{1,20}-[\d.]{1,20}),.{1,300}")
"""Stream and interval: a run has each of them once."""
BROKEN = re.compile(r"(?:write|read|recv|send|writev|connect)\w{0,10} failed: .{1,200}")
"""What it says where a connection ended before its time; its row tells the time until then."""
LOST = re.compile(r"\s+[\d.]{1,20} ms\s+(\d{1,18})/\s*(\d{1,18})\s+\(.{1,12}%\).{0,200}")
CSV = re.compile(
    r"\d{14}(?:\.\d{1,6})?,[^,]{0,60},\d{1,5},[^,]{0,60},\d{1,5},(-?\d{1,9}),([\d.]{1,20})-([\d.]{1,20}),(\d{1,20}),(\d{1,20}).{0,200}"
)
ANY_CSV = re.compile(r"\d?\S{10,30}(?:,[^,]{0,60}){6},[^,]{1,20}-[^,]{1,20},[^,]{1,20},[^,]{1,20}.{0,200}")


def runs(text: str) -> list[str]:
    """Return the texts of the runs in an output."""
    return printed.runs_in(text, BEGUN) or printed.runs_by_key(text, CSV_KEY)


def _figures(text: str) -> Iterator[printed.Figure]:
    """Yield the figures of the last run in the output."""
    whole, last = printed.lines(text), printed.lines(runs(text)[-1])
    rows = last[printed.last_run(last, BEGUN) :]
    _refuse_damaged(rows)
    if cells := [match for row in rows if (match := CSV.fullmatch(row))]:
        yield from _of_csv(cells)
        return
    begun = printed.first_match(rows, BEGUN)
    streams = {match[1]: match for row in whole if (match := STREAM.fullmatch(row))}
    if begun is None and not any(f"port {PORT}" in match[0] for match in streams.values()):
        return
    port = begun[2] if begun else PORT
    sides = {name: "send" if (match[2] == port) != ("reverse" in match[3]) else "receive" for name, match in streams.items()}
    client = begun[1].startswith("Client") if begun else "send" in sides.values()
    ours = "send" if client else "receive"
    found = [match for row in rows if (match := ROW.fullmatch(row))]
    for side in ("send", "receive"):
        yield from _of_side(side, [match for match in found if sides.get(match[1], ours) == side])


def _of_side(side: str, found: Sequence[re.Match[str]]) -> Iterator[printed.Figure]:
    """Yield what one side counted, and of datagrams how many the other one missed."""
    reports = [match for match in found if LOST.fullmatch(match[9])]
    for match in _whole(found if side == "receive" else [match for match in found if match not in reports]):
        unit = printed.power(match[7], 1000) / 8 if match[8] == "bits" else printed.power(match[7])
        yield f"{side}.bytes", printed.number(match[4], printed.power(match[5]))
        yield f"{side}.elapsed_ns", printed.number(match[3], printed.SECOND)
        yield f"{side}.bytes_per_s", printed.number(match[6], unit)
    sums = [match for match in reports if match[1].startswith("SUM")] or reports
    each = [_whole([match for match in sums if match[1] == name]) for name in dict.fromkeys(match[1] for match in sums)]
    if lost := [told for rows in each for match in rows if (told := LOST.fullmatch(match[9]))]:
        sent = printed.exact(sum(int(one[2]) for one in lost))
        yield f"{side}.errors", printed.exact(sum(int(one[1]) for one in lost))
        yield from ((f"{side}.{name}", sent) for name in ("count", "attempts"))


def _refuse_damaged(rows: Sequence[str]) -> None:
    """Raise ValueError for a row that cannot be read: another one would take its place."""
    for index, row in enumerate(rows):
        match = ROW.fullmatch(row)
        if (ANY_ROW.fullmatch(row) and not match) or (ANY_CSV.fullmatch(row) and not CSV.fullmatch(row)):
            raise printed.damaged_line(rows, index)
        if match and " ms " in match[9] and not LOST.fullmatch(match[9]):
            raise printed.damaged_line(rows, index)


def _whole(rows: Sequence[re.Match[str]]) -> Sequence[re.Match[str]]:
    """Return the row of the whole time: of the sum, or of the only stream; none where several streams have no sum."""
    from_start = [row for row in rows if float(row[2]) == 0]
    longest = max((float(row[3]) for row in from_start), default=0.0)
    whole = [row for row in from_start if float(row[3]) >= 0.95 * longest]
    if any(float(row[3]) > 1.05 * longest for row in rows):
        raise ValueError("row of the whole time")
    sums = [row for row in whole if row[1].startswith("SUM")]
    if not sums and len({row[1] for row in whole}) > 1:
        raise ValueError("row SUM of several streams")
    return (sums or whole)[-1:]


def _of_csv(cells: Sequence[re.Match[str]]) -> Iterator[printed.Figure]:
    """Yield the figures of the whole time: of the sum (-1), or of the only stream; bytes, and bits a second."""
    sums = [one for one in cells if one[1] == "-1"]
    if not sums and len({one[1] for one in cells}) > 1:
        raise ValueError("row of the sum of several streams")
    last = max(sums or cells, key=lambda one: float(one[3]) - float(one[2]))
    yield "send.bytes", printed.exact(int(last[4]))
    yield "send.elapsed_ns", printed.number(last[3], printed.SECOND)
    yield "send.bytes_per_s", printed.number(last[5], 1 / 8)


PARSER = Parser(
    name="iperf2",
    recognises=printed.prints(("iperf", "iperf2"), BEGUN, STREAM, CSV),
    **printed.reads(_figures, EXPECTED, runs=runs, broken=BROKEN),
    programs=("iperf", "iperf2"),
    trap=printed.to_itself,
)
