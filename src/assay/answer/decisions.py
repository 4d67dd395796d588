"""Answers about a count that belong to the decision: up to where requirements are kept, break-even, saturation."""

from __future__ import annotations

from collections.abc import Iterator

from assay.frozen import dataclass
from assay.records import Comparison, Conclusion, Measure, Results, Scaling, ScalingKind


@dataclass(frozen=True, kw_only=True)
class Decision:
    """An answer about a count that belongs to the decision."""

    scaling: Scaling
    known: bool
    """Whether there is a number whose interval is not all that was measured."""
    one_order: bool = False
    """Whether one arm leads, beyond noise, at all numbers."""


def decisions(results: Results, measure: Measure) -> Iterator[Decision]:
    """Up to where requirements are kept, then break-even and saturation of the measure."""
    kept = (one for one in results.scaling if one.kind is ScalingKind.OBJECTIVE and one.at is not None)
    yield from (Decision(scaling=one, known=True) for one in kept)
    for one in results.scaling:
        if one.kind is ScalingKind.BREAK_EVEN and one.measure == measure.name:
            yield Decision(scaling=one, known=not _covers(one), one_order=one.at is None and _one_order(results, one))
        elif one.kind is ScalingKind.SATURATION and one.at is not None and not _covers(one):
            yield Decision(scaling=one, known=True)


def _one_order(results: Results, one: Scaling) -> bool:
    """Whether the same arm is ahead, beyond noise, in all comparisons of the two arms, under the conditions of the break-even."""
    mine = [found for found in results.comparisons if found.measure == one.measure and _is_of(found, one)]
    apart = all(found.conclusion in (Conclusion.MATTERS, Conclusion.IMMATERIAL) for found in mine)
    return apart and len({found.ratio.value > 1 for found in mine if found.ratio is not None}) == 1


def _is_of(found: Comparison, one: Scaling) -> bool:
    """Whether a comparison is of the arms of a break-even, under its conditions."""
    order = one.order
    if order is None or (found.factor, found.candidate, found.baseline) != (order.compared, order.candidate, order.baseline):
        return False
    return all(found.within.get(path) == level for path, level in one.within.items() if path != order.compared)


def _covers(one: Scaling) -> bool:
    """Whether the interval of the number is all that was measured: then nothing is known of it."""
    at = one.at
    return at is None or at.low is None or at.high is None or (at.low <= one.lowest and at.high >= one.highest)
