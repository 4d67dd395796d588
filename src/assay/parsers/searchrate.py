"""searchrate, modrate, authrate and addrate of OpenDJ, ForgeRock, PingDirectory and UnboundID: the averages over the whole run.

The last row has them: `average` of OpenDJ, `Overall` of UnboundID (examples/SearchRate.java, util/ColumnFormatter.java). Of the
percentiles only `99.9%` is a figure. `err/sec` and `Errors/Sec` are the last interval's and no number of errors: a run in which
any row tells errors has no figure. A search-and-mod-rate has each kind of operation by itself. Those of the Directory Server
Resource Kit print one line for each interval (searchrate.1 of ODSEE 11.1): their figure is of all intervals.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from assay.catalogue import Parser, printed

EXPECTED = "the table of searchrate, modrate, authrate or addrate, with its average or Overall columns"
HEADING = re.compile(r"\|?\s*recent\s+average\s+\|?\s*recent\s+average\s+.{1,200}")
PER_S = re.compile(r"(?:Searches|Mods|Auths|Authentications|Adds|Operations|Ops|Compares|Binds)/Sec")
HEADS = re.compile(rf"\s*(?:Time\s+)?{PER_S.pattern}\s+(?:Avg|Srch) Dur ms\s.{{1,200}}")
CSV = re.compile(rf"(?:Time[,\t])?Recent {PER_S.pattern}[,\t].{{1,300}}")
SCRIPT = re.compile(r"Time \(seconds\),Recent throughput \(ops/second\),.{1,400}")
"""The heads of UnboundID's CSV, and of OpenDJ with --scriptFriendly."""
INTERVAL = re.compile(r"Avg r= ?([\d.]{1,20})/thr \( ?([\d.]{1,20})/sec\), total= *(\d{1,18})\s*")
OVERALL, ERRORS = "Overall ", "Errors/Sec"
BY_KIND = {
    "Searches/Sec": "request_search.ops_per_s",
    "Srch Dur ms": "request_search.latency_mean_ns",
    "Mods/Sec": "request_mod.ops_per_s",
    "Mod Dur ms": "request_mod.latency_mean_ns",
}
"""The columns of a table with two kinds of operations."""


def _figures(text: str) -> Iterator[printed.Figure]:
    """Yield the figures of the last table in the output."""
    rows = printed.lines(text)
    if intervals := [match for row in rows if (match := INTERVAL.fullmatch(row)) and int(match[3])]:
        yield "request.count", printed.exact(sum(int(one[3]) for one in intervals))
        yield "request.ops_per_s", printed.combined_rate((float(one[3]), printed.number(one[2])) for one in intervals)
        return
    at = max((printed.last_run(rows, form) for form in (HEADING, HEADS, CSV, SCRIPT)), default=0)
    if rows and HEADING.fullmatch(rows[at]):
        yield from _opendj(rows[at:])
    elif rows and SCRIPT.fullmatch(rows[at]):
        yield from _script_friendly(list(_csv(rows[at:])))
    elif rows and CSV.fullmatch(rows[at]):
        yield from _unboundid(list(_csv(rows[at:])))
    elif rows:
        yield from _unboundid(list(printed.ruled(rows[max(0, at - 1) :], "-")))


def _opendj(rows: Sequence[str]) -> Iterator[printed.Figure]:
    """Yield the figures of the table with three groups of columns: throughput, response time, the rest."""
    names = rows[0].replace("|", " ").split()
    found = []
    for index, row in enumerate(rows[1:], 1):
        cells = row.replace("|", " ").split()
        if len(cells) == len(names) and row.strip("| ")[:1].isdigit():
            found.append(cells)
        elif row.startswith("|") or len(cells) == len(names):
            raise printed.damaged_line(rows, index)
    at = names.index("err/sec")
    if errors := next((cells[at] for cells in found if float(cells[at])), None):
        raise ValueError(f"rate without errors (err/sec {errors})")
    rate = names.index("average")
    for cells in found[-1:]:
        yield "request.ops_per_s", printed.number(cells[rate])
        yield "request.latency_mean_ns", printed.number(cells[names.index("average", rate + 1)], 1e6)
        if "99.9%" in names:
            yield "request.latency_p999_ns", printed.number(cells[names.index("99.9%")], 1e6)


def _script_friendly(found: Sequence[Mapping[str, str]]) -> Iterator[printed.Figure]:
    """Yield the figures of OpenDJ's CSV: the averages of its last row."""
    if errors := next((cells["Errors/second"] for cells in found if cells["Errors/second"].strip("0.-")), None):
        raise ValueError(f"rate without errors (Errors/second {errors})")
    for cells in found[-1:]:
        yield "request.ops_per_s", printed.number(cells["Average throughput (ops/second)"])
        yield "request.latency_mean_ns", printed.number(cells["Average response time (milliseconds)"], 1e6)
        if largest := cells.get("99.9% response time (milliseconds)"):
            yield "request.latency_p999_ns", printed.number(largest, 1e6)


def _csv(rows: Sequence[str]) -> Iterator[Mapping[str, str]]:
    """Yield the cells of each row by the names of the columns."""
    sign = "\t" if "\t" in rows[0] else ","
    names = rows[0].split(sign)
    yield from (dict(zip(names, cells, strict=True)) for row in rows[1:] if len(cells := row.split(sign)) == len(names))


def _unboundid(found: Sequence[Mapping[str, str]]) -> Iterator[printed.Figure]:
    """Yield the figures of the table whose columns are Recent or Overall."""
    if any(float(cell) for cells in found for name, cell in cells.items() if name.endswith(ERRORS)):
        raise ValueError("rate without errors (Errors/Sec)")
    for cells in found[-1:]:
        overall = {name.removeprefix(OVERALL): cell for name, cell in cells.items() if name.startswith(OVERALL)}
        is_mixed = "Srch Dur ms" in overall
        for name, cell in overall.items():
            figure = (
                BY_KIND.get(name) if is_mixed else "request.ops_per_s" if PER_S.fullmatch(name) else "request.latency_mean_ns"
            )
            if figure:
                yield figure, printed.number(cell, 1 if figure.endswith("per_s") else 1e6)


PARSER = Parser(
    name="searchrate",
    programs=("searchrate", "modrate", "authrate", "addrate", "search-and-mod-rate"),
    recognises=printed.prints(
        ("searchrate", "modrate", "authrate", "addrate", "search-and-mod-rate"), HEADING, HEADS, CSV, SCRIPT, INTERVAL
    ),
    **printed.reads(_figures, EXPECTED),
)
