"""Latency percentiles on log axes: where the slow operations are, as far as the counts carry."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from assay.answer import marks as words
from assay.answer.scales import show
from assay.answer.wording import trends
from assay.frozen import dataclass
from assay.measures.latency import percentiles
from assay.records import Judged, Observations, Results, Value, VerdictState
from assay.report.charts.dots import named
from assay.report.charts.figure import ChartFigure, Panel, Table, end_labels
from assay.report.charts.roles import Key, Roles, along, heading, in_order, roles
from assay.report.charts.theme import (
    SERIES,
    Row,
    Spec,
    axis_over,
    end_text,
    frame,
    room,
    round_times,
    rows_of,
    series_colours,
    ticks,
)

HEIGHT = 200
BEYOND = 10
"""A percentile is drawn where at least this many operations were slower."""
STEPS = 40
MARKS = (0.5, 0.9, 0.99, 0.999, 0.9999, 0.99999)

Load = Callable[[str], Observations]
Counted = tuple[str, str]
"""Phase and operation."""
MERGED = 60
"""Most runs whose histograms are read; evenly spaced in their order above it."""
MANY = 10**2.2
"""Latencies that span a larger factor have marks at powers of ten only."""
LEAST_NS = 1.0
"""Empty operations may take less than the clock shows, and a logarithmic axis has no 0."""
MOST = 8
"""Most lines of a panel; of more some are drawn."""


@dataclass(frozen=True, kw_only=True)
class PercentileLine:
    """The percentiles of one operation in one combination of levels: (share of operations, at most so many ns)."""

    levels: Mapping[str, Value]
    runs: int
    count: int
    points: tuple[tuple[float, float], ...]
    invalid: int = 0
    """So many of the runs are INVALID in a measure of the operation."""
    seconds: float = 0.0
    """How long the phase of its longest run was."""


def figures(results: Results, groups: Sequence[Sequence[Judged]], load: Load) -> tuple[ChartFigure, ...]:
    """One figure for each operation that was counted often enough; the runs of a group share their levels and are merged."""
    lines: dict[Counted, list[PercentileLine]] = {}
    for group in groups:
        for key, merged in _merged(group, load).items():
            if sum(merged.values()) > 2 * BEYOND:
                lines.setdefault(key, []).append(
                    replace(_line(group, merged), invalid=_invalid(group, key), seconds=_seconds(group, key))
                )
    parts = roles(results.experiment)
    return tuple(_figure(parts, key, found) for key, found in lines.items())


def _invalid(group: Sequence[Judged], key: Counted) -> int:
    """How many of the runs are INVALID in a measure of this operation."""
    phase, operation = key
    names = f"{phase.partition('.')[0]}.{operation}."
    return sum(
        any(one.state is VerdictState.INVALID for name, one in judged.verdicts.items() if name.startswith(names))
        for judged in group
    )


def _seconds(group: Sequence[Judged], key: Counted) -> float:
    """How long the phase of the longest run was."""
    phases = (phase for judged in group for phase in judged.run.phases if phase.name == key[0])
    return max((one.lasted_ns / 1e9 for one in phases), default=0.0)


def _merged(group: Sequence[Judged], load: Load) -> dict[Counted, dict[int, int]]:
    """Counts by the buckets' highest values, over all clients and runs."""
    merged: dict[Counted, dict[int, int]] = {}
    for judged in group:
        measured = {phase.name for phase in judged.run.phases if phase.measured}
        for histogram in load(judged.id).histograms:
            if histogram.phase not in measured:
                continue
            buckets = merged.setdefault((histogram.phase, histogram.operation), {})
            for upper, count in zip(histogram.upper_ns, histogram.count, strict=True):
                buckets[upper] = buckets.get(upper, 0) + count
    return merged


def _line(group: Sequence[Judged], buckets: Mapping[int, int]) -> PercentileLine:
    total = sum(buckets.values())
    furthest = max(0.0, math.log10(total / BEYOND)) if total else 0.0
    wanted = [1 - 10 ** -(furthest * step / STEPS) for step in range(1, STEPS + 1)]
    times = (max(time_ns, LEAST_NS) for time_ns in percentiles(sorted(buckets.items()), wanted))
    points = zip(wanted, times, strict=False)
    return PercentileLine(levels=group[0].run.trial.levels, runs=len(group), count=total, points=tuple(points))


def _figure(parts: Roles, key: Counted, lines: Sequence[PercentileLine]) -> ChartFigure:
    phase, operation = key
    times = [value for line in lines for _, value in line.points] or [1.0]
    span = _Span(
        low=min(times) / 1.25,
        high=max(times) * 1.25,
        furthest=max((-math.log10(1 - line.points[-1][0]) for line in lines if line.points), default=1.0),
        longest=max((parts.name(line.levels) for line in lines), key=len),
    )
    panels: dict[Key, list[PercentileLine]] = {}
    for line in lines:
        panels.setdefault(along(parts, line.levels), []).append(line)
    drawn = {where: spread(found) for where, found in panels.items()}
    left_out = sum(map(len, panels.values())) - sum(map(len, drawn.values()))
    counted = f"Histograms of {words.count(sum(line.runs for line in lines), 'run')}{_doubted(lines)}."
    more = " The first level, the last and some between are drawn; the table has all." if left_out else ""
    return ChartFigure(
        name=f"latency-{phase}-{operation}",
        title=words.operation(phase.partition(".")[0], operation),
        caption=f"{_shows(parts, lines)} {counted}{more}".strip(),
        panels=tuple(_panel(parts, drawn[where], heading(parts.experiment, where), span) for where in in_order(parts, drawn)),
        table=_table(parts, lines),
        seconds=max(line.seconds for line in lines),
    )


