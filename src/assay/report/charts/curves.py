"""Time per operation over the number of objects, with the number of active clients below, on one axis of x."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from assay.answer import marks
from assay.answer.scales import NARROW, Scale, in_scale, scale_for
from assay.frozen import dataclass
from assay.records import Outcome, Results, Value
from assay.report.charts.figure import ChartFigure, Panel, Table, end_labels
from assay.report.charts.latency import MERGED
from assay.report.charts.roles import Key, Roles, along, heading, in_order, roles
from assay.report.charts.theme import Row, Spec, axis_over, end_text, frame, room, rows_of, series_colours

HEIGHT = 200
BELOW = 100
POINTS = 3000
"""Points of all curves of one figure together; above it every nth point of each curve is drawn."""
TABLE_ROWS = 12
HOLLOW = " Hollow points: fewer than all clients were active, so the point supports no crossing."


@dataclass(frozen=True, kw_only=True)
class Curve:
    """Time per operation of one run over the number of objects that exist, with the clients active at each point.

    The sequences have equal lengths. Points with fewer active than all clients are drawn hollow.
    """

    run: str
    """`0007/1`."""
    workload: str
    operation: str
    objects: tuple[float, ...]
    time_per_operation_ns: tuple[float, ...]
    active_clients: tuple[int, ...]
    clients: int


@dataclass(frozen=True, kw_only=True)
class _Drawing:
    """What all panels of a figure share."""

    roles: Roles
    levels: Mapping[str, Mapping[str, Value]]
    scale: Scale
    top: float
    most: int
    step: int
    longest: str
    """The longest label, for which all panels keep room."""


def figures(results: Results, curves: Sequence[Curve]) -> tuple[ChartFigure, ...]:
    """One figure for each operation of each workload that has a curve."""
    levels = {judged.id: judged.run.trial.levels for judged in results.runs}
    known = [curve for curve in curves if curve.run in levels and curve.objects]
    keys = list(dict.fromkeys((curve.workload, curve.operation) for curve in known))
    return tuple(_figure(results, levels, [c for c in known if (c.workload, c.operation) == key]) for key in keys)


def _figure(results: Results, levels: Mapping[str, Mapping[str, Value]], curves: Sequence[Curve]) -> ChartFigure:
    times = [value for curve in curves for value in curve.time_per_operation_ns]
    scale = scale_for("ns", times)
    parts = roles(results.experiment)
    drawing = _Drawing(
        roles=parts,
        levels=levels,
        scale=scale,
        top=max(times) / scale.divisor * 1.05,
        most=max(curve.clients for curve in curves),
        longest=max((parts.name(levels[curve.run]) for curve in curves), key=len),
        step=max(1, -(-sum(len(curve.objects) for curve in curves) // POINTS)),
    )
    groups: dict[Key, list[Curve]] = {}
    for curve in curves:
        groups.setdefault(along(drawing.roles, levels[curve.run]), []).append(curve)
    first = curves[0]
    phases = [phase for one in results.runs if one.id in levels for phase in one.run.phases if phase.workload == first.workload]
    drawn, finished = len({curve.run for curve in curves}), sum(one.run.outcome is Outcome.FINISHED for one in results.runs)
    some = f" ({drawn} of {finished} runs, evenly spaced in their order)" if finished > MERGED else ""
    thinned = f" Every {drawing.step}th point is drawn." if drawing.step > 1 else ""
    return ChartFigure(
        name=f"curve-{first.workload}-{first.operation}",
        title=f"{marks.operation(first.workload, first.operation)}: time per operation",
        caption=f"Each line is a run{some}.{HOLLOW if drawing.most > 1 else ''}{thinned}",
        panels=tuple(panel for key in in_order(drawing.roles, groups) for panel in _pair(drawing, key, groups[key])),
        table=_table(drawing, curves),
        stacked=True,
        seconds=max((one.lasted_ns / 1e9 for one in phases if first.operation in one.operations), default=None),
    )


def _pair(drawing: _Drawing, key: Key, curves: Sequence[Curve]) -> tuple[Panel, ...]:
    last = max(curve.objects[-1] for curve in curves)
    x: Spec = axis_over([0, last], "x", title=None, labels=False, format=",d", tickCount=4)
    where = heading(drawing.roles.experiment, key)
    description = f"Time per operation over objects, {marks.count(len(curves), 'run')}. {where}"
    above = _times(drawing, curves, x)
    if drawing.most == 1:
        alone = _times(drawing, curves, {**x, "axis": {"title": "objects", "format": ",d", "tickCount": 4}})
        return (Panel(heading=where, spec=alone, height=HEIGHT, description=description),)
    below = _active(drawing, curves, {**x, "axis": {"title": "objects", "format": ",d", "tickCount": 4, "labelFlush": True}})
    return (
        Panel(heading=where, spec=above, height=HEIGHT, description=description),
        Panel(heading="", spec=below, height=BELOW, description=f"Active clients over objects. {where}"),
    )


def _series(drawing: _Drawing, curve: Curve) -> str:
    return str(drawing.roles.colour_index(drawing.levels[curve.run]))


def _points(drawing: _Drawing, curve: Curve) -> list[Row]:
    series = _series(drawing, curve)
    triples = zip(curve.objects, curve.time_per_operation_ns, curve.active_clients, strict=True)
    return [
        {
            "x": objects,
            "y": float(f"{time / drawing.scale.divisor:.4g}"),
            "s": series,
            "r": curve.run,
            "a": active,
            "f": int(active >= curve.clients),
        }
        for objects, time, active in list(triples)[:: drawing.step]
    ]


def _changes(drawing: _Drawing, curve: Curve) -> list[Row]:
    """Where the number of active clients changes, and the last point."""
    pairs = list(zip(curve.objects, curve.active_clients, strict=True))
    kept = [pair for index, pair in enumerate(pairs) if index in (0, len(pairs) - 1) or pair[1] != pairs[index - 1][1]]
    series = _series(drawing, curve)
    return [{"x": objects, "a": active, "s": series, "r": curve.run} for objects, active in kept]


def _times(drawing: _Drawing, curves: Sequence[Curve], x: Spec) -> Spec:
    y: Spec = axis_over([0, drawing.top], title=f"{drawing.scale.label} per operation", format=",~r", minExtent=42, maxExtent=42)
    both: Spec = {"x": x, "y": {**y, "field": "y"}, "detail": {"field": "r", "type": "nominal"}}
    line: Spec = {
        "mark": {"type": "line", "strokeWidth": 1.2, "opacity": 0.6},
        "encoding": {**both, "color": series_colours()},
    }
    hollow: Spec = {
        "transform": [{"filter": "datum.f === 0"}],
        "mark": {"type": "point", "size": 22, "strokeWidth": 1.1, "fill": "var(--paper)"},
        "encoding": {
            **both,
            "stroke": series_colours(),
            "tooltip": [
                {"field": "r", "title": "run", "type": "nominal"},
                {"field": "x", "title": "objects", "format": ",d"},
                {"field": "y", "title": drawing.scale.label},
                {"field": "a", "title": "active clients"},
            ],
        },
    }
    rows = [row for curve in curves for row in _points(drawing, curve)]
    layers = [line, hollow, end_text(_labels(drawing, curves), y), room(drawing.longest)]
    return {**frame(HEIGHT, layers), "data": rows_of(rows)}


def _labels(drawing: _Drawing, curves: Sequence[Curve]) -> list[Row]:
    """The names of the series at the mean of their runs' last points."""
    ends: dict[str, list[float]] = {}
    colours: dict[str, str] = {}
    for curve in curves:
        name = drawing.roles.name(drawing.levels[curve.run])
        ends.setdefault(name, []).append(curve.time_per_operation_ns[-1] / drawing.scale.divisor)
        colours[name] = _series(drawing, curve)
    placed = end_labels([(name, sum(last) / len(last)) for name, last in ends.items() if name], 0, drawing.top, 0.1)
    return [{"v": at, "n": name, "s": colours[name]} for name, at in placed.items()]


