"""Time per operation over the number of objects, with the number of active clients below, on one axis of x."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from assay.records import Results, Value
from assay.report import words
from assay.report.charts.figure import Figure, Panel, Table, end_labels
from assay.report.charts.roles import Roles, roles
from assay.report.charts.theme import Spec, end_text, frame, label_room, series_colours
from assay.report.inputs import Curve
from assay.report.quantities import NARROW, Scale, in_scale, scale_for

HEIGHT = 200
BELOW = 84
POINTS = 4000
"""Points of all curves of one figure together; above it every nth point of each curve is drawn."""
TABLE_ROWS = 12

Group = tuple[tuple[str, Value], ...]


@dataclass(frozen=True, kw_only=True)
class _Drawing:
    """What all panels of a figure share."""

    roles: Roles
    levels: Mapping[str, Mapping[str, Value]]
    scale: Scale
    top: float
    most: int
    step: int


def figures(results: Results, curves: Sequence[Curve]) -> tuple[Figure, ...]:
    """One figure for each operation of each workload that has a curve."""
    levels = {judged.id: judged.run.trial.levels for judged in results.runs}
    known = [curve for curve in curves if curve.run in levels and curve.objects]
    keys = list(dict.fromkeys((curve.workload, curve.operation) for curve in known))
    return tuple(_figure(results, levels, [c for c in known if (c.workload, c.operation) == key]) for key in keys)


def _figure(results: Results, levels: Mapping[str, Mapping[str, Value]], curves: Sequence[Curve]) -> Figure:
    times = [value for curve in curves for value in curve.time_per_operation_ns]
    scale = scale_for("ns", times)
    drawing = _Drawing(
        roles=roles(results.experiment),
        levels=levels,
        scale=scale,
        top=max(times) / scale.divisor * 1.05,
        most=max(curve.clients for curve in curves),
        step=max(1, -(-sum(len(curve.objects) for curve in curves) // POINTS)),
    )
    groups: dict[Group, list[Curve]] = {}
    for curve in curves:
        groups.setdefault(_group(drawing.roles, levels[curve.run]), []).append(curve)
    first = curves[0]
    thinned = f" Every {drawing.step}th point is drawn." if drawing.step > 1 else ""
    return Figure(
        name=f"curve-{first.workload}-{first.operation}",
        title=f"{first.workload} {first.operation}: time per operation",
        caption="Each line is a run. Hollow points: fewer than all clients were active, so the point supports no crossing."
        + thinned,
        panels=tuple(panel for key, here in groups.items() for panel in _pair(drawing, key, here)),
        table=_table(drawing, curves),
        stacked=True,
    )


def _group(parts: Roles, levels: Mapping[str, Value]) -> Group:
    along = ((parts.along.path, levels.get(parts.along.path)),) if parts.along else ()
    return (*along, *parts.panel_levels(levels))


def _pair(drawing: _Drawing, key: Group, curves: Sequence[Curve]) -> tuple[Panel, Panel]:
    rows = [row for curve in curves for row in _points(drawing, curve)]
    x: Spec = {
        "field": "x",
        "type": "quantitative",
        "scale": {"domain": [0, max(curve.objects[-1] for curve in curves)], "nice": False},
        "axis": {"title": None, "labels": False, "format": ",d"},
    }
    above = _times(drawing, curves, rows, x)
    heading = ", ".join(f"{path} = {words.level(level)}" for path, level in key)
    said = f"Time per operation over objects, {words.count(len(curves), 'run')}. {heading}"
    below = _active(drawing, rows, {**x, "axis": {"title": "objects", "format": ",d"}})
    return (
        Panel(heading=heading, spec=above, height=HEIGHT, description=said),
        Panel(heading="", spec=below, height=BELOW, description=f"Active clients over objects. {heading}"),
    )


def _points(drawing: _Drawing, curve: Curve) -> list[Spec]:
    series = str(drawing.roles.colour_index(drawing.levels[curve.run]))
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


def _times(drawing: _Drawing, curves: Sequence[Curve], rows: list[Spec], x: Spec) -> Spec:
    y: Spec = {
        "type": "quantitative",
        "scale": {"domain": [0, drawing.top], "nice": False},
        "axis": {"title": f"{drawing.scale.label} per operation", "minExtent": 42, "maxExtent": 42},
    }
    both: Spec = {"x": x, "y": {**y, "field": "y"}, "color": series_colours(), "detail": {"field": "r"}}
    line: Spec = {"mark": {"type": "line", "strokeWidth": 1.1, "opacity": 0.45}, "encoding": both}
    point: Spec = {
        "mark": {"type": "point", "size": 13, "strokeWidth": 1},
        "encoding": {
            **{channel: how for channel, how in both.items() if channel != "color"},
            "stroke": series_colours(),
            "fill": {"condition": {"test": "datum.f === 0", "value": "var(--paper)"}, **series_colours()},
            "tooltip": [
                {"field": "r", "title": "run"},
                {"field": "x", "title": "objects", "format": ",d"},
                {"field": "y", "title": drawing.scale.label},
                {"field": "a", "title": "active clients"},
            ],
        },
    }
    ends: dict[str, tuple[list[float], int]] = {}
    for curve in curves:
        levels = drawing.levels[curve.run]
        name = drawing.roles.name(levels)
        ends.setdefault(name, ([], drawing.roles.colour_index(levels)))[0].append(
            curve.time_per_operation_ns[-1] / drawing.scale.divisor
        )
    ends.pop("", None)
    placed = end_labels([(name, sum(last) / len(last)) for name, (last, _) in ends.items()], 0, drawing.top, 0.09)
    labels: list[Spec] = [{"v": placed[name], "n": name, "s": str(index)} for name, (_, index) in ends.items()]
    spec = frame(HEIGHT, [line, point, end_text(labels, y)], label_room(ends))
    return {**spec, "data": {"values": rows}}


def _active(drawing: _Drawing, rows: list[Spec], x: Spec) -> Spec:
    y: Spec = {
        "field": "a",
        "type": "quantitative",
        "scale": {"domain": [0, drawing.most], "nice": False},
        "axis": {
            "title": "active clients",
            "values": sorted({0, drawing.most}),
            "format": "d",
            "minExtent": 42,
            "maxExtent": 42,
        },
    }
    line: Spec = {
        "mark": {"type": "line", "interpolate": "step-before", "strokeWidth": 1.2, "opacity": 0.7},
        "encoding": {"x": x, "y": y, "color": series_colours(), "detail": {"field": "r"}},
    }
    kept: list[Spec] = [{name: row[name] for name in ("x", "a", "s", "r")} for row in rows]
    names = {drawing.roles.name(levels) for levels in drawing.levels.values()}
    return {**frame(BELOW, [line], label_room(names)), "data": {"values": kept}}


def _table(drawing: _Drawing, curves: Sequence[Curve]) -> Table:
    """Each run at a dozen places of its curve."""
    rows = []
    for curve in curves:
        every = max(1, -(-len(curve.objects) // TABLE_ROWS))
        points = list(zip(curve.objects, curve.time_per_operation_ns, curve.active_clients, strict=True))[every - 1 :: every]
        rows.append(
            (
                curve.run,
                words.levels(drawing.levels[curve.run]),
                "  ".join(
                    f"{objects:,.0f}: {in_scale(time, drawing.scale)}{'' if active >= curve.clients else f' ({active} active)'}"
                    for objects, time, active in points
                ),
            )
        )
    return Table(head=("run", "levels", f"objects: time per operation{NARROW}({drawing.scale.label})"), rows=tuple(rows))
