"""Comparisons in words: of which measure and where, who is better by how much, what sittings cannot tell."""

from __future__ import annotations

from assay import measures
from assay.measures import words
from assay.records import Comparison, Measure

HULL = "hull"
"""In the method of an estimate that holds the intervals against several baseline sittings."""


def statement(comparison: Comparison, measure: Measure) -> str:
    """One sentence: measure, conditions, conclusion, ratio with its interval, and for sittings what they cannot tell."""
    where = ", ".join(part for part in (words.measure(measure), words.levels(comparison.within)) if part)
    text = f"{where}: {measures.answer(comparison, measure.figure)}"
    return f"{text}; {sittings(comparison)}" if is_apart(comparison) else text


def is_apart(comparison: Comparison) -> bool:
    """Whether the arms were measured in sittings of their own and have an interval."""
    ratio = comparison.ratio
    return ratio is not None and ratio.low is not None and ratio.method.startswith("unpaired")


def sittings(comparison: Comparison) -> str:
    """What the sittings say of drift."""
    assert comparison.ratio is not None
    if HULL not in comparison.ratio.method:
        return "not interleaved: a drift between the sittings would look the same (`returns = 1` would show it)"
    return "not interleaved: the interval holds those against each of the baseline sittings"
