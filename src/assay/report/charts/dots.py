"""Dots, intervals and limits as a specification, upright (levels along x) or lying (levels in rows); both begin at zero."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from enum import Enum

from assay.answer import marks
from assay.frozen import dataclass
from assay.records import VerdictState
from assay.report.charts.theme import Row, Spec, axis_over, downward, end_text, frame, name_ticks, rows_of, series_colours, ticks

HEIGHT = 232
ROW = 62
"""Pixels of a row where the levels have no order to lie along an axis."""
EXCLUDED = "excluded"
CROWDED = 80
"""Runs in one panel above which their marks are smaller."""


@dataclass(frozen=True, kw_only=True)
class Plot:
    """What is drawn, in the units of the axis: estimates (p, v, l, h, a, z, s, t), runs (p, v, s, d, t), limits (v, t).

    An estimate `v` has the ends of its interval `l` and `h`, and the smallest and largest run `a` and `z`.
    """

    means: Sequence[Row]
    runs: Sequence[Row]
    limits: Sequence[Row]
    top: float
    unit: str

    def axis(self, count: int) -> Spec:
        """Give the axis of the figure with about so many ticks."""
        return axis_over(
            [0, self.top], zero=True, title=self.unit or None, format=",~r", tickCount=count, grid=True, domain=False
        )


class Orientation(Enum):
    """In which direction the figure goes: (channel of the place, channel of the figure, a tick's orientation)."""

    UPRIGHT = ("x", "y", "horizontal")
    LYING = ("y", "x", "vertical")


def upright(plot: Plot, title: str, places: Mapping[str, float], labels: Sequence[Row]) -> Spec:
    """Levels with an order along x (name -> place), estimates joined by lines that carry their names at the end."""
    x: Spec = axis_over(
        [min(places.values()) - 0.4, max(places.values()) + 0.45],
        zero=False,
        **ticks(list(places.values())),
        labelExpr=named(places),
        title=title,
    )
    y = plot.axis(count=4)
    line: Spec = {
        "data": rows_of(plot.means),
        "mark": {"type": "line", "strokeWidth": 1.2, "opacity": 0.55},
        "encoding": {"x": {**x, "field": "p"}, "y": {**y, "field": "v"}, "color": series_colours()},
    }
    limits = _limits(plot, y, Orientation.UPRIGHT, {"x": 4, "dy": -3, "baseline": "bottom"})
    return frame(HEIGHT, [line, *limits, *_marks(plot, x, y, Orientation.UPRIGHT), end_text(labels, y)])


def lying(plot: Plot, names: Sequence[str]) -> tuple[Spec, int]:
    """Levels without an order in rows, the figure to the right; gives the height as well (pixels)."""
    height = max(1, len(names)) * ROW + 44
    y: Spec = downward([-0.45, len(names) - 0.3], **name_ticks(names), labelLimit=130)
    x = plot.axis(count=5)
    limits = _limits(plot, x, Orientation.LYING, {"y": 8, "dx": 4})
    return frame(height, [*limits, *_marks(plot, y, x, Orientation.LYING)]), height


def named(places: Mapping[str, float]) -> str:
    """A Vega expression that gives the name of each place on an axis."""
    choices = (f"abs(datum.value - {at}) < 0.01 ? {json.dumps(name)} : " for name, at in places.items())
    return "".join(choices) + "''"


def _marks(plot: Plot, place: Spec, figure: Spec, way: Orientation) -> list[Spec]:
    """Each run as a dot, with its verdict in shape, filling and colour; each estimate as a tick with its interval."""
    flat, tall, across = way.value
    tip: Spec = {"field": "t", "type": "nominal"}
    sizes = (30, 20) if len(plot.runs) > CROWDED else (56, 34)
    dot: Spec = {
        "data": rows_of(plot.runs),
        "mark": {
            "type": "point",
            "size": {"expr": f"datum.d === '{EXCLUDED}' ? {sizes[0]} : {sizes[1]}"},
            "strokeWidth": 1.4 if sizes[1] > 20 else 1.1,
            "opacity": {"expr": f"datum.d === '{EXCLUDED}' ? 0.6 : 0.85"},
        },
        "encoding": {
            flat: {**place, "field": "p"},
            tall: {**figure, "field": "v"},
            "stroke": VERDICTS,
            "fill": filling(VERDICTS),
            "shape": SHAPE,
            "tooltip": tip,
        },
    }
    beside: Spec = {flat: {**place, "field": "p"}, "color": series_colours(), "tooltip": tip}
    ends: Spec = {
        "mark": {"type": "errorbar", "thickness": 1, "ticks": {"size": 7, "thickness": 1}, "opacity": 0.55},
        "encoding": {**beside, tall: {**figure, "field": "a"}, f"{tall}2": {"field": "z"}},
    }
    interval: Spec = {
        "mark": {"type": "rule", "strokeWidth": 3.4},
        "encoding": {**beside, tall: {**figure, "field": "l"}, f"{tall}2": {"field": "h"}},
    }
    tick: Spec = {
        "mark": {"type": "tick", "orient": across, "thickness": 3, "size": 16, "opacity": 1},
        "encoding": {**beside, tall: {**figure, "field": "v"}},
    }
    return [dot, {"data": rows_of(plot.means), "layer": [ends, interval, tick]}]


def shape(more: Mapping[str, str]) -> Spec:
    """The channel of marks: every state of a verdict with its path, and more."""
    paths = {**{state.value: marks.SHAPES[state] for state in VerdictState}, **more}
    scale = {"domain": list(paths), "range": list(paths.values())}
    return {"field": "d", "type": "nominal", "legend": None, "scale": scale}


SHAPE = shape({EXCLUDED: marks.NOT_COUNTED})
"""The marks of runs, with that of runs that do not count."""


VERDICT_COLOURS = {**{state.value: f"var(--{state.value.lower()})" for state in VerdictState}, EXCLUDED: "var(--muted)"}
"""The colours of the page's key: by verdict, and grey where a run does not count."""
VERDICTS: Spec = {
    "field": "d",
    "type": "nominal",
    "legend": None,
    "scale": {"domain": list(VERDICT_COLOURS), "range": list(VERDICT_COLOURS.values())},
}
"""The channel that colours marks so."""


def filling(colour: Spec) -> Spec:
    """The channel that fills the marks of states without doubt."""
    solid = [state.value for state in VerdictState if state not in marks.HOLLOW]
    return {"condition": {"test": f"indexof({solid}, datum.d) < 0", "value": "transparent"}, **colour}


def _limits(plot: Plot, figure: Spec, way: Orientation, at: Spec) -> list[Spec]:
    """Required limits as dashed lines with their words."""
    if not plot.limits:
        return []
    tall = way.value[1]
    rule: Spec = {
        "mark": {"type": "rule", "strokeDash": [5, 4], "color": "var(--alarm)", "strokeWidth": 1.2},
        "encoding": {tall: {**figure, "field": "v"}},
    }
    text: Spec = {
        "mark": {"type": "text", "color": "var(--alarm)", "align": "left", **at},
        "encoding": {tall: {**figure, "field": "v"}, "text": {"field": "t"}},
    }
    return [{"data": rows_of(plot.limits), "layer": [rule, text]}]
