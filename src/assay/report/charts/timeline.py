"""Runs over time: what the application did, what the devices did, memory and processors, in aligned panels."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from assay.answer import marks
from assay.answer.scales import NARROW, Scale, in_scale, scale_for
from assay.answer.wording import trends
from assay.answer.wording.labels import noun
from assay.frozen import dataclass
from assay.measures import host_timelines
from assay.measures.timelines import LineTrend, Strip, strips, trend
from assay.records import Experiment, Judged, Observations, Phase
from assay.report.charts.figure import ChartFigure, Panel, Table, end_labels
from assay.report.charts.theme import TINTS, Row, Spec, axis_over, end_text, frame, room, rows_of, tints

HEIGHT = 118
HOSTS = ("application", "sent", "dirty", "writeback", "device")
"""The colours of lines of hosts, in their order; the last one is the target's."""
DRAINED = " At the dashed line the clock stopped; the drain follows."
CHANGED = " At a dotted line the level of a measure changes."
LEAST = 5
"""Phases with fewer points than this on every line have no timeline: there is nothing to see."""


@dataclass(frozen=True, kw_only=True)
class _Column:
    """One run in one phase: its strips, the seconds until the clock stopped."""

    judged: Judged
    strips: tuple[Strip, ...]
    seconds: float
    changes: tuple[float, ...] = ()
    """When the level of a figure changes, in seconds since the phase began."""

    @property
    def last(self) -> float:
        """The end of the axis of time: the last sample, not before the clock stopped."""
        return max([self.seconds, *(points[-1][0] for strip in self.strips for _, points in strip.lines if points)])

    @property
    def drains(self) -> bool:
        """Whether there is enough after the clock's stop to be seen."""
        return self.last > self.seconds * 1.05 + 0.02


@dataclass(frozen=True, kw_only=True)
class _Shared:
    """What the panels of a row share: scale, top of the axis, the longest label of the figure."""

    scale: Scale
    top: float
    longest: str
    bottom: bool


def figures(experiment: Experiment, runs: Sequence[tuple[Judged, Observations]]) -> tuple[ChartFigure, ...]:
    """One figure for each measured phase, with a column for each run; the columns share their scales."""
    columns: dict[str, list[_Column]] = {}
    for judged, seen in runs:
        for phase in judged.run.phases:
            here = _strips(judged, phase, seen) if phase.measured else ()
            if any(len(points) >= LEAST for strip in here for _, points in strip.lines):
                length = phase.lasted_ns / 1e9
                one = _Column(judged=judged, strips=here, seconds=length, changes=changes(judged, phase))
                columns.setdefault(phase.name, []).append(one)
    return tuple(_figure(experiment, name, found) for name, found in columns.items())


def _strips(judged: Judged, phase: Phase, seen: Observations) -> tuple[Strip, ...]:
    if judged.run.is_spread:
        return host_timelines.strips(judged.run, phase, seen)
    return strips(phase, [one for one in seen.series if one.phase == phase.name])


def changes(judged: Judged, phase: Phase) -> tuple[float, ...]:
    """When the level of a measure of this phase changes by what matters, in seconds since it began, each once."""
    here = (name for name in judged.courses if name.startswith(f"{phase.workload}."))
    found = (judged.courses[name] for name in here if name.split(".", 2)[1] in phase.operations)
    return tuple(sorted({round((one.at_ns - course.start_ns) / 1e9, 3) for course in found for one in course.changes}))


def _figure(experiment: Experiment, name: str, columns: Sequence[_Column]) -> ChartFigure:
    drained, changed = (any(column.drains for column in columns), any(column.changes for column in columns))
    return ChartFigure(
        name=f"timeline-{name}",
        title=name,
        caption=_shows(experiment, name, columns),
        alone=f"Means over equal steps of time.{DRAINED if drained else ''}{CHANGED if changed else ''}",
        panels=tuple(panel for column in columns for panel in _column(experiment, column, _shared(columns, column))),
        table=_table(columns),
        stacked=True,
        seconds=max(column.seconds for column in columns),
    )


def _shows(experiment: Experiment, phase: str, columns: Sequence[_Column]) -> str:
    """How the application's rates go within the run; empty where no line is long enough."""
    operations = dict.fromkeys(
        name for column in columns for one in column.judged.run.phases if one.name == phase for name in one.operations
    )
    return " ".join(
        text
        for operation in operations
        if (
            text := trends.rates(
                noun(operation), {levels: one for column in columns for levels, one in _trends(experiment, column, operation)}
            )
        )
    )


def _trends(experiment: Experiment, column: _Column, operation: str) -> Iterator[tuple[str, LineTrend]]:
    """The trend of an operation in one column, by its levels."""
    levels = marks.levels(experiment, column.judged.run.trial.levels) or column.judged.id
    for strip in column.strips[:1]:
        for name, points in strip.lines:
            found = trend(points, column.seconds) if name in (operation, f"application {operation}") else None
            if found is not None:
                yield levels, found


