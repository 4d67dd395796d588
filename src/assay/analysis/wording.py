"""Comparisons in words: which is better, by how much, how sure, and what could not have been seen."""

from __future__ import annotations

from collections.abc import Sequence

from assay import measures
from assay.records import Comparison, Conclusion, Measure, Value
from assay.statistics.contrast import Contrast


def statement(comparison: Comparison, measure: Measure, contrasts: Sequence[Contrast]) -> str:
    """One sentence: the ratio with its interval, the conclusion, and for sittings what they cannot tell."""
    ratio = comparison.ratio
    pair = f"{named(comparison.candidate)} / {named(comparison.baseline)}"
    if ratio is None:
        return f"{pair}: no ratio, for {why_none(comparison)}"
    if ratio.low is None or ratio.high is None:
        return f"{pair} = {ratio.value:.3f} from {ratio.n} {pairs(comparison, ratio.n)}: fewer than 3 give no interval"
    text = f"{pair} = {ratio.value:.3f} ({ratio.low:.3f} to {ratio.high:.3f}): {answer(comparison, measure)}"
    return f"{text}; {sittings(contrasts)}" if is_apart(comparison) else text


def is_apart(comparison: Comparison) -> bool:
    """Whether the arms were measured in sittings of their own."""
    return comparison.ratio is not None and comparison.ratio.method.startswith("unpaired")


def why_none(comparison: Comparison) -> str:
    """Why there is no ratio."""
    if comparison.excluded:
        return f"no runs of both count ({len(comparison.excluded)} excluded)"
    return "no runs of both count, or a value is 0"


def pairs(comparison: Comparison, n: int) -> str:
    """What n counts."""
    word = "run a sitting" if is_apart(comparison) else "pair"
    return word if n == 1 else word.replace("run", "runs").replace("pair", "pairs")


def answer(comparison: Comparison, measure: Measure) -> str:
    """The conclusion with who is better."""
    ratio = comparison.ratio
    assert ratio is not None
    assert ratio.low is not None
    assert ratio.high is not None
    excluded = ratio.low > 1 or ratio.high < 1
    if comparison.conclusion is Conclusion.UNDECIDED:
        limit = comparison.detectable_share
        seen = f"could not have seen less than {measures.percent(limit)}" if limit is not None else "too few runs"
        return f"undecided: {better(comparison, measure)}, size unclear" if excluded else f"undecided: {seen}"
    if comparison.conclusion is Conclusion.EQUIVALENT:
        return f"equivalent within {measures.percent(comparison.matters_share)}"
    return f"{better(comparison, measure)}, {comparison.conclusion.value}"


def better(comparison: Comparison, measure: Measure) -> str:
    """Which of the two is better; only which is higher where the figure has no better side."""
    ratio, kind = comparison.ratio, measures.figure_kind(measure.figure)
    assert ratio is not None
    higher, lower = (
        (comparison.candidate, comparison.baseline) if ratio.value > 1 else (comparison.baseline, comparison.candidate)
    )
    if kind is None:
        return f"{named(higher)} higher"
    return f"{named(higher if kind.better is measures.Better.HIGHER else lower)} better"


def sittings(contrasts: Sequence[Contrast]) -> str:
    """What the sittings say of drift."""
    if len(contrasts) == 1:
        return "not interleaved: a drift between the sittings would look the same (`returns = 1` would show it)"
    return f"not interleaved: the interval holds those against each of the {len(contrasts)} baseline sittings"


def named(level: Value) -> str:
    """A level as it stands in the file."""
    return "+".join(named(item) for item in level) if isinstance(level, tuple) else str(level)
