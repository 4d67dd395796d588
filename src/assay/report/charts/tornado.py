"""A tornado: the effect of each factor as a bar from "no effect", the largest on top, with its interval and what matters."""

from __future__ import annotations

import math
from collections.abc import Sequence

from assay.answer import marks as words
from assay.answer.scales import NARROW
from assay.answer.wording.effects import effect
from assay.frozen import dataclass
from assay.measures import digits
from assay.records import Conclusion, DesignKind, Experiment, FactorEffect, Results, Sensitivity
from assay.report.charts.dots import named
from assay.report.charts.figure import ChartFigure, Panel, Table
from assay.report.charts.theme import Row, Spec, downward, frame, name_ticks, round_ratios, rows_of, ticks

NAME = "tornado-"
"""How a figure's name begins; the measure follows."""
ROW = 36
"""Pixels of a bar with its room."""
REACH = 16.0
"""The axis goes to sixteen times at most; what lies beyond is cut."""
ROOM = 1.06
"""How far the axis goes beyond the farthest interval."""
FILLS = {
    Conclusion.MATTERS: "var(--s0)",
    Conclusion.IMMATERIAL: "var(--h3)",
    Conclusion.EQUIVALENT: "var(--h1)",
    Conclusion.UNDECIDED: "transparent",
}
"""Full colour for what matters, paler for what does not, an outline for what is not known."""
PAIRS = "-together"
"""How the name of a figure of pairs ends."""
OWN = "Ratio to the baseline level."
TOGETHER = "How many times larger the ratio of one factor is with the other."
CAPTION = (
    "Logarithmic; lines: {} intervals; shaded: under {}, which would not matter. Full colour: matters; pale: does not;"
    " outline: undecided."
)
STARRED = " *: aliased with the effects that the table names beside it."
SCREENED = " A screening: each bar may partly be an interaction of two other factors."


@dataclass(frozen=True, kw_only=True)
class _Axis:
    """The shared axis of the bars: as far to the left as to the right."""

    reach: float
    matters: float

    def at(self, ratio: float) -> float:
        """A ratio, kept inside the axis."""
        return float(f"{min(max(ratio, 1 / self.reach), self.reach):.5g}")


def figures(results: Results) -> tuple[ChartFigure, ...]:
    """For each measure of a designed experiment the effects of its factors, and what pairs of them do together."""
    return tuple(found for one in results.sensitivity for count in (1, 2) if (found := _figure(results, one, count)) is not None)


def _figure(results: Results, one: Sensitivity, count: int) -> ChartFigure | None:
    """The figure of the factors, or of the pairs."""
    effects = [each for each in one.effects if each.ratio is not None]
    shown = [each for each in effects if len(each.steps) == count]
    if not shown:
        return None
    measure = words.measure(next(each for each in results.experiment.measures if each.name == one.measure))
    estimate = next(each.ratio for each in shown if each.ratio is not None)
    axis = _axis(effects, one.matters_share)
    legend = CAPTION.format(_percent(estimate.confidence), _percent(one.matters_share))
    return ChartFigure(
        name=f"{NAME}{one.measure}{PAIRS if count > 1 else ''}",
        title=f"{measure}: {'which factors change the effect of another' if count > 1 else 'which factors matter'}",
        caption=f"{TOGETHER if count > 1 else OWN} {legend} Bars: {words.DESIGNS[one.design]}.{_doubt(one, shown)}",
        panels=(_panel(results.experiment, axis, shown),),
        table=_table(results.experiment, shown),
        wide=True,
    )


def _doubt(one: Sensitivity, shown: Sequence[FactorEffect]) -> str:
    """What the bars may be instead."""
    starred = STARRED if any(each.mixed_with for each in shown) else ""
    return starred or (SCREENED if one.design is DesignKind.SCREENING else "")


def _percent(share: float) -> str:
    return f"{100 * share:g}{NARROW}%"


def _axis(shown: Sequence[FactorEffect], matters: float) -> _Axis:
    """The axis that holds every interval, with a share of room for the figures at the ends of the bars."""
    ends = [end for one in shown if one.ratio for end in (one.ratio.value, one.ratio.low, one.ratio.high) if end]
    far = max([math.log1p(2 * matters), *(abs(math.log(end)) for end in ends)])
    return _Axis(reach=math.exp(min(far * ROOM, math.log(REACH))), matters=matters)


def _panel(experiment: Experiment, axis: _Axis, effects: Sequence[FactorEffect]) -> Panel:
    """The bars, two lines before each."""
    rows = [_row(experiment, axis, place, one) for place, one in enumerate(effects)]
    names = [_lines(experiment, one) for one in effects]
    height = len(rows) * ROW + 40
    description = "; ".join(effect(experiment, one) for one in effects)
    return Panel(heading="", spec=_spec(axis, rows, names, height), height=height, description=description)


def _row(experiment: Experiment, axis: _Axis, place: int, one: FactorEffect) -> Row:
    """A bar: its end, its interval, and what stands on the other side of no effect, where there is room."""
    assert one.ratio is not None
    ratio = one.ratio
    low, high = ratio.low or ratio.value, ratio.high or ratio.value
    rises = ratio.value >= 1
    return {
        "p": float(place),
        "v": axis.at(ratio.value),
        "l": axis.at(low),
        "h": axis.at(high),
        "o": axis.at(min(low, 1.0) if rises else max(high, 1.0)),
        "r": int(rises),
        "k": one.conclusion.value,
        "n": _change(ratio.value) + ("*" if one.mixed_with else ""),
        "t": effect(experiment, one),
    }


