"""The figure of a measure: every run as a dot, the estimate with its interval, A and B together, zero on the axis."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from assay.records import Cell, Measure, Requirement, RequirementKind, Results, VerdictState
from assay.report import words
from assay.report.charts.figure import Figure, Panel, Table, end_labels
from assay.report.charts.roles import Roles, positions, roles
from assay.report.charts.theme import Spec, end_text, frame, label_room, series_colours
from assay.report.quantities import NARROW, Scale, in_scale, scale_for, show, show_range

HEIGHT = 230
ROW = 58
"""Pixels of a row where the levels have no order to lie along an axis."""


@dataclass(frozen=True, kw_only=True)
class Dot:
    """One run in one cell: its value, whether it counts, its verdict."""

    run: str
    value: float
    state: VerdictState
    excluded: str | None


def dots(results: Results, cell: Cell) -> tuple[Dot, ...]:
    """The runs of a cell that have a value, those that do not count as well."""
    found = []
    for judged in results.runs:
        verdict = judged.verdicts.get(cell.measure)
        if verdict is None or any(judged.run.trial.levels.get(path) != level for path, level in cell.levels.items()):
            continue
        value = cell.values.get(judged.id, verdict.value)
        excluded = cell.excluded.get(judged.id) or (None if judged.id in cell.values else "does not count")
        if value is not None:
            found.append(Dot(run=judged.id, value=value, state=verdict.state, excluded=excluded))
    return tuple(found)


def figure(results: Results, measure: Measure) -> Figure | None:
    """The picture of one measure, None where no run has a value."""
    cells = [cell for cell in results.cells if cell.measure == measure.name]
    shown = [(cell, dots(results, cell)) for cell in cells]
    values = [dot.value for _, here in shown for dot in here]
    if not values:
        return None
    parts = roles(results.experiment)
    unit = next((cell.estimate.unit for cell in cells if cell.estimate), "")
    bounds = _bounds(results.experiment.requirements, measure, max(values))
    tops = [*values, *(cell.estimate.high or 0 for cell in cells if cell.estimate), *(bound.bound for bound in bounds)]
    axis = _Axis(scale=scale_for(unit, tops), top=max(tops) * 1.06 or 1.0, bounds=bounds, roles=parts)
    groups: dict[tuple[tuple[str, object], ...], list[tuple[Cell, tuple[Dot, ...]]]] = {}
    for cell, here in shown:
        groups.setdefault(parts.panel_levels(cell.levels), []).append((cell, here))
    draw = _upright if parts.along else _lying
    panels = tuple(draw(axis, group, ", ".join(f"{path} = {level}" for path, level in key)) for key, group in groups.items())
    return Figure(
        name=f"measure-{measure.name}",
        title=words.figure(measure.figure),
        caption=_caption(measure, cells),
        panels=panels if len(values) > 1 else (),
        table=_table(shown, axis.scale, parts),
    )


@dataclass(frozen=True, kw_only=True)
class _Axis:
    scale: Scale
    top: float
    bounds: tuple[Requirement, ...]
    roles: Roles

    @property
    def domain(self) -> list[float]:
        return [0, self.top / self.scale.divisor]


def _bounds(requirements: Iterable[Requirement], measure: Measure, largest: float) -> tuple[Requirement, ...]:
    """The limits that can be drawn without pressing the dots into a corner."""
    return tuple(
        one
        for one in requirements
        if one.measure == measure.name and one.kind is not RequirementKind.NOT_WORSE_THAN and one.bound <= 3 * largest
    )


def _caption(measure: Measure, cells: Sequence[Cell]) -> str:
    method = next((cell.estimate for cell in cells if cell.estimate), None)
    better = "Lower is better." if words.lower_is_better(measure.figure) else "Higher is better."
    if method is None:
        return better
    if all(cell.estimate is None or cell.estimate.low is None for cell in cells):
        return f"{better} Bar: {method.method}; too few runs for an interval."
    return f"{better} Long tick and bar: estimate with its {method.confidence:.0%} interval ({method.method}); each dot is a run."


def _rows(
    axis: _Axis, group: Sequence[tuple[Cell, tuple[Dot, ...]]], place: dict[int, float], gap: float
) -> tuple[list[Spec], list[Spec]]:
    """Data of the estimates and of the dots; dots stand beside the estimate, in the order of the runs."""
    means: list[Spec] = []
    runs: list[Spec] = []
    for index, (cell, here) in enumerate(group):
        series = axis.roles.colour_index(cell.levels)
        at = place[index]
        for order, dot in enumerate(here):
            spread = gap * (0.28 + 0.5 * order / max(1, len(here) - 1)) if len(here) > 1 else 0.0
            runs.append(
                {
                    "p": round(at + spread, 4),
                    "v": round(dot.value / axis.scale.divisor, 6),
                    "s": str(series),
                    "d": dot.state.value if dot.excluded is None else "excluded",
                    "t": f"{dot.run} · {words.levels(cell.levels)} · {dot.state.value}"
                    + (f" · not counted: {dot.excluded}" if dot.excluded else ""),
                }
            )
        if cell.estimate is not None:
            one = cell.estimate
            divide = axis.scale.divisor
            low, high = (one.low, one.high) if one.low is not None and one.high is not None else (one.value, one.value)
            means.append(
                {
                    "p": round(at, 4),
                    "v": round(one.value / divide, 6),
                    "l": round(max(0.0, low) / divide, 6),
                    "h": round(high / divide, 6),
                    "s": str(series),
                    "t": f"{words.levels(cell.levels)}: {show(one.value, one.unit)} ({show_range(one.low, one.high, one.unit)}), n = {one.n}",
                }
            )
    return means, runs


def _marks(means: list[Spec], runs: list[Spec], place: Spec, value: Spec, across: str, upright: bool) -> list[Spec]:  # noqa: FBT001 - one chart in two directions
    """Dots (shape and filling tell the verdict), intervals and ticks, in either direction."""
    flat, tall = ("x", "y") if upright else ("y", "x")
    states = [state.value for state in VerdictState] + ["excluded"]
    shapes = [words.SHAPES[state] for state in VerdictState] + [words.SHAPES[VerdictState.INVALID]]
    solid = [state.value for state in VerdictState if state not in words.HOLLOW]
    dot: Spec = {
        "data": {"values": runs},
        "mark": {"type": "point", "size": 34, "strokeWidth": 1.4, "opacity": 0.85},
        "encoding": {
            flat: {**place, "field": "p"},
            tall: {**value, "field": "v"},
            "stroke": {"condition": {"test": "datum.d === 'excluded'", "value": "var(--muted)"}, **series_colours()},
            "fill": {
                "condition": {"test": f"indexof({solid}, datum.d) < 0", "value": "transparent"},
                **series_colours(),
            },
            "shape": {"field": "d", "type": "nominal", "legend": None, "scale": {"domain": states, "range": shapes}},
            "tooltip": {"field": "t", "type": "nominal"},
        },
    }
    interval: Spec = {
        "data": {"values": means},
        "mark": {"type": "rule", "strokeWidth": 2.2},
        "encoding": {
            flat: {**place, "field": "p"},
            tall: {**value, "field": "l"},
            f"{tall}2": {"field": "h"},
            "color": series_colours(),
            "tooltip": {"field": "t", "type": "nominal"},
        },
    }
    tick: Spec = {
        "data": {"values": means},
        "mark": {"type": "tick", "orient": across, "thickness": 3, "size": 16, "opacity": 1},
        "encoding": {
            flat: {**place, "field": "p"},
            tall: {**value, "field": "v"},
            "color": series_colours(),
            "tooltip": {"field": "t", "type": "nominal"},
        },
    }
    return [dot, interval, tick]


def _limits(axis: _Axis, value: Spec, upright: bool) -> list[Spec]:  # noqa: FBT001
    tall = "y" if upright else "x"
    layers: list[Spec] = []
    for one in axis.bounds:
        data = {"values": [{"v": one.bound / axis.scale.divisor, "t": f"required: {one.text}"}]}
        layers.append(
            {
                "data": data,
                "mark": {"type": "rule", "strokeDash": [5, 4], "color": "var(--alarm)", "strokeWidth": 1.2},
                "encoding": {tall: {**value, "field": "v"}},
            }
        )
        text: Spec = {"type": "text", "color": "var(--alarm)", "baseline": "bottom", "dy": -3}
        layers.append(
            {
                "data": data,
                "mark": {**text, "align": "left", "x": 4} if upright else {**text, "align": "left", "dx": 3, "y": 0},
                "encoding": {tall: {**value, "field": "v"}, "text": {"field": "t"}},
            }
        )
    return layers


def _upright(axis: _Axis, group: Sequence[tuple[Cell, tuple[Dot, ...]]], heading: str) -> Panel:
    """Levels with an order along x, the figure upward from zero."""
    along = axis.roles.along
    assert along is not None
    at = positions(along.levels)
    count = len(axis.roles.series.levels) if axis.roles.series else 1
    nearest = min((b - a for a, b in zip(sorted(at.values()), sorted(at.values())[1:], strict=False)), default=1.0)
    gap = min(0.32, 0.8 * nearest / count)
    shift = {index: (axis.roles.colour_index(cell.levels) - (count - 1) / 2) * gap for index, (cell, _) in enumerate(group)}
    place = {index: at.get(cell.levels.get(along.path), 0.0) + shift[index] for index, (cell, _) in enumerate(group)}
    means, runs = _rows(axis, group, place, gap)
    ticks = [round(value, 4) for value in at.values()]
    names = dict(zip(ticks, (words.level(level) for level in along.levels), strict=True))
    x: Spec = {
        "type": "quantitative",
        "scale": {"domain": [min(ticks) - 0.35, max(ticks) + 0.45], "nice": False, "zero": False},
        "axis": {
            "values": ticks,
            "labelExpr": " : ".join(f"abs(datum.value - {at}) < 0.01 ? {json.dumps(name)}" for at, name in names.items())
            + " : ''",
            "title": along.path,
        },
    }
    y = _value_axis(axis)
    line: Spec = {
        "data": {"values": means},
        "mark": {"type": "line", "strokeWidth": 1.2, "opacity": 0.55},
        "encoding": {"x": {**x, "field": "p"}, "y": {**y, "field": "v"}, "color": series_colours()},
    }
    labels = _labels(axis, group, means)
    layers = [line, *_limits(axis, y, upright=True), *_marks(means, runs, x, y, "horizontal", upright=True)]
    layers.append(end_text(labels, y))
    right = label_room(str(label["n"]) for label in labels)
    return Panel(heading=heading, spec=frame(HEIGHT, layers, right), height=HEIGHT, description=_described(group))


def _labels(axis: _Axis, group: Sequence[tuple[Cell, tuple[Dot, ...]]], means: Sequence[Spec]) -> list[Spec]:
    """The names of the series at the ends of their lines."""
    ends: dict[str, tuple[float, float, int]] = {}
    estimated = [cell for cell, _ in group if cell.estimate is not None]
    for cell, mean in zip(estimated, means, strict=True):
        name = axis.roles.name(cell.levels)
        at, value = float(str(mean["p"])), float(str(mean["v"]))
        if name and (name not in ends or at >= ends[name][0]):
            ends[name] = (at, value, axis.roles.colour_index(cell.levels))
    placed = end_labels([(name, end[1]) for name, end in ends.items()], 0, axis.domain[1], 0.085)
    return [{"v": placed[name], "n": name, "s": str(end[2])} for name, end in ends.items()]


def _lying(axis: _Axis, group: Sequence[tuple[Cell, tuple[Dot, ...]]], heading: str) -> Panel:
    """Levels without an order in rows, the figure to the right from zero."""
    place = {index: float(index) for index in range(len(group))}
    means, runs = _rows(axis, group, place, 0.5)
    names = [words.level(axis.roles.series_level(cell.levels)) if axis.roles.series else "" for cell, _ in group]
    height = max(1, len(group)) * ROW + 30
    y: Spec = {
        "type": "quantitative",
        "scale": {"domain": [-0.4, len(group) - 0.35], "reverse": True, "nice": False, "zero": False},
        "axis": {
            "values": list(range(len(group))),
            "labelExpr": f"{json.dumps(names)}[datum.value]",
            "title": None,
            "grid": False,
            "labelFontSize": 12,
            "labelColor": "var(--ink)",
            "labelLimit": 120,
        },
    }
    x = _value_axis(axis)
    x["axis"] = {**_axis_of(x), "grid": True, "tickCount": 5, "domain": True}
    layers = [*_limits(axis, x, upright=False), *_marks(means, runs, y, x, "vertical", upright=False)]
    return Panel(heading=heading, spec=frame(height, layers), height=height, description=_described(group))


def _axis_of(encoding: Spec) -> Spec:
    axis = encoding["axis"]
    assert isinstance(axis, dict)
    return axis


def _value_axis(axis: _Axis) -> Spec:
    return {
        "type": "quantitative",
        "scale": {"domain": axis.domain, "nice": False, "zero": True},
        "axis": {"title": axis.scale.label or None, "format": ",~r"},
    }


def _described(group: Sequence[tuple[Cell, tuple[Dot, ...]]]) -> str:
    """The picture in a sentence, for readers who do not see it."""
    said = [
        f"{words.levels(cell.levels) or 'all runs'}: {show(cell.estimate.value, cell.estimate.unit)}"
        for cell, _ in group
        if cell.estimate is not None
    ]
    return "; ".join(said)


def _table(shown: Sequence[tuple[Cell, tuple[Dot, ...]]], scale: Scale, parts: Roles) -> Table:
    factors = [factor.path for factor in (parts.series, parts.along, *parts.panels) if factor is not None]
    unit = f"{NARROW}({scale.label})" if scale.label else ""
    head = (*factors, f"estimate{unit}", "interval", "n", "smallest", "largest", "runs", "not counted")
    rows = []
    for cell, here in shown:
        one = cell.estimate
        runs = ", ".join(f"{dot.run} {in_scale(dot.value, scale)} {dot.state.value}" for dot in here if dot.excluded is None)
        rows.append(
            (
                *(words.level(cell.levels.get(path)) for path in factors),
                in_scale(one.value if one else None, scale),
                f"{in_scale(one.low, scale)} to {in_scale(one.high, scale)}" if one and one.low is not None else "too few runs",
                str(one.n) if one else "0",
                in_scale(cell.low, scale),
                in_scale(cell.high, scale),
                runs,
                "; ".join(f"{run}: {why}" for run, why in cell.excluded.items()),
            )
        )
    return Table(head=head, rows=tuple(rows))