def _shows(parts: Roles, lines: Sequence[PercentileLine]) -> str:
    """Within which time half and nearly all operations were done."""
    found = [(words.levels(parts.experiment, one.levels) or "all runs", _at(one, 0.5), _at(one, 0.99)) for one in lines]
    return trends.percentiles(found)


def _doubted(lines: Sequence[PercentileLine]) -> str:
    """How many of the runs are INVALID; nothing where none is."""
    invalid = sum(line.invalid for line in lines)
    return f", {'all' if invalid == sum(line.runs for line in lines) else invalid} of them INVALID" if invalid else ""


def spread(lines: Sequence[PercentileLine]) -> Sequence[PercentileLine]:
    """All lines of a panel, or of too many to be told apart as many as there are colours, evenly from the first to the last."""
    if len(lines) <= MOST:
        return lines
    return [lines[round(place * (len(lines) - 1) / (SERIES - 1))] for place in range(SERIES)]


@dataclass(frozen=True, kw_only=True)
class _Span:
    """What all panels of a figure share: the ends of the axis of time (ns), of the other axis, the longest label."""

    low: float
    high: float
    furthest: float
    longest: str


def _panel(parts: Roles, lines: Sequence[PercentileLine], title: str, span: _Span) -> Panel:
    rows: list[Row] = [
        {
            "x": round(-math.log10(1 - share), 3),
            "y": value,
            "s": _colour(parts, lines, line),
            "l": words.levels(parts.experiment, line.levels),
        }
        for line in lines
        for share, value in line.points
    ]
    marks = {f"{mark * 100:g}": round(-math.log10(1 - mark), 4) for mark in MARKS}
    x: Spec = axis_over(
        [0, span.furthest],
        "x",
        **ticks([at for at in marks.values() if at <= span.furthest + 0.01]),
        labelExpr=named(marks),
        title="percentile",
        grid=True,
        labelOverlap=False,
    )
    y: Spec = {
        "type": "quantitative",
        "scale": {"type": "log", "domain": [span.low, span.high], "nice": False},
        "axis": {"title": None, "labelExpr": TIME, **ticks(round_times(span.low, span.high, MANY))},
    }
    line: Spec = {
        "mark": {"type": "line", "strokeWidth": 1.8},
        "encoding": {"x": x, "y": {**y, "field": "y"}, "color": series_colours(), "detail": {"field": "l", "type": "nominal"}},
    }
    spec = frame(HEIGHT, [line, end_text(_labels(parts, lines, span), y), room(span.longest)])
    description = "; ".join(
        f"{words.levels(parts.experiment, one.levels) or 'all runs'}: half within {show(_at(one, 0.5), 'ns')}" for one in lines
    )
    return Panel(heading=title, spec={**spec, "data": rows_of(rows)}, height=HEIGHT, description=description)


def _colour(parts: Roles, lines: Sequence[PercentileLine], line: PercentileLine) -> str:
    """That of the level; that of the place among the lines where only some of many levels are drawn."""
    some = parts.series is not None and len(parts.series.levels) > MOST
    return str(lines.index(line) % SERIES if some else parts.colour_index(line.levels))


def _labels(parts: Roles, lines: Sequence[PercentileLine], span: _Span) -> list[Row]:
    ends = [(parts.name(one.levels), math.log(one.points[-1][1])) for one in lines if one.points and parts.name(one.levels)]
    colours = {parts.name(one.levels): _colour(parts, lines, one) for one in lines}
    placed = end_labels(ends, math.log(span.low), math.log(span.high), 0.09)
    return [{"v": math.exp(at), "n": name, "s": colours[name]} for name, at in placed.items()]


TIME = (
    "datum.value >= 1e9 ? format(datum.value / 1e9, '~r') + ' s' : datum.value >= 1e6 ? format(datum.value / 1e6, '~r') + ' ms'"
    " : datum.value >= 1e3 ? format(datum.value / 1e3, '~r') + ' µs' : format(datum.value, '~r') + ' ns'"
)


def _at(line: PercentileLine, share: float) -> float | None:
    return next((value for place, value in line.points if place >= share), None)


def _table(parts: Roles, lines: Sequence[PercentileLine]) -> Table:
    head = ("levels", "runs", "operations", *(f"{mark * 100:g} %" for mark in MARKS))
    rows = tuple(
        (
            words.levels(parts.experiment, line.levels) or "all",
            str(line.runs),
            f"{line.count:,}",
            *(show(_at(line, mark), "ns") for mark in MARKS),
        )
        for line in lines
    )
    return Table(head=head, rows=rows)