def _lines(experiment: Experiment, one: FactorEffect) -> tuple[str, str]:
    """The two lines before a bar: `store.flush`, `none → each`; of a pair both factors with their levels."""
    first, second = one.steps[0], one.steps[-1]
    if first is second:
        return (
            first.factor,
            f"{words.level(experiment, first.factor, first.baseline)} → {words.level(experiment, first.factor, first.level)}",
        )
    return (
        f"{first.factor} = {words.level(experiment, first.factor, first.level)}",
        f"with {second.factor} = {words.level(experiment, second.factor, second.level)}",
    )


def _aliases(one: FactorEffect) -> str:
    """`a with b, c with d`: what the design cannot tell from it."""
    return ", ".join(" with ".join(step.factor for step in steps) for steps in one.mixed_with)


def _change(ratio: float) -> str:
    """`+42 %`, `-0.4 %`, `2.3 times`."""
    if ratio >= 2:
        return f"{ratio:.3g} times"
    points = 100 * (ratio - 1)
    text = f"{points:+.1f}" if abs(points) < 10 else f"{points:+.0f}"
    return f"{'0' if float(text) == 0 else text}{NARROW}%"


def _spec(axis: _Axis, rows: Sequence[Row], names: Sequence[Sequence[str]], height: int) -> Spec:
    x: Spec = {
        "type": "quantitative",
        "scale": {"type": "log", "domain": [1 / axis.reach, axis.reach], "nice": False},
        "axis": {
            **ticks(marks := round_ratios(1 / axis.reach, axis.reach)),
            "labelExpr": named({_tick(at): at for at in marks}),
            "labelFlush": True,
            "title": None,
        },
    }
    y: Spec = downward([-0.6, len(rows) - 0.4], "p", **name_ticks(names), labelLimit=190, labelLineHeight=13, labelOffset=-7)
    return {**frame(height, [*_ground(axis, x), *_bars(x, y), *_texts(x, y)]), "data": rows_of(rows)}


def _ground(axis: _Axis, x: Spec) -> list[Spec]:
    """What does not matter, shaded, and the line of no effect."""
    band = {"low": 1 / (1 + axis.matters), "high": 1 + axis.matters}
    return [
        {
            "data": {"values": [band]},
            "mark": {"type": "rect", "color": "var(--grid)", "opacity": 0.8},
            "encoding": {"x": {**x, "field": "low"}, "x2": {"field": "high"}},
        },
        {
            "data": {"values": [{"one": 1}]},
            "mark": {"type": "rule", "color": "var(--axis)", "strokeWidth": 1.2},
            "encoding": {"x": {**x, "field": "one"}},
        },
    ]


def _bars(x: Spec, y: Spec) -> list[Spec]:
    """The bars from no effect, and their intervals."""
    tip: Spec = {"field": "t", "type": "nominal"}
    fill: Spec = {
        "field": "k",
        "type": "nominal",
        "legend": None,
        "scale": {"domain": [one.value for one in FILLS], "range": list(FILLS.values())},
    }
    bar: Spec = {
        "transform": [{"calculate": "1", "as": "one"}],
        "mark": {"type": "bar", "orient": "horizontal", "size": 15, "stroke": "var(--s0)", "strokeWidth": 1},
        "encoding": {"y": y, "x": {**x, "field": "one"}, "x2": {"field": "v"}, "fill": fill, "tooltip": tip},
    }
    interval: Spec = {
        "mark": {"type": "errorbar", "thickness": 1.5, "color": "var(--ink)", "ticks": {"size": 7, "color": "var(--ink)"}},
        "encoding": {"y": y, "x": {**x, "field": "l"}, "x2": {"field": "h"}, "tooltip": tip},
    }
    return [bar, interval]


def _texts(x: Spec, y: Spec) -> list[Spec]:
    """The change, on the side of no effect to which the bar does not go."""
    return [
        {
            "transform": [{"filter": f"datum.r === {rises}"}],
            "mark": {"type": "text", "align": align, "dx": dx, "color": "var(--ink)"},
            "encoding": {"y": y, "x": {**x, "field": "o"}, "text": {"field": "n"}},
        }
        for rises, align, dx in ((1, "right", -7), (0, "left", 7))
    ]


def _tick(ratio: float) -> str:
    """A place on the axis: `no effect`, `+20 %`, `-17 %`, `3 times`."""
    if ratio == 1:
        return "no effect"
    return f"{ratio:g} times" if ratio >= 2 else f"{100 * (ratio - 1):+.0f}{NARROW}%"


def _table(experiment: Experiment, effects: Sequence[FactorEffect]) -> Table:
    head = ("effect of", "level", "against", "change", "ratio", "95 % interval", "conclusion", "n", "may be that of")
    return Table(head=head, rows=tuple(_numbers(experiment, one) for one in effects))


def _numbers(experiment: Experiment, one: FactorEffect) -> tuple[str, ...]:
    value, low, high = digits(one.ratio) if one.ratio is not None else ("not known", "", "")
    return (
        " with ".join(step.factor for step in one.steps),
        ", ".join(words.level(experiment, step.factor, step.level) for step in one.steps),
        ", ".join(words.level(experiment, step.factor, step.baseline) for step in one.steps),
        "" if one.ratio is None else _change(one.ratio.value),
        value,
        f"{low} to {high}" if low else "no interval",
        one.conclusion.value,
        str(one.ratio.n) if one.ratio is not None else "0",
        _aliases(one),
    )
