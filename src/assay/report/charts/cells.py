"""The figure of a measure: every run as a dot, the estimate with its interval, A and B together, zero on the axis."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from assay.answer import marks
from assay.answer.scales import NARROW, Scale, after, axis_title, in_scale, scale_for, show, show_interval, show_range
from assay.answer.wording import trends
from assay.frozen import dataclass
from assay.records import Cell, Conclusion, Estimate, Experiment, Measure, Requirement, RequirementKind, Results, VerdictState
from assay.report.charts import dots, heatmap
from assay.report.charts.figure import ChartFigure, Panel, Table, end_labels
from assay.report.charts.roles import Key, Roles, heading, in_order, laid, nearest, positions, roles
from assay.report.charts.theme import Row


@dataclass(frozen=True, kw_only=True)
class Dot:
    """One run in one cell: its value, whether it counts, its verdict."""

    run: str
    value: float
    state: VerdictState
    excluded: str | None


BEYOND = 1.6
"""An interval is drawn up to so many times the largest run: the runs must not be pressed into a corner."""
BELIEVED = frozenset({*VerdictState} - {VerdictState.INVALID})
"""Verdicts of a comparison that says something."""
Group = Sequence[tuple[Cell, tuple[Dot, ...]]]
"""The cells of one panel with their runs."""


def runs_of(results: Results, cell: Cell) -> tuple[Dot, ...]:
    """The runs of a cell that have a value, those that do not count as well."""
    found = []
    for judged in results.runs:
        verdict = judged.verdicts.get(cell.measure)
        if verdict is None or any(judged.run.trial.levels.get(path) != level for path, level in cell.levels.items()):
            continue
        value = cell.values.get(judged.id, verdict.value)
        why = cell.excluded.get(judged.id)
        excluded = marks.exclusion(why) if why else None if judged.id in cell.values else "does not count"
        if value is not None:
            found.append(Dot(run=judged.id, value=value, state=verdict.state, excluded=excluded))
    return tuple(found)


def figure(results: Results, measure: Measure) -> ChartFigure | None:
    """The picture of one measure, None where no run has a value: a map over a grid of two numeric factors, else dots."""
    cells = [cell for cell in results.cells if cell.measure == measure.name]
    shown = [(cell, runs_of(results, cell)) for cell in cells]
    values = [dot.value for _, here in shown for dot in here]
    if not values:
        return None
    axis = _axis(results, measure, cells, values)
    grid = heatmap.grid(results.experiment)
    panels = _panels(axis, shown) if grid is None else heatmap.panels(results, cells, grid, axis.scale)
    dips = [one for one in results.dips if one.measure == measure.name]
    named_dips = heatmap.named(results.experiment, dips)
    seen = "" if grid is None else f"In {axis.scale.label or 'numbers'}. {heatmap.SEEN}"
    return ChartFigure(
        name=f"measure-{measure.name}",
        title=marks.measure(measure),
        alone=_drawn_as(cells, grid),
        caption=" ".join(
            part for part in (_apart(results, cells), _better(measure), _beyond(cells, grid), seen, named_dips) if part
        ),
        panels=panels if len(values) > 1 else (),
        table=_table(shown, axis.scale, axis.roles),
        wide=grid is not None,
        lone=len(cells) == 1,
    )


def _axis(results: Results, measure: Measure, cells: Sequence[Cell], values: Sequence[float]) -> _Axis:
    """The axis of the figure, with the limits that are asked of it."""
    unit = next((one.unit for cell in cells if (one := cell.estimate or cell.unfiltered)), "")
    bounds = _bounds(results.experiment.requirements, measure, max(values))
    highs = [cell.estimate.high or 0 for cell in cells if cell.estimate]
    tops = [*values, *(min(high, BEYOND * max(values)) for high in highs), *(bound.bound for bound in bounds)]
    scale = scale_for(unit, tops)
    return _Axis(scale=scale, top=max(tops) * 1.06 or 1.0, bounds=bounds, roles=laid(roles(results.experiment)))


def _panels(axis: _Axis, shown: Group) -> tuple[Panel, ...]:
    """Dots and intervals, a panel for each combination of the factors that are neither series nor axis."""
    groups: dict[Key, list[tuple[Cell, tuple[Dot, ...]]]] = {}
    for cell, here in shown:
        groups.setdefault(axis.roles.panel_levels(cell.levels), []).append((cell, here))
    draw = _upright if axis.roles.along else _lying
    return tuple(draw(axis, groups[key], heading(axis.roles.experiment, key)) for key in in_order(axis.roles, groups))


@dataclass(frozen=True, kw_only=True)
class _Axis:
    scale: Scale
    top: float
    bounds: tuple[Requirement, ...]
    roles: Roles

    def figure(self, value: float) -> float:
        """The figure in the unit of the axis, as exactly as a picture needs it."""
        return float(f"{value / self.scale.divisor:.5g}")

    def shown(self, value: float) -> str:
        """The figure with its unit."""
        return in_scale(value, self.scale) + after(self.scale.label)

    def plot(self, means: Sequence[Row], runs: Sequence[Row]) -> dots.Plot:
        """All that is drawn in one panel."""
        limits: list[Row] = [{"v": self.figure(one.bound), "t": f"required: {marks.bound(one.text)}"} for one in self.bounds]
        return dots.Plot(means=means, runs=runs, limits=limits, top=self.figure(self.top), unit=axis_title(self.scale.label))


def _bounds(requirements: Iterable[Requirement], measure: Measure, largest: float) -> tuple[Requirement, ...]:
    """The limits that can be drawn without pressing the dots into a corner."""
    return tuple(
        one
        for one in requirements
        if one.measure == measure.name and one.kind is not RequirementKind.NOT_WORSE_THAN and one.bound <= 3 * largest
    )


def _apart(results: Results, cells: Sequence[Cell]) -> str:
    """The highest and the lowest estimate, as far as they differ from the rest; empty where there are not two."""
    known = sorted((cell for cell in cells if cell.estimate), key=lambda cell: cell.estimate.value if cell.estimate else 0.0)
    if len(known) < 2:
        return ""
    lowest, highest = (
        (marks.levels(results.experiment, cell.levels), show(one.value, one.unit))
        for cell in (known[0], known[-1])
        if (one := cell.estimate)
    )
    low, high = (cell.estimate.value if cell.estimate else 0.0 for cell in (known[0], known[-1]))
    if low <= 0:
        return ""
    if not _differ(results, known[0], known[-1]):
        return trends.alike(lowest, highest)
    tops = all(_differ(results, one, known[-1]) for one in known[:-1])
    bottoms = all(_differ(results, known[0], one) for one in known[1:])
    unclear = [name for name, is_clear in (("highest", tops), ("lowest", bottoms)) if not is_clear]
    return trends.apart(lowest, highest, high / low, unclear)


def _differ(results: Results, lower: Cell, upper: Cell) -> bool:
    """Whether two cells differ: by their comparison, or where nobody compared them by intervals that do not overlap."""
    for one in results.comparisons:
        if one.measure != lower.measure:
            continue
        arms = ({**one.within, one.factor: level} for level in (one.baseline, one.candidate))
        ours = [arm.items() <= cell.levels.items() for arm in arms for cell in (lower, upper)]
        if ours in ([True, False, False, True], [False, True, True, False]):
            is_valid = one.id not in results.comparison_verdicts or results.comparison_verdicts[one.id].state in BELIEVED
            return is_valid and one.conclusion in (Conclusion.MATTERS, Conclusion.IMMATERIAL)
    below, above = lower.estimate, upper.estimate
    return bool(below and above and below.high is not None and above.low is not None and below.high < above.low)


def _better(measure: Measure) -> str:
    side = marks.better(measure.figure)
    return f"{side.capitalize()}." if side else ""


def _beyond(cells: Sequence[Cell], grid: heatmap.Grid | None) -> str:
    largest = max((cell.high or 0.0 for cell in cells), default=0.0)
    wide = any(cell.estimate and (cell.estimate.high or 0.0) > BEYOND * largest > 0 for cell in cells)
    return "An interval that reaches the edge goes on beyond it." if wide and grid is None else ""


def _drawn_as(cells: Sequence[Cell], grid: heatmap.Grid | None) -> str:
    """What tick, bar and line of a measure are; empty where no run counts."""
    method = next((cell.estimate for cell in cells if cell.estimate), None)
    if method is None:
        return ""
    ends = " Thin line: smallest to largest run." if grid is None else ""
    if all(cell.estimate is None or cell.estimate.low is None for cell in cells):
        return f"{'Tick' if grid is None else 'Cell'}: {marks.method(method.method)}; too few runs for an interval.{ends}"
    bar = "Bar:" if grid is None else "±: half the"
    return f"{bar} {100 * method.confidence:g}{NARROW}% interval, {marks.method(method.method)}.{ends}"


def _rows(axis: _Axis, group: Group, place: Mapping[int, float], gap: float) -> tuple[list[Row], list[Row]]:
    """Data of the estimates and of the dots; dots stand beside the estimate, in the order of the runs."""
    means: list[Row] = []
    runs: list[Row] = []
    for index, (cell, here) in enumerate(group):
        series = str(axis.roles.colour_index(cell.levels))
        for order, dot in enumerate(here):
            spread = gap * (0.28 + 0.5 * order / (len(here) - 1)) if len(here) > 1 else 0.0
            runs.append(_dot_row(axis, cell, dot, {"p": round(place[index] + spread, 3), "s": series}))
        if cell.estimate is not None:
            means.append(_mean_row(axis, cell, cell.estimate, {"p": round(place[index], 3), "s": series}))
    return means, runs


def _dot_row(axis: _Axis, cell: Cell, dot: Dot, place: Row) -> Row:
    why = f" · not counted: {dot.excluded}" if dot.excluded else ""
    return {
        **place,
        "v": axis.figure(dot.value),
        "d": dot.state.value if dot.excluded is None else dots.EXCLUDED,
        "t": f"{dot.run} · {marks.levels(axis.roles.experiment, cell.levels)} · {axis.shown(dot.value)} · {dot.state.value}{why}",
    }


def _mean_row(axis: _Axis, cell: Cell, one: Estimate, place: Row) -> Row:
    low, high = (one.low, one.high) if one.low is not None and one.high is not None else (one.value, one.value)
    interval = show_interval(one)
    description = f"{marks.levels(axis.roles.experiment, cell.levels)}: {show(one.value, one.unit)}" + (
        f" ({interval})" if interval else ""
    )
    return {
        **place,
        "v": axis.figure(one.value),
        "l": axis.figure(max(0.0, low)),
        "h": axis.figure(min(high, axis.top)),
        "a": axis.figure(one.value if cell.low is None else cell.low),
        "z": axis.figure(one.value if cell.high is None else cell.high),
        "t": f"{description}, n = {one.n}",
    }


def _upright(axis: _Axis, group: Group, title: str) -> Panel:
    """Levels with an order along x, the figure upward from zero."""
    along = axis.roles.along
    assert along is not None
    at = positions(along.levels)
    count = len(axis.roles.series.levels) if axis.roles.series else 1
    gap = min(0.32, 0.8 * nearest(at.values()) / count)
    place = {
        index: at.get(cell.levels.get(along.path), 0.0) + (axis.roles.colour_index(cell.levels) - (count - 1) / 2) * gap
        for index, (cell, _) in enumerate(group)
    }
    means, runs = _rows(axis, group, place, gap)
    names = {marks.level(axis.roles.experiment, along.path, level): round(value, 4) for level, value in at.items()}
    spec = dots.upright(axis.plot(means, runs), along.path, names, _labels(axis, group, means))
    return Panel(heading=title, spec=spec, height=dots.HEIGHT, description=_described(axis.roles.experiment, group))


def _labels(axis: _Axis, group: Group, means: Sequence[Row]) -> list[Row]:
    """The names of the series at the ends of their lines."""
    ends: dict[str, tuple[float, float, int]] = {}
    estimated = [cell for cell, _ in group if cell.estimate is not None]
    for cell, mean in zip(estimated, means, strict=True):
        name = axis.roles.name(cell.levels)
        at, value = float(mean["p"]), float(mean["v"])
        if name and (name not in ends or at >= ends[name][0]):
            ends[name] = (at, value, axis.roles.colour_index(cell.levels))
    for name, (value, colour) in _uncounted(axis, group).items():
        ends.setdefault(name, (0.0, value, colour))
    placed = end_labels([(name, end[1]) for name, end in ends.items()], 0, axis.top / axis.scale.divisor, 0.09)
    return [{"v": placed[name], "n": name, "s": str(end[2])} for name, end in ends.items()]


def _uncounted(axis: _Axis, group: Group) -> dict[str, tuple[float, int]]:
    """By name of the series: the mean of the last cell's runs and its colour, for series of which no run counts."""
    means = {
        axis.roles.name(cell.levels): (
            axis.figure(sum(dot.value for dot in here) / len(here)),
            axis.roles.colour_index(cell.levels),
        )
        for cell, here in group
        if here
    }
    return {name: mean for name, mean in means.items() if name}


