"""Every comparison as a row of one picture: its ratio, its interval, the band in which differences do not matter."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from html import escape

from assay.answer import marks
from assay.answer.doubts import why
from assay.answer.scales import NARROW
from assay.answer.wording import comparison as sentence
from assay.answer.wording.summary import reason
from assay.frozen import dataclass
from assay.measures import digits
from assay.records import Comparison, Conclusion, Estimate, Experiment, Results, VerdictState
from assay.report.charts.figure import BOLD, PLAIN, QUIET, ChartFigure, Drawn, Style, Table, text
from assay.report.charts.theme import round_ratios

NAMES, TRACK, FIGURES, SAID = 200, 330, 150, 230
"""Pixels: conditions, the field of the intervals, ratio with interval, conclusion with verdict."""
ROW, HEAD, FOOT = 24, 30, 18
"""Pixels of a row, of the title of a measure, of the labels of its axis."""
GAP = 14
NAME = "comparisons"


def figure(results: Results) -> ChartFigure | None:
    """The picture with its table; None where nothing was compared."""
    scale, groups = axis(results), ratios(results)
    if scale is None or not groups:
        return None
    rows = [row for group in groups for row in group.rows]
    description = "; ".join(f"{row.condition}: {row.text} ({row.interval}), {row.comparison.conclusion.value}" for row in rows)
    return ChartFigure(
        name=NAME,
        title="Every comparison",
        caption=caption(groups, results.experiment.matters_share),
        panels=(),
        drawn=Drawn(
            width=NAMES + TRACK + FIGURES + SAID + 3 * GAP,
            height=(HEAD + FOOT) * len(groups) + ROW * len(rows) + 6,
            inside="".join(_parts(scale, groups)),
            description=description,
        ),
        table=_table(results.experiment, groups),
        wide=True,
    )


def _parts(axis: Axis, groups: Sequence[Ratios]) -> Iterator[str]:
    y = 0
    for group in groups:
        yield text(0, y + 20, group.title, BOLD) + text(_x(100) + GAP, y + 20, group.better, Style(size=11))
        y += HEAD
        left, right = _x(axis.matter_left), _x(axis.matter_right)
        high = ROW * len(group.rows)
        yield f'<rect x="{left:.1f}" y="{y}" width="{right - left:.1f}" height="{high}" fill="var(--grid)" fill-opacity="0.6"/>'
        for at, _ in axis.ticks:
            colour = "--axis" if at == axis.one else "--grid"
            yield f'<line x1="{_x(at):.1f}" x2="{_x(at):.1f}" y1="{y}" y2="{y + high}" stroke="var({colour})"/>'
        for row in group.rows:
            yield f"<g><title>{escape(row.why)}</title>{''.join(_row(row, y + ROW / 2))}</g>"
            y += ROW
        for at, label in axis.ticks:
            yield text(_x(at), y + 13, label, Style(anchor="middle", size=11))
        y += FOOT


def _row(row: ForestRow, y: float) -> Iterator[str]:
    matters = row.comparison.conclusion is Conclusion.MATTERS
    colour = "var(--ink)" if matters else "var(--muted)"
    inner = colour if matters else "var(--paper)"
    left, right = _x(row.left), _x(row.right)
    yield text(NAMES - 6, y + 4, row.condition, PLAIN)
    if right > left or not row.outside:
        yield f'<rect x="{left:.1f}" y="{y - 1.5}" width="{max(2.0, right - left):.1f}" height="3" rx="1.5" fill="{colour}"/>'
    if not row.outside:
        yield f'<circle cx="{_x(row.at):.1f}" cy="{y}" r="4.5" fill="{inner}" stroke="{colour}" stroke-width="2"/>'
    yield from _arrows(row, y, colour)
    yield text(_x(100) + GAP, y + 4, row.text, BOLD) + text(_x(100) + GAP + 48, y + 4, row.interval, QUIET)
    yield text(
        _x(100) + 2 * GAP + FIGURES, y + 4, f"{row.comparison.conclusion.value} · {row.state.value}", BOLD if matters else QUIET
    )


def _arrows(row: ForestRow, y: float, colour: str) -> Iterator[str]:
    """Heads of arrows at the ends of the axis, for what goes on beyond them."""
    for shown, at, back in ((row.before, 0, 8), (row.after, 100, -8)):
        if shown:
            yield f'<path d="M{_x(at):.1f} {y}l{back} -5v10z" fill="{colour}"/>'


def _x(percent: float) -> float:
    """Pixels of a place on the axis."""
    return NAMES + GAP + TRACK * percent / 100


def _table(experiment: Experiment, groups: Sequence[Ratios]) -> Table:
    rows = (
        (
            group.title,
            f"{marks.levels(experiment, {row.comparison.factor: row.comparison.candidate})}, {_where(experiment, row)}",
            row.text,
            row.interval,
            row.comparison.conclusion.value,
            row.state.value,
            row.why,
        )
        for group in groups
        for row in group.rows
    )
    return Table(head=("measure", "compared", "ratio", "interval", "conclusion", "verdict", "why"), rows=tuple(rows))


def _where(experiment: Experiment, row: ForestRow) -> str:
    """Against which level, under which conditions."""
    conditions = f" at {marks.levels(experiment, row.comparison.within)}" if row.comparison.within else ""
    return f"against {marks.level(experiment, row.comparison.factor, row.comparison.baseline)}{conditions}"


REACH, FARTHEST = 8.0, 1000.0
"""Intervals are drawn up to eight times, and farther only as far as a ratio goes."""
EDGE = 0.04
"""Of the width: what is left free beyond the outermost end."""


@dataclass(frozen=True, kw_only=True)
class ForestRow:
    """One comparison as a row: where its interval lies on the shared axis, in percent of its width."""

    comparison: Comparison
    condition: str
    text: str
    interval: str
    left: float
    right: float
    at: float
    before: bool
    """Whether the interval goes on to the left of the axis."""
    after: bool
    """Whether it goes on to the right of it."""
    outside: bool
    """Whether the ratio itself is not on the axis."""
    state: VerdictState
    why: str
    rules: str
    """Ids of the rules among the causes."""


@dataclass(frozen=True, kw_only=True)
class Ratios:
    """The comparisons of one measure."""

    measure: str
    title: str
    better: str
    rows: tuple[ForestRow, ...]


@dataclass(frozen=True, kw_only=True)
class Axis:
    """The axis of the ratios: logarithmic, so that twice is as far from one as half, and as long as the data ask for."""

    low: float
    high: float
    ticks: tuple[tuple[float, str], ...]
    """(percent of the width, label)."""
    one: float
    matter_left: float
    matter_right: float

    def place(self, ratio: float) -> float:
        """Percent of the width at which a ratio stands, kept inside the axis."""
        return _place(min(max(ratio, self.low), self.high), self.low, self.high)


def _place(ratio: float, low: float, high: float) -> float:
    return round(100 * math.log(ratio / low) / math.log(high / low), 2)


def axis(results: Results) -> Axis | None:
    """The axis that holds one and all ratios, and their intervals up to eight times; None where nothing was compared."""
    estimates = [one.ratio for one in results.comparisons if one.ratio is not None and one.ratio.value > 0]
    if not estimates:
        return None
    matters = results.comparisons[0].matters_share
    low, high = _ends(estimates, matters)
    return Axis(
        low=low,
        high=high,
        ticks=tuple(
            (_place(mark, low, high), f"×{NARROW}{mark:{'.3g' if mark > 1 else '.2g'}}" if mark != 1 else "1")
            for mark in round_ratios(low, high)
        ),
        one=_place(1.0, low, high),
        matter_left=_place(max(low, 1 / (1 + matters)), low, high),
        matter_right=_place(min(high, 1 + matters), low, high),
    )


def _ends(estimates: Sequence[Estimate], matters: float) -> tuple[float, float]:
    """Where the axis begins and ends: at the data, with what matters on both sides of one."""
    least, most = (pick([1.0, *(one.value for one in estimates)]) for pick in (min, max))
    lows = [one.low or one.value for one in estimates]
    highs = [one.high or one.value for one in estimates]
    low = max(min([*lows, 1 / (1 + 2 * matters)]), min(least, 1 / REACH), 1 / FARTHEST)
    high = min(max([*highs, 1 + 2 * matters]), max(most, REACH), FARTHEST)
    free = (high / low) ** EDGE
    return low / free, high * free


def caption(groups: Iterable[Ratios], matters: float) -> str:
    """How the rows are read; `matters` is a share."""
    beyond = any(row.before or row.after for group in groups for row in group.rows)
    arrow = " An arrow: the interval goes on beyond the axis." if beyond else ""
    shaded = f"differences under {100 * matters:g} %, which do not matter"
    return f"Ratio with its interval on a logarithmic axis. Shaded: {shaded}.{arrow}"


def ratios(results: Results) -> tuple[Ratios, ...]:
    """The comparisons by measure, in the experiment's order."""
    span = axis(results)
    if span is None:
        return ()
    titles = {one.name: one for one in results.experiment.measures}
    grouped: dict[str, list[ForestRow]] = {}
    for one in results.comparisons:
        if one.ratio is not None and one.ratio.value > 0:
            grouped.setdefault(one.measure, []).append(_ratio(results, span, one))
    return tuple(
        Ratios(
            measure=name,
            title=marks.measure(titles[name]) if name in titles else name,
            better=marks.better(name),
            rows=tuple(rows),
        )
        for name, rows in grouped.items()
    )


