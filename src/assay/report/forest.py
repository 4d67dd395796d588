"""Every ratio with its interval on one logarithmic axis."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass

from assay.answer import marks
from assay.answer.reasons import why
from assay.answer.scales import NARROW
from assay.answer.wording import comparison as sentence
from assay.measures import digits
from assay.records import Comparison, Experiment, Results, Value, VerdictState

REACH = 8.0
"""The axis goes to eight times at most."""
STEPS = (1.02, 1.05, 1.1, 1.2, 1.5, 2.0, 3.0, 5.0, 8.0)
APART = 14.0
"""Percent of the width that two labels keep between them, so that they do not touch on a narrow page."""


@dataclass(frozen=True, kw_only=True)
class Ratio:
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
    rows: tuple[Ratio, ...]


@dataclass(frozen=True, kw_only=True)
class Axis:
    """The axis of the ratios: logarithmic, so that twice and half are equally far from one."""

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
    """The axis that holds all intervals, at most from an eighth to eight times; None where nothing was compared."""
    estimates = [one.ratio for one in results.comparisons if one.ratio is not None and one.ratio.value > 0]
    if not estimates:
        return None
    matters = results.comparisons[0].matters_share
    ends = [one.low or one.value for one in estimates] + [one.high or one.value for one in estimates]
    reach = max([math.log(1 + 2 * matters), *(abs(math.log(end)) for end in ends if end > 0)]) * 1.08
    reach = min(reach, math.log(REACH) * 1.03)
    low, high = math.exp(-reach), math.exp(reach)
    return Axis(
        low=low,
        high=high,
        ticks=tuple(
            (_place(mark, low, high), f"×{NARROW}{mark:{'.3g' if mark > 1 else '.2g'}}" if mark != 1 else "1")
            for mark in _marks(low, high)
        ),
        one=_place(1.0, low, high),
        matter_left=_place(max(low, 1 / (1 + matters)), low, high),
        matter_right=_place(min(high, 1 + matters), low, high),
    )


def _marks(low: float, high: float) -> list[float]:
    """One and round ratios on both sides, the outermost first, with room for their labels between them."""
    kept: list[float] = []
    for step in reversed(STEPS):
        at = _place(step, low, high) if step <= high else 100.0
        if at <= 96 and all(abs(at - _place(other, low, high)) >= APART for other in (1.0, *kept)):
            kept.append(step)
    return sorted([1.0, *kept, *(1 / step for step in kept)])


def caption(groups: Iterable[Ratios], matters: float) -> str:
    """How the rows are read; `matters` is a share."""
    beyond = any(row.before or row.after for group in groups for row in group.rows)
    said = f"Ratio with its interval on a logarithmic axis. Shaded: differences under {100 * matters:g} %, which do not matter."
    return said + (" An arrow stands for what goes on beyond the axis." if beyond else "")


def ratios(results: Results) -> tuple[Ratios, ...]:
    """The comparisons by measure, in the experiment's order."""
    span = axis(results)
    if span is None:
        return ()
    titles = {one.name: one for one in results.experiment.measures}
    grouped: dict[str, list[Ratio]] = {}
    for one in results.comparisons:
        if one.ratio is not None and one.ratio.value > 0:
            grouped.setdefault(one.measure, []).append(_ratio(results, span, one))
    return tuple(
        Ratios(
            measure=name,
            title=marks.measure(titles[name]) if name in titles else name,
            better="lower is better" if marks.lower_is_better(name) else "higher is better",
            rows=tuple(rows),
        )
        for name, rows in grouped.items()
    )


def _ratio(results: Results, span: Axis, one: Comparison) -> Ratio:
    assert one.ratio is not None
    low, high = one.ratio.low or one.ratio.value, one.ratio.high or one.ratio.value
    verdict = results.comparison_verdicts.get(one.id)
    causes = why(results, one, verdict)
    text, *ends = digits(one.ratio)
    return Ratio(
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
        why="; ".join(causes),
        rules=" ".join(dict.fromkeys(re.findall(r"\((\w+)\)", " ".join(causes)))),
    )


def _is_number(level: Value) -> bool:
    return isinstance(level, int | float) and not isinstance(level, bool)


def _named(experiment: Experiment, one: Comparison) -> Iterable[str]:
    """Which arms, and under which conditions."""
    baseline = marks.level(experiment, one.factor, one.baseline)
    yield f"{sentence.candidate_of(experiment, one)} {'against' if _is_number(one.candidate) else 'to'} {baseline}"
    if one.within:
        yield marks.levels(experiment, one.within)
