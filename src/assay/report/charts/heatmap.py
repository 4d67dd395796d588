"""A measure over a grid of two numeric factors: each cell with its estimate and half interval, coloured by size.

The ramp goes by logarithm, for figures are compared as ratios, and spans a factor of two at least: noise is not drawn as relief.
A cell whose runs do not count is hollow; one whose runs are not all SOUND carries the mark of their worst verdict.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from assay.answer import marks
from assay.answer.doubts import verdicts_of
from assay.answer.scales import Scale, after, in_scale, show, show_interval
from assay.answer.trust import own_state
from assay.frozen import dataclass
from assay.measures import digits, percent
from assay.records import Cell, Dip, Estimate, Experiment, Factor, Results, VerdictState
from assay.report.charts.dots import filling, shape
from assay.report.charts.figure import Panel
from assay.report.charts.roles import Key, Roles, heading, in_order, numeric
from assay.report.charts.theme import Row, Spec, frame, rows_of
from assay.units import MOST_SHARE

LEAST = 3
"""Levels along x, and of the compared factor: two arms that are compared are read better as two lines."""
STEPS = 7
"""Colours of the ramp."""
MIDDLE = 4
"""The step whose letters are dark on a light page and on a dark one."""
HOLLOW = "transparent"
SPAN = 2.0
"""The ramp spans this factor at least."""
CELL = 50
"""Pixels of a row."""
SEEN = "The stronger the colour, the higher the figure; dips are outlined; a hollow cell has no valid run."
CELL_WIDTH = "bandwidth('x')"
ROOMY, TIGHT = 74, 52
"""Pixels of a cell in which the figure stands with its unit, and in which it stands at all at the usual size."""


@dataclass(frozen=True, kw_only=True)
class Grid:
    """The two factors of the map, and those that make small multiples."""

    x: Factor
    y: Factor
    panels: tuple[Factor, ...]
    experiment: Experiment


@dataclass(frozen=True, kw_only=True)
class Ramp:
    """Which colour a value takes: by logarithm from low to high."""

    low: float
    high: float

    def step(self, value: float) -> int:
        """0..STEPS-1."""
        share = math.log(value / self.low) / math.log(self.high / self.low) if value > 0 else 0.0
        return min(STEPS - 1, max(0, int(share * STEPS)))


def grid(experiment: Experiment) -> Grid | None:
    """The map's factors: the two numeric ones with most levels, the one with more along x; None where there are not two."""
    varying = [factor for factor in experiment.factors if len(factor.levels) > 1]
    fit = [one for one in varying if numeric(one) and (one.path != experiment.compare or len(one.levels) >= LEAST)]
    fit.sort(key=lambda one: -len(one.levels))
    if len(fit) < 2 or len(fit[0].levels) < LEAST:
        return None
    x, y = fit[:2]
    if len(x.levels) == len(y.levels) and largest(x) > largest(y):
        x, y = y, x
    return Grid(x=x, y=y, panels=tuple(one for one in varying if one not in (x, y)), experiment=experiment)


def largest(factor: Factor) -> float:
    """The largest level: of two sizes the smaller lies along x, as records below files."""
    return max(float(level) for level in factor.levels if isinstance(level, int | float))


def panels(results: Results, cells: Sequence[Cell], parts: Grid, scale: Scale) -> tuple[Panel, ...]:
    """One map for each combination of the other factors; all share the ramp and the scale."""
    ramp = ramp_of([cell.estimate.value for cell in cells if cell.estimate])
    groups: dict[Key, list[Cell]] = {}
    for cell in cells:
        groups.setdefault(tuple((factor.path, cell.levels.get(factor.path)) for factor in parts.panels), []).append(cell)
    keys = in_order(Roles(series=None, along=None, panels=parts.panels, experiment=results.experiment), groups)
    return tuple(_panel(results, parts, groups[key], (ramp, scale), heading(results.experiment, key)) for key in keys)


def ramp_of(values: Sequence[float]) -> Ramp:
    """The ramp over these values, at least a factor of two wide around them."""
    positive = [value for value in values if value > 0] or [1.0]
    low, high = min(positive), max(positive)
    widen = math.sqrt(max(1.0, SPAN * low / high))
    return Ramp(low=low / widen, high=high * widen)


def named(experiment: Experiment, dips: Sequence[Dip]) -> str:
    """The dips in few words, each cell once: `Dip at a = 1, b = 2: 0.73 times the figure at a = 0 and 2`."""
    places: dict[str, list[str]] = {}
    for one in dips:
        times = digits(one.depth)[0]
        around = " and ".join(marks.level(experiment, one.factor, level) for level in one.neighbours)
        where = marks.levels(experiment, one.levels)
        places.setdefault(where, []).append(f"{times} times the figure at {one.factor} = {around}")
    return " ".join(f"Dip at {where}: {', '.join(texts)}." for where, texts in places.items())


def _panel(results: Results, parts: Grid, cells: Sequence[Cell], look: tuple[Ramp, Scale], title: str) -> Panel:
    rows = [row for cell in cells if (row := _row(results, parts, cell, look)) is not None]
    height = len(parts.y.levels) * CELL + 44
    return Panel(
        heading=title,
        spec=_spec(parts, rows, height),
        height=height,
        description="; ".join(f"{marks.levels(results.experiment, cell.levels)}: {_words(cell, look[1])}" for cell in cells),
    )


