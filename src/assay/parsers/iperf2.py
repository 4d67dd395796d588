"""iperf 2: data sent or received over the network, from its text or its CSV (-y C).

`bits/sec` count in powers of 1,000, `Bytes` in powers of 1,024 (iperf 2.1, src/stdio.c). The row of the whole time counts, of
several streams the row `SUM`. A client sends; a server's rows, and those of a `Server Report`, are what arrived.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from assay.catalogue import Parser, printed

EXPECTED = "the report of iperf 2 (Client connecting to or Server listening on, rows with Interval and Bandwidth), or its CSV"
BEGUN = re.compile(r"(Client connecting to|Server listening on) .{1,200}")
ROW = re.compile(
    r"\[\s*(\*?\d{1,9}|SUM(?:-\d{1,9})?)\]\s+([\d.]{1,20})- ?([\d.]{1,20}) sec\s+([\d.]{1,20}) ([KMGT]?)Bytes"
    r"\s+([\d.]{1,20}) ([KMGT]?)(bits|Bytes)/sec(.{0,200})"
)
ANY_ROW = re.compile(r"\[.{1,12}\]\s+\S{1,20}- ?\S{1,20} sec\s.{1,300}")
LOST = re.compile(r"\s+[\d.]{1,20} ms\s+(\d{1,18})/\s*(\d{1,18}) \(.{1,12}%\).{0,200}")
CSV = re.compile(
    r"\d{14}(?:\.\d{1,6})?,[^,]{0,60},\d{1,5},[^,]{0,60},\d{1,5},(-?\d{1,9}),([\d.]{1,20})-([\d.]{1,20}),(\d{1,20}),(\d{1,20}).{0,200}"
)
ANY_CSV = re.compile(r"\d?\S{10,30}(?:,[^,]{0,60}){6},[^,]{1,20}-[^,]{1,20},[^,]{1,20},[^,]{1,20}.{0,200}")


def _figures(text: str) -> Iterator[printed.Figure]:
    """Yield the figures of the last run in the output."""
    whole = printed.lines(text)
    rows = whole[printed.last_run(whole, BEGUN) :]
    _refuse_damaged(rows)
    if cells := [match for row in rows if (match := CSV.fullmatch(row))]:
        yield from _of_csv(cells)
        return
    begun = printed.first_match(rows, BEGUN)
    if begun is None:
        return
    ours = "send" if begun[1].startswith("Client") else "receive"
    found = [match for row in rows if (match := ROW.fullmatch(row))]
    own = _whole(found if ours == "receive" else [match for match in found if not LOST.fullmatch(match[9])])
    for match in own:
        unit = printed.power(match[7], 1000) / 8 if match[8] == "bits" else printed.power(match[7])
        yield f"{ours}.bytes", printed.number(match[4], printed.power(match[5]))
        yield f"{ours}.elapsed_ns", printed.number(match[3], printed.SECOND)
        yield f"{ours}.bytes_per_s", printed.number(match[6], unit)
    for match in _whole([match for match in found if LOST.fullmatch(match[9])]):
        lost = LOST.fullmatch(match[9])
        if lost:
            yield f"{ours}.errors", printed.exact(int(lost[1]))
            yield f"{ours}.count", printed.exact(int(lost[2]))
            yield f"{ours}.attempts", printed.exact(int(lost[2]))


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
    recognises=printed.prints(("iperf", "iperf2"), BEGUN, CSV),
    **printed.reads(_figures, EXPECTED, begins=BEGUN),
    programs=("iperf", "iperf2"),
)
