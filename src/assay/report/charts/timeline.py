"""One run over time: what the application did, what the devices did, memory and processors, in aligned panels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from assay.records import Judged, Observations, Phase, Series
from assay.report import words
from assay.report.charts.figure import Figure, Panel, Table, end_labels
from assay.report.charts.theme import Spec, end_text, frame, label_room, series_colours
from assay.report.quantities import NARROW, in_scale, scale_for

HEIGHT = 104
STEPS = 160
"""Most points of a line; longer series are averaged into so many equal steps of time."""
LOWEST = "L9"
Points = list[tuple[float, float]]
"""(seconds since the phase began, figure)."""


@dataclass(frozen=True, kw_only=True)
class Strip:
    """One panel of the timeline: lines in one unit."""

    title: str
    unit: str
    lines: tuple[tuple[str, Points], ...]
    ceiling: float | None = None


def figures(judged: Judged, observations: Observations) -> tuple[Figure, ...]:
    """One figure for each measured phase of the run that has series."""
    made = []
    for phase in judged.run.phases:
        strips = _strips(phase, [one for one in observations.series if one.phase == phase.name]) if phase.measured else ()
        if strips:
            made.append(_figure(judged, phase, strips))
    return tuple(made)


def _strips(phase: Phase, series: Sequence[Series]) -> tuple[Strip, ...]:
    devices = _rates(phase, series, "block", ("read_bytes", "write_bytes"))
    moved = _rates(phase, series, "application", tuple(f"{name}.bytes" for name in phase.operations))
    counted = _rates(phase, series, "application", tuple(f"{name}.count" for name in phase.operations))
    strips = []
    if any(value for _, points in moved for _, value in points):
        both = tuple((f"application {name.partition('.')[0]}", points) for name, points in moved) + devices
        strips.append(Strip(title="bytes per second", unit="bytes/s", lines=both))
        devices = ()
    else:
        strips.append(Strip(title="operations per second", unit="1/s", lines=_named(counted)))
    strips.append(Strip(title="devices, bytes per second", unit="bytes/s", lines=devices))
    strips.append(Strip(title="memory", unit="bytes", lines=_gauges(phase, series, "memory", ("dirty_bytes", "writeback_bytes"))))
    shares = _gauges(phase, series, "cpu", ("user_share", "system_share", "iowait_share", "steal_share"))
    strips.append(Strip(title="processors", unit="share", lines=shares, ceiling=1.0))
    return tuple(strip for strip in strips if any(points for _, points in strip.lines))


def _named(lines: Sequence[tuple[str, Points]]) -> tuple[tuple[str, Points], ...]:
    return tuple((name.partition(".")[0], points) for name, points in lines)


def _rates(phase: Phase, series: Sequence[Series], layer: str, metrics: tuple[str, ...]) -> tuple[tuple[str, Points], ...]:
    """Cumulative counters as rates, one line a metric; devices one line each, clients summed."""
    lines: list[tuple[str, Points]] = []
    for metric in metrics:
        found = [one for one in series if (one.layer, one.metric) == (layer, metric) and len(one.at_ns) > 1]
        if layer == "block":
            lines += [
                (f"{one.subject.removeprefix('device:')} {metric.removesuffix('_bytes')}", _rate(phase, [one])) for one in found
            ]
        elif found:
            lines.append((metric, _rate(phase, found)))
    return tuple((name, points) for name, points in lines if layer != "block" or any(value for _, value in points))


def _rate(phase: Phase, found: Sequence[Series]) -> Points:
    """The sum of the counters' slopes on equal steps of time between the first and the last sample."""
    start = max(phase.start_ns, min(one.at_ns[0] for one in found))
    end = min(max(one.at_ns[-1] for one in found), phase.end_ns + (phase.drain_ns or 0))
    steps = min(STEPS, max(len(one.at_ns) for one in found) - 1)
    if end <= start or steps < 1:
        return []
    edges = [start + (end - start) * step / steps for step in range(steps + 1)]
    totals = [sum(_at(one, edge) for one in found) for edge in edges]
    return [
        ((edges[i + 1] - phase.start_ns) / 1e9, max(0.0, totals[i + 1] - totals[i]) / (edges[i + 1] - edges[i]) * 1e9)
        for i in range(steps)
    ]


def _at(one: Series, when: float) -> float:
    """The counter at a time, by straight lines between its samples."""
    from bisect import bisect_left

    index = bisect_left(one.at_ns, when)
    if index == 0:
        return one.value[0]
    if index >= len(one.at_ns):
        return one.value[-1]
    before, after = one.at_ns[index - 1], one.at_ns[index]
    part = (when - before) / (after - before) if after > before else 1.0
    return one.value[index - 1] + part * (one.value[index] - one.value[index - 1])