def _active(drawing: _Drawing, curves: Sequence[Curve], x: Spec) -> Spec:
    y: Spec = axis_over(
        [0, drawing.most], "a", title="active clients", values=[0, drawing.most], format="d", minExtent=42, maxExtent=42
    )
    line: Spec = {
        "mark": {"type": "line", "interpolate": "step-after", "strokeWidth": 1.2, "opacity": 0.6},
        "encoding": {"x": x, "y": y, "color": series_colours(), "detail": {"field": "r", "type": "nominal"}},
    }
    rows = [row for curve in curves for row in _changes(drawing, curve)]
    return {**frame(BELOW, [line, room(drawing.longest)]), "data": rows_of(rows)}


def _table(drawing: _Drawing, curves: Sequence[Curve]) -> Table:
    """Each run at a dozen places of its curve, at four where there are many runs."""
    rows = []
    for curve in curves:
        every = max(1, -(-len(curve.objects) // (TABLE_ROWS if len(curves) <= 40 else 4)))
        points = list(zip(curve.objects, curve.time_per_operation_ns, curve.active_clients, strict=True))[every - 1 :: every]
        rows.append(
            (
                curve.run,
                marks.levels(drawing.roles.experiment, drawing.levels[curve.run]),
                "  ".join(
                    f"{objects:,.0f}: {in_scale(time, drawing.scale)}{'' if active >= curve.clients else f' ({active} active)'}"
                    for objects, time, active in points
                ),
            )
        )
    return Table(head=("run", "levels", f"objects: time per operation{NARROW}({drawing.scale.label})"), rows=tuple(rows))