def _row(results: Results, parts: Grid, cell: Cell, look: tuple[Ramp, Scale]) -> Row | None:
    """The data of one cell; None where no run gave a value."""
    one, (ramp, scale) = cell.estimate or cell.unfiltered, look
    if one is None:
        return None
    step = ramp.step(one.value) if cell.estimate else -1
    number = in_scale(one.value, scale)
    brackets = ("", "") if cell.estimate else ("(", ")")
    dip = [found for found in results.dips if found.measure == cell.measure and dict(found.levels) == dict(cell.levels)]
    return {
        "x": marks.level(results.experiment, parts.x.path, cell.levels[parts.x.path]),
        "y": marks.level(results.experiment, parts.y.path, cell.levels[parts.y.path]),
        "c": f"var(--h{step})" if step >= 0 else HOLLOW,
        "i": letters(step),
        "n": brackets[0] + number + brackets[1],
        "u": brackets[0] + number + after(scale.label) + brackets[1],
        "h": half(one),
        "d": (own_state(results, cell) if verdicts_of(results, cell) else VerdictState.SOUND).value,
        "o": 1.0 if dip else 0.0,
        "t": f"{marks.levels(results.experiment, cell.levels)}: {_words(cell, scale)}" + (" · dip" if dip else ""),
    }


def half(one: Estimate) -> str:
    """Half the width of the interval in percent of the figure: `±3 %`; n where there is none."""
    if one.low is None or one.high is None or not one.value:
        return f"n = {one.n}"
    share = (one.high - one.low) / 2 / one.value
    return f"±{percent(share)}" if share > MOST_SHARE else f"±{100 * share:.{0 if share >= 0.1 else 1}f} %"


def _words(cell: Cell, scale: Scale) -> str:
    """A cell in words."""
    one = cell.estimate
    if one is None:
        invalid = f" ({in_scale(cell.unfiltered.value, scale)}{after(scale.label)})" if cell.unfiltered else ""
        return f"no run counts{invalid}"
    interval = show_interval(one)
    return f"{show(one.value, one.unit)}" + (f" ({interval}, n = {one.n})" if interval else f" (n = {one.n})")


def ordered(experiment: Experiment, factor: Factor) -> list[str]:
    """The names of the levels by size."""
    return [
        marks.level(experiment, factor.path, level)
        for level in sorted(factor.levels, key=lambda level: level if isinstance(level, int | float) else 0)
    ]


def _spec(parts: Grid, rows: Sequence[Row], height: int) -> Spec:
    """The map: cells, outlines of dips, figures, half intervals, marks of verdicts that are not SOUND."""
    encoding: Spec = {
        "x": {
            **_axis(parts.experiment, parts.x, "x"),
            "axis": {"title": parts.x.path, "labelAngle": 0, "domain": False, "ticks": False},
        },
        "y": {**_axis(parts.experiment, parts.y, "y"), "axis": {"title": parts.y.path, "grid": False, "labelFontSize": 11}},
    }
    strong: Spec = {"fontSize": {"expr": f"{CELL_WIDTH} < {TIGHT} ? 9 : 11.5"}, "fontWeight": 600}
    weak: Spec = {"fontSize": {"expr": f"{CELL_WIDTH} < {TIGHT} ? 8 : 10"}}
    figure = f"{CELL_WIDTH} < {ROOMY} ? datum.n : datum.u"
    layers = [_cells(), _outlines(), _text(figure, {**strong, "dy": -4}), _text("datum.h", {**weak, "dy": 12}), _marks()]
    return {**frame(height, layers), "data": rows_of(rows), "encoding": encoding}


def _axis(experiment: Experiment, factor: Factor, field: str) -> Spec:
    scale: Spec = {"domain": ordered(experiment, factor), "paddingInner": 0.05, "paddingOuter": 0.03}
    return {"field": field, "type": "nominal", "sort": None, "scale": scale}


def _cells() -> Spec:
    """The coloured cells; hollow with a broken edge where no run counts."""
    hollow: Spec = {"test": f"datum.c === '{HOLLOW}'", "value": "var(--muted)"}
    return {
        "mark": {"type": "rect", "strokeWidth": 1, "strokeDash": [3, 3]},
        "encoding": {
            "fill": {"field": "c", "type": "nominal", "scale": None},
            "stroke": {"condition": hollow, "value": None},
            "tooltip": {"field": "t", "type": "nominal"},
        },
    }


def _outlines() -> Spec:
    return {
        "transform": [{"filter": "datum.o === 1"}],
        "mark": {"type": "rect", "fill": None, "stroke": "var(--alarm)", "strokeWidth": 3},
    }


def _text(text: str, look: Spec) -> Spec:
    """A line of letters in each cell, in the colour that can be read on it."""
    return {"mark": {"type": "text", "text": {"expr": text}, **look}, "encoding": {"color": _letters()}}


def _marks() -> Spec:
    """The mark of the worst verdict in the corner of a cell that is not SOUND."""
    corner: Spec = {"xOffset": {"expr": f"{CELL_WIDTH} / 2 - 7"}, "yOffset": 8 - CELL / 2}
    return {
        "transform": [{"filter": f"datum.d !== '{VerdictState.SOUND.value}'"}],
        "mark": {"type": "point", "size": {"expr": f"{CELL_WIDTH} < {TIGHT} ? 16 : 34"}, "strokeWidth": 1.4, **corner},
        "encoding": {
            "shape": shape({}),
            "stroke": _letters(),
            "fill": filling(_letters()),
        },
    }


def _letters() -> Spec:
    """The colour of letters on a cell, by how strong its colour is."""
    return {"field": "i", "type": "nominal", "scale": None}


def letters(step: int) -> str:
    """Which letters a step of the ramp needs: the middle one others than the pale ones where the page is dark."""
    return f"var(--t{0 if step < MIDDLE else 1 if step == MIDDLE else 2})"