def _gauges(phase: Phase, series: Sequence[Series], layer: str, metrics: tuple[str, ...]) -> tuple[tuple[str, Points], ...]:
    lines = []
    for metric in metrics:
        for one in series:
            if (one.layer, one.metric) != (layer, metric) or not len(one.at_ns):
                continue
            every = max(1, -(-len(one.at_ns) // STEPS))
            points = [
                ((one.at_ns[i] - phase.start_ns) / 1e9, sum(one.value[i : i + every]) / len(one.value[i : i + every]))
                for i in range(0, len(one.at_ns), every)
                if one.at_ns[i] >= phase.start_ns
            ]
            lines.append((metric.removesuffix("_bytes").removesuffix("_share"), points))
    return tuple(lines)


def _figure(judged: Judged, phase: Phase, strips: Sequence[Strip]) -> Figure:
    last = max(points[-1][0] for strip in strips for _, points in strip.lines if points)
    seconds = (phase.end_ns - phase.start_ns) / 1e9
    room = label_room(name for strip in strips for name, _ in strip.lines)
    panels = tuple(_panel(strip, (last, seconds), room, bottom=strip is strips[-1]) for strip in strips)
    drained = " After the dashed line the clock had stopped: the drain." if last > seconds * 1.02 else ""
    return Figure(
        name=f"timeline-{judged.id.replace('/', '-')}-{phase.name}",
        title=f"{phase.name}, run {judged.id} ({words.levels(judged.run.trial.levels) or 'no factors'})",
        caption=f"Means over equal steps of time.{drained}",
        panels=panels,
        table=_table(strips),
        stacked=True,
    )


def _panel(strip: Strip, times: tuple[float, float], room: int, *, bottom: bool) -> Panel:
    last, seconds = times
    values = [value for _, points in strip.lines for _, value in points]
    scale = scale_for(strip.unit, values if strip.ceiling is None else [strip.ceiling])
    top = (strip.ceiling or max(values) * 1.08 or 1.0) / scale.divisor
    rows: list[Spec] = [
        {"x": round(at, 3), "y": float(f"{value / scale.divisor:.4g}"), "s": str(index), "n": name}
        for index, (name, points) in enumerate(strip.lines)
        for at, value in points
    ]
    x: Spec = {
        "type": "quantitative",
        "scale": {"domain": [0, last], "nice": False},
        "axis": {"title": "seconds since the start" if bottom else None, "labels": bottom, "tickCount": 6},
    }
    y: Spec = {
        "type": "quantitative",
        "scale": {"domain": [0, top], "nice": False},
        "axis": {"title": f"{strip.title}{NARROW}({scale.label})", "tickCount": 3, "minExtent": 46, "maxExtent": 46},
    }
    line: Spec = {
        "mark": {"type": "line", "interpolate": "step-before" if strip.unit.endswith("/s") else "linear", "strokeWidth": 1.5},
        "encoding": {
            "x": {**x, "field": "x"},
            "y": {**y, "field": "y"},
            "color": series_colours(),
            "tooltip": [{"field": "n", "title": "what"}, {"field": "x", "title": "s"}, {"field": "y", "title": scale.label}],
        },
    }
    stop: Spec = {
        "data": {"values": [{"x": seconds}]},
        "mark": {"type": "rule", "strokeDash": [3, 3], "color": "var(--axis)"},
        "encoding": {"x": {**x, "field": "x"}},
    }
    ends = [(name, points[-1][1] / scale.divisor) for name, points in strip.lines if points]
    index = {name: number for number, (name, _) in enumerate(strip.lines)}
    placed = end_labels(ends, 0, top, 0.16)
    labels: list[Spec] = [{"v": at, "n": name, "s": str(index[name])} for name, at in placed.items()]
    layers = [line, *([stop] if last > seconds * 1.02 else []), end_text(labels, y)]
    height = HEIGHT + (18 if bottom else 0)
    said = "; ".join(f"{name} up to {in_scale(max(v for _, v in points), scale)}" for name, points in strip.lines if points)
    return Panel(
        heading="",
        spec={**frame(height, layers, room), "data": {"values": rows}},
        height=height,
        description=f"{strip.title} in {scale.label} over time: {said}",
    )


def _table(strips: Sequence[Strip]) -> Table:
    rows = []
    for strip in strips:
        values = [value for _, points in strip.lines for _, value in points]
        scale = scale_for(strip.unit, values)
        for name, points in strip.lines:
            if points:
                numbers = [value for _, value in points]
                rows.append(
                    (
                        strip.title,
                        name,
                        scale.label,
                        in_scale(min(numbers), scale),
                        in_scale(sum(numbers) / len(numbers), scale),
                        in_scale(max(numbers), scale),
                    )
                )
    return Table(head=("panel", "line", "unit", "lowest", "mean", "highest"), rows=tuple(rows))