def _lying(axis: _Axis, group: Group, title: str) -> Panel:
    """Levels without an order in rows, the figure to the right from zero."""
    means, runs = _rows(axis, group, {index: float(index) for index in range(len(group))}, 0.5)
    names = [_row_name(axis.roles, cell) for cell, _ in group]
    spec, height = dots.lying(axis.plot(means, runs), names)
    return Panel(heading=title, spec=spec, height=height, description=_described(axis.roles.experiment, group))


def _row_name(parts: Roles, cell: Cell) -> str:
    """The level; a number alone says little: `clients = 2`."""
    if parts.series is None:
        return ""
    level = cell.levels.get(parts.series.path)
    named = isinstance(level, int | float) and not isinstance(level, bool)
    return (f"{parts.series.path.rpartition('.')[2]} = " if named else "") + marks.level(
        parts.experiment, parts.series.path, level
    )


def _described(experiment: Experiment, group: Group) -> str:
    """The picture in a sentence, for readers who do not see it."""
    description = [
        f"{marks.levels(experiment, cell.levels) or 'all runs'}: {show(cell.estimate.value, cell.estimate.unit)}"
        for cell, _ in group
        if cell.estimate is not None
    ]
    values = [dot.value for _, here in group for dot in here]
    unit = next((one.unit for cell, _ in group if (one := cell.estimate or cell.unfiltered)), "")
    return (
        "; ".join(description)
        or f"no run counts; {marks.count(len(values), 'run')}: {show_range(min(values), max(values), unit)}"
    )


