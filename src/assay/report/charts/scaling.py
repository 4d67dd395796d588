"""A rate over the number of clients: points with intervals, the fitted law with its band, what bounds it, knee and break-even."""

from __future__ import annotations

from collections.abc import Sequence

from assay.analysis.resources import described
from assay.answer import marks
from assay.answer.scales import DASH, NARROW, Scale, in_scale, scale_for, share
from assay.answer.wording.scaling import fitted, statement
from assay.records import Results, Scaled, Value
from assay.report.charts.figure import Figure, Panel, Table
from assay.report.charts.roles import heading, roles
from assay.report.charts.scaling_layers import REACH, Drawing, answers, layers, most_of, points, reached, room_above
from assay.report.charts.theme import frame

HEIGHT = 300
LEDE = (
    "Points: means with their 95 % intervals. Line and band: the law that tells most of them by AICc, with its 95 % band."
    " Dashed: what cannot be exceeded, so many times what one alone does, then what the scarcest resource allows by what was"
    " used of it."
)


def figures(results: Results, curves: Sequence[Scaled]) -> tuple[Figure, ...]:
    """One figure for each measure, the arms that are compared together in each panel."""
    of_measure: dict[tuple[str, str], list[Scaled]] = {}
    for curve in curves:
        if len(curve.used) > 1:
            of_measure.setdefault((curve.measure, curve.factor), []).append(curve)
    return tuple(_figure(results, tuple(found)) for found in of_measure.values())


def _figure(results: Results, curves: tuple[Scaled, ...]) -> Figure:
    first, parts = curves[0], roles(results.experiment)
    measure = next(one for one in results.experiment.measures if one.name == first.measure)
    groups: dict[tuple[tuple[str, Value], ...], list[Scaled]] = {}
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
    return Figure(
        name=f"scaling-{first.measure}",
        title=f"{marks.measure(measure)}, by {first.factor}",
        caption=_caption(curves, max(tops)),
        panels=tuple(_panel(drawing, key) for key, drawing in drawings.items()),
        table=_table(results, curves, scale),
        wide=True,
    )


def _caption(curves: Sequence[Scaled], top: float) -> str:
    laws = dict.fromkeys(fitted(curve.fit) for curve in curves if curve.fit)
    said = [f"Fitted: {'; '.join(laws)}."] if laws else ["Too few numbers for a law: four, three times each, are the least."]
    far = {described(one.capacity) for curve in curves for one in curve.ceilings[:1] if one.rate > REACH * top}
    if far:
        said.append(f"Farther up than is drawn: the bound by {', '.join(sorted(far))}.")
    if not any(curve.ceilings for curve in curves):
        said.append("No bound: nothing tells how much there is of any resource.")
    return " ".join(said)


def _panel(drawing: Drawing, key: tuple[tuple[str, Value], ...]) -> Panel:
    said = "; ".join(
        statement(drawing.results.experiment, one) for curve in drawing.curves for one in answers(drawing.results, curve)
    )
    return Panel(
        heading=heading(drawing.results.experiment, key), spec=frame(HEIGHT, layers(drawing)), height=HEIGHT, description=said
    )


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