def _ratio(results: Results, span: Axis, one: Comparison) -> ForestRow:
    assert one.ratio is not None
    low, high = one.ratio.low or one.ratio.value, one.ratio.high or one.ratio.value
    verdict = results.comparison_verdicts.get(one.id)
    causes = why(results, one, verdict)
    text, *ends = digits(one.ratio)
    return ForestRow(
        comparison=one,
        condition=", ".join(_named(results.experiment, one)),
        text=text,
        interval=f"{ends[0]} to {ends[1]}" if one.ratio.low is not None else "no interval",
        left=span.place(low),
        right=span.place(high),
        at=span.place(one.ratio.value),
        before=low < span.low,
        after=high > span.high,
        outside=not span.low <= one.ratio.value <= span.high,
        state=verdict.state if verdict else VerdictState.UNVERIFIED,
        why="; ".join(map(reason, causes)),
        rules=" ".join(dict.fromkeys(each.cause.rule for each in causes if each.cause)),
    )


def _named(experiment: Experiment, one: Comparison) -> Iterable[str]:
    """Which arms, and under which conditions."""
    baseline = marks.level(experiment, one.factor, one.baseline)
    yield f"{sentence.candidate_of(experiment, one)} {'against' if type(one.candidate) in (int, float) else 'to'} {baseline}"
    if one.within:
        yield marks.levels(experiment, one.within)
