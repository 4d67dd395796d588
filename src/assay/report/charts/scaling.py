"""A rate over the number of clients: points with intervals, the fitted law with its band, what bounds it, knee and break-even."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from assay.analysis.capacities import described
from assay.answer import marks
from assay.answer.scales import DASH, NARROW, Scale, axis_title, in_scale, scale_for, share
from assay.answer.wording.scaling import fitted, statement
from assay.frozen import dataclass
from assay.records import Cell, Results, Scaled, Scaling, ScalingKind
from assay.report.charts.figure import ChartFigure, Panel, Table, end_labels
from assay.report.charts.roles import Key, Roles, heading, roles
from assay.report.charts.theme import Row, Spec, axis_over, end_text, frame, room, rows_of, series_colours, ticks

HEIGHT = 300
LEDE = (
    "Points: means with their 95 % intervals. Line and band: the law with the lowest AICc, with its 95 % band."
    " Dashed: the bounds that no rate can exceed, first in proportion to the rate of one, then by the scarcest resource."
)


def figures(results: Results, curves: Sequence[Scaled]) -> tuple[ChartFigure, ...]:
    """One figure for each measure, the arms that are compared together in each panel."""
    of_measure: dict[tuple[str, str], list[Scaled]] = {}
    for curve in curves:
        if len(curve.used) > 1:
            of_measure.setdefault((curve.measure, curve.factor), []).append(curve)
    return tuple(_figure(results, tuple(found)) for found in of_measure.values())


def _figure(results: Results, curves: tuple[Scaled, ...]) -> ChartFigure:
    first, parts = curves[0], roles(results.experiment)
    measure = next(one for one in results.experiment.measures if one.name == first.measure)
    groups: dict[Key, list[Scaled]] = {}
    for curve in curves:
        rest = [(path, level) for path, level in curve.within.items() if parts.series is None or path != parts.series.path]
        groups.setdefault(tuple(rest), []).append(curve)
    tops = [most_of(results, curve) for curve in curves]
    scale = scale_for(first.unit, tops)
    highest = max((reached(curve, max(tops)) for curve in curves), default=0.0)
    above = room_above(results, tuple(groups.values()))
    drawings = {
        key: Drawing(
            results=results,
            roles=parts,
            curves=tuple(found),
            scale=scale,
            top=float(f"{max(*tops, highest) * above / scale.divisor:.4g}"),
            most=float(max(max(curve.used) for curve in curves)),
        )
        for key, found in groups.items()
    }
    return ChartFigure(
        name=f"scaling-{first.measure}",
        title=f"{marks.measure(measure)}, by {first.factor}",
        caption=_caption(curves, max(tops)),
        panels=tuple(_panel(drawing, key) for key, drawing in drawings.items()),
        table=_table(results, curves, scale),
        wide=True,
    )


def _caption(curves: Sequence[Scaled], top: float) -> str:
    laws = dict.fromkeys(fitted(curve.fit) for curve in curves if curve.fit)
    texts = (
        [f"Fitted: {'; '.join(laws)}."] if laws else ["Too few numbers for a law: at least four are needed, three runs of each."]
    )
    far = {described(one.capacity) for curve in curves for one in curve.ceilings[:1] if one.rate > REACH * top}
    if far:
        texts.append(f"Farther up than is drawn: the bound by {', '.join(sorted(far))}.")
    if not any(curve.ceilings for curve in curves):
        texts.append("No bound: the capacity of no resource is known.")
    return " ".join(texts)


def _panel(drawing: Drawing, key: Key) -> Panel:
    experiment = drawing.results.experiment
    description = "; ".join(statement(experiment, one) for curve in drawing.curves for one in answers(drawing.results, curve))
    return Panel(heading=heading(experiment, key), spec=frame(HEIGHT, layers(drawing)), height=HEIGHT, description=description)


def _table(results: Results, curves: Sequence[Scaled], scale: Scale) -> Table:
    """A row for each number of each curve, then what bounds it and what was said."""
    unit = f"{NARROW}({scale.label})" if scale.label else ""
    head = ("levels", curves[0].factor, f"mean{unit}", "interval", "n", f"no more than{unit}", "because of", "used")
    rows = tuple(row for curve in curves for row in _rows(results, curve, scale))
    first = 0 if any(curve.within for curve in curves) else 1
    return Table(head=head[first:], rows=tuple(row[first:] for row in rows))


def _rows(results: Results, curve: Scaled, scale: Scale) -> list[tuple[str, ...]]:
    rows: list[tuple[str, ...]] = []
    for number, cell in points(results, curve):
        one = cell.estimate
        assert one is not None
        interval = DASH if one.low is None else f"{in_scale(one.low, scale)} to {in_scale(one.high, scale)}"
        most, because = limit(curve, number)
        used = "; ".join(f"{share(value)} of {described(capacity)}" for capacity, value in curve.used.get(number, ()))
        rows.append(
            (
                marks.levels(results.experiment, curve.within),
                str(number),
                in_scale(one.value, scale),
                interval,
                str(one.n),
                in_scale(most, scale),
                because,
                used or DASH,
            )
        )
    return rows


def limit(curve: Scaled, number: int) -> tuple[float | None, str]:
    """The asymptotic bound at one number, and what it is due to."""
    both = [(one.rate, described(one.capacity)) for one in curve.ceilings[:1]]
    if curve.alone is not None:
        both.append((curve.alone * number, f"{number} times one alone"))
    return min(both, default=(None, DASH), key=lambda one: one[0] or 0.0)


ABOVE = 1.08
"""How far the axis goes beyond the highest point at the least."""
LINES = 5
"""Lines of names of what is marked, above the highest point."""
REACH = 1.6
"""Bounds are drawn up to so many times the highest point; those beyond it are in the table alone."""
APART = 0.055
"""Share of the height that the names of marks keep between them."""
MARKS: Mapping[ScalingKind, str] = {
    ScalingKind.KNEE: "knee",
    ScalingKind.LAW: "peak",
    ScalingKind.BREAK_EVEN: "break-even",
    ScalingKind.SATURATION: "90 % used",
    ScalingKind.OBJECTIVE: "kept up to",
}
"""What is marked on the axis of x, where it lies in the measured range."""


@dataclass(frozen=True, kw_only=True)
class Drawing:
    """What the layers of one panel share."""

    results: Results
    roles: Roles
    curves: tuple[Scaled, ...]
    scale: Scale
    top: float
    most: float

    def figure(self, value: float) -> float:
        """In the unit of the axis, as exactly as a picture needs it."""
        return float(f"{value / self.scale.divisor:.5g}")

    @property
    def x(self) -> Spec:
        """The axis of the number."""
        numbers = sorted({number for curve in self.curves for number in curve.used})
        return axis_over([0, self.most * 1.02], **ticks([0, *apart(numbers, self.most)]), format="d", title=self.curves[0].factor)

    @property
    def y(self) -> Spec:
        """The axis of the rate."""
        return axis_over([0, self.top], title=axis_title(self.scale.label) or None, format=",~r", minExtent=42)


def layers(drawing: Drawing) -> list[Spec]:
    """All of them, what lies below first."""
    longest = max(("bound", *(_name(drawing, curve) for curve in drawing.curves)), key=len)
    found = [_band(drawing), _roof(drawing), _law(drawing), *_marks(drawing), *_points(drawing)]
    return [*found, end_text(_labels(drawing), drawing.y), room(longest)]


def most_of(results: Results, curve: Scaled) -> float:
    """The highest point of a curve with its interval."""
    return max(((cell.estimate.high or cell.estimate.value) for _, cell in points(results, curve) if cell.estimate), default=1.0)


def reached(curve: Scaled, most: float) -> float:
    """The lowest bound where it is near enough to be drawn; 0 where not."""
    near = [one.rate for one in curve.ceilings[:1] if one.rate <= REACH * most]
    return near[0] if near else 0.0


def points(results: Results, curve: Scaled) -> list[tuple[int, Cell]]:
    """The cells of a curve by their number."""
    found = []
    for cell in results.cells:
        number = cell.levels.get(curve.factor)
        rest = {path: level for path, level in cell.levels.items() if path != curve.factor}
        if cell.measure == curve.measure and isinstance(number, int) and rest == dict(curve.within) and cell.estimate:
            found.append((number, cell))
    return sorted(found, key=lambda pair: pair[0])


def apart(numbers: Sequence[int], most: float) -> list[int]:
    """The numbers whose ticks have room for their text."""
    kept: list[int] = []
    for number in reversed(numbers):
        if not kept or kept[-1] - number >= most * 0.045:
            kept.append(number)
    return kept[::-1]


def answers(results: Results, curve: Scaled) -> list[Scaling]:
    """What was said of a curve; of a break-even, that of its arms."""
    return [
        one
        for one in results.scaling
        if one.measure == curve.measure and one.factor == curve.factor and dict(one.within) == dict(curve.within)
    ]


def _name(drawing: Drawing, curve: Scaled) -> str:
    return "" if drawing.roles.series is None or drawing.roles.series.path == curve.factor else drawing.roles.name(curve.within)


def _series(drawing: Drawing, curve: Scaled) -> str:
    return str(drawing.roles.colour_index(curve.within))


def _points(drawing: Drawing) -> list[Spec]:
    rows: list[Row] = []
    for curve in drawing.curves:
        for number, cell in points(drawing.results, curve):
            one = cell.estimate
            assert one is not None
            where = marks.levels(drawing.results.experiment, cell.levels)
            tip_text = f"{where}: {in_scale(one.value, drawing.scale)} {drawing.scale.label}, n = {one.n}"
            low, value, high = (drawing.figure(end if end is not None else one.value) for end in (one.low, one.value, one.high))
            rows.append({"x": number, "l": low, "v": value, "h": high, "s": _series(drawing, curve), "t": tip_text})
    x: Spec = {**drawing.x, "field": "x"}
    tip: Spec = {"field": "t", "type": "nominal"}
    both: Spec = {"x": x, "color": series_colours(), "tooltip": tip}
    interval: Spec = {
        "mark": {"type": "rule", "strokeWidth": 3},
        "encoding": {**both, "y": {**drawing.y, "field": "l"}, "y2": {"field": "h"}},
    }
    dot: Spec = {
        "mark": {"type": "point", "filled": True, "size": 46, "opacity": 1},
        "encoding": {**both, "y": {**drawing.y, "field": "v"}},
    }
    return [{"data": rows_of(rows), "layer": [interval, dot]}]


def _layer(drawing: Drawing, rows: list[Row], mark: Spec, **y2: Spec) -> Spec:
    """Draw rows by number (x) and rate (v; l to h in a band), in the colour of their curve."""
    y = {**drawing.y, "field": "l" if y2 else "v"}
    encoding: Spec = {"x": {**drawing.x, "field": "x"}, "y": y, **y2, "color": series_colours()}
    return {"data": rows_of(rows), "mark": {**mark, "clip": True}, "encoding": encoding}


def _band(drawing: Drawing) -> Spec:
    rows: list[Row] = [
        {"x": float(f"{at:.5g}"), "l": drawing.figure(low), "h": drawing.figure(high), "s": _series(drawing, curve)}
        for curve in drawing.curves
        for at, low, _, high in curve.fitted
    ]
    return _layer(drawing, rows, {"type": "area", "opacity": 0.16}, y2={"field": "h"})


def _law(drawing: Drawing) -> Spec:
    rows: list[Row] = [
        {"x": float(f"{at:.5g}"), "v": drawing.figure(value), "s": _series(drawing, curve)}
        for curve in drawing.curves
        for at, _, value, _ in curve.fitted
    ]
    return _layer(drawing, rows, {"type": "line", "strokeWidth": 1.4, "opacity": 0.8})


def roof(curve: Scaled, most: float, top: float) -> list[tuple[float, float]]:
    """The corners of the asymptotic bounds: from nothing along what one alone does to the scarcest resource, and on."""
    ceiling = reached(curve, top) or None
    if curve.alone is None:
        return [] if ceiling is None else [(0.0, ceiling), (most, ceiling)]
    end = 2 * top if ceiling is None else ceiling
    bend = end / curve.alone
    if bend >= most:
        return [(0.0, 0.0), (most, most * curve.alone)]
    return [(0.0, 0.0), (bend, end), *([] if ceiling is None else [(most, ceiling)])]


def _roof(drawing: Drawing) -> Spec:
    top = max(most_of(drawing.results, curve) for curve in drawing.curves)
    rows: list[Row] = [
        {"x": float(f"{x:.5g}"), "v": drawing.figure(y), "s": _series(drawing, curve)}
        for curve in drawing.curves
        for x, y in roof(curve, drawing.most, top)
    ]
    return _layer(drawing, rows, {"type": "line", "strokeWidth": 1.3, "strokeDash": [5, 4]})


def within_range(results: Results, curve: Scaled) -> list[Scaling]:
    """Give the answers about a curve that lie within the measured range, requirements of its operation last."""
    operation = curve.measure.rpartition(".")[0]
    about = [one for one in results.scaling if one.at and one.factor == curve.factor and dict(one.within) == dict(curve.within)]
    own = [one for one in about if one.measure == curve.measure and one.kind is not ScalingKind.OBJECTIVE]
    kept = [one for one in about if one.measure.rpartition(".")[0] == operation and one.kind is ScalingKind.OBJECTIVE]
    return [*own, *kept]


def room_above(results: Results, panels: Sequence[Sequence[Scaled]]) -> float:
    """So many times the highest point leave room for the names of what is marked in any panel."""
    lines = max(sum(len(within_range(results, curve)) for curve in curves) for curves in panels)
    return max(ABOVE, 1 / (1 - APART * (min(lines, LINES) + 0.4)))


def marked(drawing: Drawing) -> list[Row]:
    """What is marked on the axis of x: where, between which bounds, and its name; the names stand below each other."""
    found = [_mark(drawing, curve, one) for curve in drawing.curves for one in within_range(drawing.results, curve)]
    for place, row in enumerate(sorted(found, key=lambda row: float(row["x"]))):
        row["y"] = float(f"{drawing.top * (1 - APART * (place % LINES + 0.5)):.5g}")
    return found


def called(one: Scaling) -> str:
    """What is marked, in a few words: `knee`, `90 % of 16 MB/s read from loop1 used`, `<= 5 ms kept`."""
    if one.kind is ScalingKind.SATURATION and one.use and one.use.capacity:
        return f"90 % of {described(one.use.capacity).removeprefix('the ')} used"
    return f"{one.requirement} kept up to" if one.requirement else MARKS[one.kind]


def _mark(drawing: Drawing, curve: Scaled, one: Scaling) -> Row:
    assert one.at is not None
    low, high = one.at.low or one.at.value, one.at.high or one.at.value
    return {
        "x": float(f"{one.at.value:.5g}"),
        "l": float(f"{low:.5g}"),
        "h": float(f"{min(high, drawing.most):.5g}"),
        "n": f"{called(one)} {one.at.value:.3g}",
        "s": _series(drawing, curve),
        "t": statement(drawing.results.experiment, one),
        "r": int(one.at.value > 0.6 * drawing.most),
    }


def _marks(drawing: Drawing) -> list[Spec]:
    rows = marked(drawing)
    if not rows:
        return []
    x, y = {**drawing.x, "field": "x"}, {**drawing.y, "field": "y"}
    colour = series_colours()
    span: Spec = {
        "mark": {"type": "rect", "opacity": 0.07, "clip": True},
        "encoding": {"x": {**drawing.x, "field": "l"}, "x2": {"field": "h"}, "color": colour},
    }
    rule: Spec = {
        "mark": {"type": "rule", "strokeWidth": 1, "opacity": 0.75},
        "encoding": {"x": x, "y": y, "y2": {"datum": 0}, "color": colour, "tooltip": {"field": "t", "type": "nominal"}},
    }
    named = [
        {
            "transform": [{"filter": f"datum.r === {side}"}],
            "mark": {"type": "text", "align": align, "dx": dx, "baseline": "middle", "fontSize": 11},
            "encoding": {"x": x, "y": y, "text": {"field": "n"}, "color": colour},
        }
        for side, align, dx in ((0, "left", 4), (1, "right", -4))
    ]
    return [{"data": rows_of(rows), "layer": [span, rule, *named]}]


def _labels(drawing: Drawing) -> list[Row]:
    """The names of the arms at the last points of their curves, and of the bounds at theirs."""
    ends: dict[str, tuple[float, str]] = {}
    top = max(most_of(drawing.results, curve) for curve in drawing.curves)
    for curve in drawing.curves:
        last = points(drawing.results, curve)[-1:]
        name = _name(drawing, curve)
        if name and last and last[0][1].estimate:
            ends[name] = (drawing.figure(last[0][1].estimate.value), _series(drawing, curve))
        ceiling = reached(curve, top)
        if ceiling and len(roof(curve, drawing.most, top)) > 2:
            ends[f"bound{f' of {name}' if name else ''}"] = (drawing.figure(ceiling), _series(drawing, curve))
    placed = end_labels([(name, end[0]) for name, end in ends.items()], 0, drawing.top, 0.07)
    return [{"v": placed[name], "n": name, "s": end[1]} for name, end in ends.items()]
