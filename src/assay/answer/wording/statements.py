"""Comparisons and troughs in words: of which measure and where, who is better by how much, what sittings cannot tell."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from assay import measures
from assay.answer.wording import comparison as sentence
from assay.answer.wording import names
from assay.records import Comparison, Estimate, Measure, Value
from assay.rulekit.pairs import NOTEBOOK

HULL = "hull"
"""In the method of an estimate that holds the intervals against several baseline sittings."""


def statement(comparison: Comparison, measure: Measure) -> str:
    """One sentence: measure, conditions, conclusion, ratio with its interval, and for sittings what they cannot tell."""
    where = ", ".join(part for part in (names.measure(measure), names.levels(comparison.within)) if part)
    text = f"{where}: {sentence.answer(comparison, measure.figure)}"
    return f"{text}; {sittings(comparison)}" if is_apart(comparison) else text


def is_apart(comparison: Comparison) -> bool:
    """Whether the arms were measured in sittings of their own and have an interval."""
    ratio = comparison.ratio
    return ratio is not None and ratio.low is not None and ratio.method.startswith("unpaired")


def sittings(comparison: Comparison) -> str:
    """What the sittings say of drift."""
    assert comparison.ratio is not None
    if comparison.factor == NOTEBOOK:
        return "not interleaved: whatever else changed between the two notebooks would look the same"
    if HULL not in comparison.ratio.method:
        return "not interleaved: a drift between the sittings would look the same (`returns = 1` would show it)"
    return "not interleaved: the interval holds those against each of the baseline sittings"


def trough(measure: Measure, depth: Estimate, levels: Mapping[str, Value], beside: tuple[str, Sequence[Value]]) -> str:
    """One sentence: measure, conditions, the level and how its figure stands to that of its neighbours."""
    path, neighbours = beside
    others = names.levels({name: level for name, level in levels.items() if name != path})
    where = ", ".join(part for part in (names.measure(measure), others) if part)
    value, low, high = sentence.digits(depth)
    sure = f"{measures.percent(depth.confidence)} interval {low} to {high}"
    around = " and ".join(names.level(level) for level in neighbours)
    better = "" if depth.value < 1 else "; lower is better"
    return f"{where}: {path} = {names.level(levels[path])} gives {value} times ({sure}) what its neighbours {around} give{better}"