def _shared(columns: Sequence[_Column], column: _Column) -> Mapping[str, _Shared]:
    """By the strip's title: what it shares with the same strip of the other columns."""
    longest = max((name for one in columns for strip in one.strips for name, _ in strip.lines), key=len)
    made = {}
    for strip in column.strips:
        alike = [other for one in columns for other in one.strips if other.title == strip.title]
        top = strip.ceiling or max(value for other in alike for value in other.values) * 1.08 or 1.0
        scale = scale_for(strip.unit, [top])
        bottom = strip is column.strips[-1]
        made[strip.title] = _Shared(scale=scale, top=top / scale.divisor, longest=longest, bottom=bottom)
    return made


def _column(experiment: Experiment, column: _Column, shared: Mapping[str, _Shared]) -> tuple[Panel, ...]:
    heading_text = f"{marks.levels(experiment, column.judged.run.trial.levels)} · run {column.judged.id}".removeprefix(" · ")
    return tuple(
        _panel(column, strip, shared[strip.title], heading_text if index == 0 else "")
        for index, strip in enumerate(column.strips)
    )


def _panel(column: _Column, strip: Strip, shared: _Shared, heading: str) -> Panel:
    colours = _colours(strip, column.judged.run.load_hosts)
    rows: list[Row] = [
        {"x": round(at, 3), "y": float(f"{value / shared.scale.divisor:.4g}"), "k": colours[name], "n": name}
        for name, points in strip.lines
        for at, value in points
    ]
    axis: Spec = {"title": "seconds since the start" if shared.bottom else None, "labels": shared.bottom, "tickCount": 5}
    domain = [0, round(column.last, 3)]
    x: Spec = {"field": "x", "type": "quantitative", "scale": {"domain": domain, "nice": False}, "axis": axis}
    unit = f"{NARROW}({shared.scale.label})" if shared.scale.label else ""
    y: Spec = axis_over([0, shared.top], title=f"{strip.title}{unit}", format=",~r", tickCount=3, minExtent=46, maxExtent=46)
    tip: list[Spec] = [
        {"field": "n", "title": "what", "type": "nominal"},
        {"field": "x", "title": "s"},
        {"field": "y", "title": shared.scale.label or strip.title},
    ]
    line: Spec = {
        "mark": {"type": "line", "interpolate": "step-after" if strip.steps else "linear", "strokeWidth": 1.5},
        "encoding": {
            "x": x,
            "y": {**y, "field": "y"},
            "color": tints(),
            "detail": {"field": "n", "type": "nominal"},
            "tooltip": tip,
        },
    }
    height = HEIGHT + (26 if shared.bottom else 0)
    layers = [line, *_rules(column, x), end_text(_labels(strip, shared, colours), y, tints()), room(shared.longest)]
    peaks = "; ".join(
        f"{name} up to {in_scale(max(v for _, v in points), shared.scale)}" for name, points in strip.lines if points
    )
    changed = f"; levels change at {', '.join(f'{at:.3g} s' for at in column.changes)}" if column.changes else ""
    return Panel(
        heading=heading,
        spec={**frame(height, layers), "data": rows_of(rows)},
        height=height,
        description=f"{strip.title} in {shared.scale.label} over time: {peaks}{changed}",
    )


def stands_for(name: str) -> str:
    """What decides the colour of a line: its first word where it is known, else the application or a device."""
    first = name.partition(" ")[0]
    if first in TINTS:
        return first
    last = name.rpartition(" ")[2]
    if last in ("sent", "received"):
        return last
    return "device" if name.endswith((" read", " write")) else "application"


def _rules(column: _Column, x: Spec) -> list[Spec]:
    """Mark through all strips when the clock stopped, if something follows it, and when the level of a measure changes."""
    stop = {"type": "rule", "strokeDash": [3, 3], "color": "var(--axis)"}
    change = {"type": "rule", "strokeDash": [1, 3], "strokeWidth": 1.5, "color": "var(--alarm)"}
    found = (((column.seconds,) if column.drains else (), stop), (column.changes, change))
    return [
        {"data": {"values": [{"x": at} for at in times]}, "mark": mark, "encoding": {"x": x}} for times, mark in found if times
    ]


def _colours(strip: Strip, load: Sequence[str]) -> Mapping[str, str]:
    """What each line stands for; lines of hosts by their order, those of the target's hosts as its devices."""
    if not strip.hosts:
        return {name: stands_for(name) for name, _ in strip.lines}
    names = [name for name, _ in strip.lines]
    mine = [name for name in names if name in load or " " in name]
    return {name: HOSTS[mine.index(name)] if name in mine else HOSTS[-1] for name in names}


def _labels(strip: Strip, shared: _Shared, colours: Mapping[str, str]) -> list[Row]:
    ends = [(name, points[-1][1] / shared.scale.divisor) for name, points in strip.lines if points]
    placed = end_labels(ends, 0, shared.top, 0.2)
    return [{"v": at, "n": name, "k": colours[name]} for name, at in placed.items()]


def _table(columns: Sequence[_Column]) -> Table:
    rows = []
    for column in columns:
        for strip in column.strips:
            scale = scale_for(strip.unit, strip.values)
            for name, points in strip.lines:
                numbers = [value for _, value in points]
                figures_ = (min(numbers), sum(numbers) / len(numbers), max(numbers))
                rows.append((column.judged.id, strip.title, name, scale.label, *(in_scale(value, scale) for value in figures_)))
    return Table(head=("run", "panel", "line", "unit", "lowest", "mean", "highest"), rows=tuple(rows))
