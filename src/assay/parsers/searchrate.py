"""searchrate, modrate, authrate and addrate of OpenDJ, ForgeRock, PingDirectory and UnboundID: the averages over the whole run.

The last row has them: `average` of OpenDJ, `Overall` of UnboundID. Of the percentiles only `99.9%` is a figure. `err/sec` and
`Errors/Sec` are the last interval's and no number of errors: a run in which any row tells errors has no figure.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from assay.catalogue import Parser, printed

EXPECTED = "the table of searchrate, modrate, authrate or addrate, with its average or Overall columns"
HEADING = re.compile(r"\|\s+recent\s+average\s+\|\s+recent\s+average\s+.{1,200}")
PER_S = re.compile(r"(?:Searches|Mods|Auths|Authentications|Adds|Operations|Ops|Compares|Binds)/Sec")
HEADS = re.compile(rf"\s*{PER_S.pattern}\s+Avg Dur ms\s.{{1,200}}")
MEAN = "Avg Dur ms"


def _figures(text: str) -> Iterator[printed.Figure]:
    """Yield the figures of the last table in the output."""
    rows = printed.lines(text)
    at = max(printed.last_run(rows, HEADING), printed.last_run(rows, HEADS))
    if rows and HEADING.fullmatch(rows[at]):
        yield from _opendj(rows[at:])
    elif rows:
        yield from _unboundid(rows[max(0, at - 1) :])


def _opendj(rows: Sequence[str]) -> Iterator[printed.Figure]:
    """Yield the figures of the table with three groups of columns: throughput, response time, the rest."""
    names = [group.split() for group in rows[0].strip().strip("|").split("|")]
    found = []
    for index, row in enumerate(rows[1:], 1):
        cells = [group.split() for group in row.strip().strip("|").split("|")]
        if row.startswith("|"):
            if [len(group) for group in cells[:2]] != [len(group) for group in names[:2]]:
                raise printed.damaged_line(rows, index)
            found.append(cells)
    for cells in found:
        if float(cells[2][0]):
            raise ValueError(f"rate without errors (err/sec {cells[2][0]})")
    for rates, times, *_ in found[-1:]:
        told = dict(zip(names[1], times, strict=True))
        yield "request.ops_per_s", printed.number(dict(zip(names[0], rates, strict=True))["average"])
        yield "request.latency_mean_ns", printed.number(told["average"], 1e6)
        if "99.9%" in told:
            yield "request.latency_p999_ns", printed.number(told["99.9%"], 1e6)


def _unboundid(rows: Sequence[str]) -> Iterator[printed.Figure]:
    """Yield the figures of the table whose columns are Recent or Overall."""
    found = list(printed.ruled(rows, "-"))
    for cells in found:
        if any(float(cell) for name, cell in cells.items() if name.endswith("Errors/Sec")):
            raise ValueError("rate without errors (Errors/Sec)")
    for cells in found[-1:]:
        for name, cell in cells.items():
            whole, _, what = name.partition(" ")
            if whole == "Overall" and PER_S.fullmatch(what):
                yield "request.ops_per_s", printed.number(cell)
            elif whole == "Overall" and what == MEAN:
                yield "request.latency_mean_ns", printed.number(cell, 1e6)


PARSER = Parser(
    name="searchrate",
    programs=("searchrate",),
    recognises=printed.prints(("searchrate", "modrate", "authrate", "addrate"), HEADING, HEADS),
    **printed.reads(_figures, EXPECTED),
)
