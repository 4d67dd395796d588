"""Latency percentiles on log axes: where the slow operations are, as far as the counts carry."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from assay.records import Judged, Observations, Results, Value
from assay.report import words
from assay.report.charts.figure import Figure, Panel, Table, end_labels
from assay.report.charts.roles import Roles, roles
from assay.report.charts.theme import Spec, end_text, frame, label_room, series_colours
from assay.report.quantities import show

HEIGHT = 220
BEYOND = 10
"""A percentile is drawn where at least this many operations were slower."""
STEPS = 48
MARKS = (0.5, 0.9, 0.99, 0.999, 0.9999, 0.99999)

Load = Callable[[str], Observations]
Key = tuple[str, str]
"""Phase and operation."""


@dataclass(frozen=True, kw_only=True)
class Line:
    """The percentiles of one operation in one combination of levels: (share of operations, at most so many ns)."""

    levels: Mapping[str, Value]
    runs: int
    count: int
    points: tuple[tuple[float, float], ...]


def figures(results: Results, groups: Sequence[Sequence[Judged]], load: Load) -> tuple[Figure, ...]:
    """One figure for each operation that has a histogram; the runs of a group share their levels and are merged."""
    lines: dict[Key, list[Line]] = {}
    for group in groups:
        for key, merged in _merged(group, load).items():
            lines.setdefault(key, []).append(_line(group, merged))
    parts = roles(results.experiment)
    return tuple(_figure(parts, key, found) for key, found in lines.items())


def _merged(group: Sequence[Judged], load: Load) -> dict[Key, dict[int, int]]:
    """Counts by the buckets' highest values, over all clients and runs."""
    merged: dict[Key, dict[int, int]] = {}
    for judged in group:
        measured = {phase.name for phase in judged.run.phases if phase.measured}
        for histogram in load(judged.id).histograms:
            if histogram.phase not in measured:
                continue
            buckets = merged.setdefault((histogram.phase, histogram.operation), {})
            for upper, count in zip(histogram.upper_ns, histogram.count, strict=True):
                buckets[upper] = buckets.get(upper, 0) + count
    return merged


def _line(group: Sequence[Judged], buckets: Mapping[int, int]) -> Line:
    uppers = sorted(buckets)
    below = list(itertools.accumulate(buckets[upper] for upper in uppers))
    total = below[-1] if below else 0
    furthest = max(0.0, math.log10(total / BEYOND)) if total else 0.0
    wanted = [1 - 10 ** -(furthest * step / STEPS) for step in range(1, STEPS + 1)]
    points = []
    index = 0
    for share in wanted:
        while index < len(below) - 1 and below[index] < share * total:
            index += 1
        points.append((share, float(uppers[index])))
    return Line(levels=group[0].run.trial.levels, runs=len(group), count=total, points=tuple(points))


def _figure(parts: Roles, key: Key, lines: Sequence[Line]) -> Figure:
    phase, operation = key
    times = [value for line in lines for _, value in line.points] or [1.0]
    furthest = max((-math.log10(1 - line.points[-1][0]) for line in lines if line.points), default=1.0)
    panels: dict[tuple[tuple[str, Value], ...], list[Line]] = {}
    for line in lines:
        along = ((parts.along.path, line.levels.get(parts.along.path)),) if parts.along else ()
        panels.setdefault((*along, *parts.panel_levels(line.levels)), []).append(line)
    most = max(line.runs for line in lines)
    return Figure(
        name=f"latency-{phase}-{operation}",
        title=f"{phase} {operation}: latency percentiles",
        caption="So many operations took at most so long; both axes are logarithmic."
         f" Histograms of up to {words.count(most, 'run')} merged; drawn as far as {BEYOND} operations were slower.",
        panels=tuple(
            _panel(
                parts,
                here,
                ", ".join(f"{path} = {words.level(level)}" for path, level in where),
                (min(times), max(times), furthest),
            )
            for where, here in panels.items()
        ),
        table=_table(lines),
    )


def _panel(parts: Roles, lines: Sequence[Line], heading: str, span: tuple[float, float, float]) -> Panel:
    low, high, furthest = span[0] / 1.3, span[1] * 1.3, span[2]
    rows: list[Spec] = [
        {
            "x": round(-math.log10(1 - share), 3),
            "y": value,
            "s": str(parts.colour_index(line.levels)),
            "l": words.levels(line.levels),
        }
        for line in lines
        for share, value in line.points
    ]
    marks = [mark for mark in MARKS if -math.log10(1 - mark) <= furthest + 0.01]
    x: Spec = {
        "field": "x",
        "type": "quantitative",
        "scale": {"domain": [0, furthest], "nice": False},
        "axis": {
            "values": [round(-math.log10(1 - mark), 3) for mark in marks],
            "labelExpr": "format(100 * (1 - pow(10, -datum.value)), '.5~r') + ' %'",
            "title": "share of operations",
            "grid": True,
            "labelOverlap": True,
        },
    }
    y: Spec = {
        "type": "quantitative",
        "scale": {"type": "log", "domain": [low, high], "nice": False},
        "axis": {"title": None, "labelExpr": _TIME, "tickCount": 5},
    }
    line: Spec = {
        "mark": {"type": "line", "strokeWidth": 2},
        "encoding": {"x": x, "y": {**y, "field": "y"}, "color": series_colours(), "detail": {"field": "l"}},
    }
    ends = {parts.name(one.levels): (math.log(one.points[-1][1]), parts.colour_index(one.levels)) for one in lines if one.points}
    ends.pop("", None)
    placed = end_labels([(name, end[0]) for name, end in ends.items()], math.log(low), math.log(high), 0.085)
    labels: list[Spec] = [{"v": math.exp(placed[name]), "n": name, "s": str(end[1])} for name, end in ends.items()]
    spec = frame(HEIGHT, [line, end_text(labels, y)], label_room(ends) if ends else 24)
    said = "; ".join(f"{words.levels(one.levels) or 'all runs'}: half within {show(_at(one, 0.5), 'ns')}" for one in lines)
    return Panel(heading=heading, spec={**spec, "data": {"values": rows}}, height=HEIGHT, description=said)


_TIME = (
    "datum.value >= 1e9 ? format(datum.value / 1e9, '~r') + ' s' : datum.value >= 1e6 ? format(datum.value / 1e6, '~r') + ' ms'"
    " : datum.value >= 1e3 ? format(datum.value / 1e3, '~r') + ' µs' : format(datum.value, '~r') + ' ns'"
)


def _at(line: Line, share: float) -> float | None:
    return next((value for place, value in line.points if place >= share), None)


def _table(lines: Sequence[Line]) -> Table:
    head = ("levels", "runs", "operations", *(f"{mark * 100:g} %" for mark in MARKS))
    rows = tuple(
        (
            words.levels(line.levels) or "all",
            str(line.runs),
            f"{line.count:,}",
            *(show(_at(line, mark), "ns") for mark in MARKS),
        )
        for line in lines
    )
    return Table(head=head, rows=rows)