def _run_text(dot: Dot, scale: Scale) -> str:
    """A run in the table; its verdict where it is not sound."""
    verdict = "" if dot.state is VerdictState.SOUND else f" {dot.state.value}"
    return f"{dot.run}: {in_scale(dot.value, scale)}{verdict}"


def _truth(one: Estimate, scale: Scale) -> str:
    """The range of what is true; an end that is not known is open."""
    if one.range is None:
        return ""
    low, high = (None if end is None else in_scale(end, scale) for end in (one.range.low, one.range.high))
    return f"{low or 'unknown'} to {high or 'unknown'}"


def _table(shown: Sequence[tuple[Cell, tuple[Dot, ...]]], scale: Scale, parts: Roles) -> Table:
    factors = [factor.path for factor in (parts.series, parts.along, *parts.panels) if factor is not None]
    unit = f"{NARROW}({scale.label})" if scale.label else ""
    bounded = any(cell.estimate is not None and cell.estimate.range is not None for cell, _ in shown)
    truth = ("true value",) if bounded else ()
    head = (*factors, f"estimate{unit}", "interval", *truth, "n", "smallest", "largest", "runs", "not counted")
    rows = []
    for cell, here in shown:
        one = cell.estimate
        runs = ", ".join(_run_text(dot, scale) for dot in here if dot.excluded is None)
        rows.append(
            (
                *(marks.level(parts.experiment, path, cell.levels.get(path)) for path in factors),
                in_scale(one.value if one else None, scale),
                f"{in_scale(one.low, scale)} to {in_scale(one.high, scale)}" if one and one.low is not None else "too few runs",
                *([_truth(one, scale) if one else ""] if bounded else []),
                str(one.n) if one else "0",
                in_scale(cell.low, scale),
                in_scale(cell.high, scale),
                runs,
                "; ".join(f"{run}: {marks.exclusion(why)}" for run, why in cell.excluded.items()),
            )
        )
    return Table(head=head, rows=tuple(rows))
