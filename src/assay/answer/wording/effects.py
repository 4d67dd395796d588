"""Effects of factors in words: the answer first, which factor matters most and by how much."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from assay import measures
from assay.analysis.cells import measure_of
from assay.answer.wording.comparison import unseen
from assay.measures.text import level, levels
from assay.records import Conclusion, DesignKind, Estimate, Experiment, FactorEffect, Sensitivity
from assay.statistics.significance import LEVEL

TIMES = 2.0
"""From this ratio on an effect is told as so many times, below it in percent."""
NARROW_INTERVAL = 0.04
"""Intervals of fewer points are told with a decimal."""
KINDS = {
    Conclusion.MATTERS: "matters",
    Conclusion.IMMATERIAL: "too little to matter",
    Conclusion.EQUIVALENT: "no relevant effect",
    Conclusion.UNDECIDED: "undecided",
}
LEADS = (Conclusion.MATTERS, Conclusion.UNDECIDED, Conclusion.IMMATERIAL, Conclusion.EQUIVALENT)
"""Of the steps of one factor the one with the first of these conclusions stands for it."""


def statement(experiment: Experiment, one: Sensitivity) -> str:
    """Put the answer of a design in sentences, its measure by its name in the file."""
    first, *rest = sentences(experiment, one)
    return f"{'. '.join((f'{one.measure}: {first}', *rest))}."


def sentences(experiment: Experiment, one: Sensitivity) -> list[str]:
    """Give the sentences: what matters most and what matters too; what only matters together; what does not or is not known."""
    empty = "" if one.empty is None else f"no valid run at {levels(experiment, one.empty)}"
    if all(each.ratio is None for each in one.effects):
        return [f"no effect can be estimated: {empty or 'a value is 0'}"]
    own = foremost([each for each in one.effects if len(each.steps) == 1])
    pairs = foremost([each for each in one.effects if len(each.steps) > 1])
    strong = [each for each in own if each.conclusion is Conclusion.MATTERS]
    together = [each for each in pairs if each.conclusion is Conclusion.MATTERS]
    entangled = {step.factor for each in together for steps in (each.steps, *each.mixed_with) for step in steps}
    too = (f"{each.steps[0].factor} too: {change_of(experiment, each)}{average(each, entangled)}" for each in strong[1:])
    first = leading(experiment, own, strong, one.matters_share) + (average(strong[0], entangled) if strong else "")
    figure = measures.figure_kind(measure_of(experiment, one.measure).figure)
    found = (
        f"together: {'; '.join(bare(experiment, each) for each in together)}" if together else "",
        *rest(experiment, own, entangled),
        open_pairs(experiment, [each for each in pairs if each.conclusion is Conclusion.UNDECIDED]),
        empty,
        suspicion(one.design, own),
        "lower is better" if figure is not None and figure.better is measures.Better.LOWER else "",
    )
    return ["; ".join((first, *too)), *(f"{each[0].upper()}{each[1:]}" for each in found if each)]


def foremost(effects: Sequence[FactorEffect]) -> list[FactorEffect]:
    """Of each factor, or pair of factors, the step that stands for it: the largest one of the weightiest conclusion."""
    found: dict[tuple[str, ...], FactorEffect] = {}
    for one in sorted(effects, key=lambda effect: LEADS.index(effect.conclusion)):
        found.setdefault(tuple(step.factor for step in one.steps), one)
    return list(found.values())


def average(one: FactorEffect, entangled: Collection[str]) -> str:
    """That an effect is the average over the levels of another factor, on which it depends."""
    return " on average" if one.steps[0].factor in entangled else ""


def leading(experiment: Experiment, own: Sequence[FactorEffect], strong: Sequence[FactorEffect], matters_share: float) -> str:
    """Begin with the largest effect that matters, or that none is shown to."""
    if strong:
        return f"{strong[0].steps[0].factor} matters most: {change_of(experiment, strong[0])}"
    shown = "matters" if all(one.conclusion is not Conclusion.UNDECIDED for one in own) else "is shown to matter"
    return f"no factor {shown} by itself (limit {measures.percent(matters_share)})"


def rest(experiment: Experiment, own: Sequence[FactorEffect], entangled: Collection[str]) -> list[str]:
    """Name the factors that do not matter, and those of which it is not known, each with its figure.

    Of one whose effect depends on another that is the average: it may matter at one level of the other and not at the next.
    """
    found = []
    for conclusion, word in KINDS.items():
        same = [one for one in own if one.conclusion is conclusion]
        texts = [f"{one.steps[0].factor} {change_of(experiment, one)}{average(one, entangled)}" for one in same]
        if texts and conclusion is not Conclusion.MATTERS:
            found.append(f"{word}: {'; '.join(texts)}")
    return found


def open_pairs(experiment: Experiment, undecided: Sequence[FactorEffect]) -> str:
    """Name the interactions that are not decided; empty where all are."""
    known = [one for one in undecided if one.ratio is not None]
    if not known:
        return ""
    pairs = "undecided interaction" if len(known) == 1 else f"{len(known)} interactions are undecided; the largest"
    return f"{pairs}: {bare(experiment, known[0])}"


def suspicion(kind: DesignKind, own: Sequence[FactorEffect]) -> str:
    """Say which effects pairs of other factors may have made, all or in part; which were not tested."""
    if kind is DesignKind.ONE_AT_A_TIME:
        return "interactions were not tested"
    mixed = kind is DesignKind.SCREENING or any(one.mixed_with for one in own)
    return "each effect may be an interaction of two other factors: vary the largest again in a full design" if mixed else ""


def effect(experiment: Experiment, one: FactorEffect) -> str:
    """Put one effect in a sentence, with what it cannot be told from."""
    if one.ratio is None:
        return f"{' with '.join(step.factor for step in one.steps)}: no effect can be estimated"
    mixed = f"; aliased with {pairs_of(one)}" if len(one.steps) == 1 and one.mixed_with else ""
    return f"{bare(experiment, one)}: {conclusion(one)}{mixed}"


def bare(experiment: Experiment, one: FactorEffect) -> str:
    """Give the effect without what follows from it."""
    first, second = one.steps[0], one.steps[-1]
    if one.ratio is None or first is second:
        return f"{first.factor} {change_of(experiment, one)}"
    size = f"the ratio of one is {factor(one.ratio)} as large with the other"
    if one.mixed_with:
        return f"{first.factor} with {second.factor}, or {pairs_of(one)} (aliased): {size}"
    ends = f": {percent(one.within[0])} becomes {percent(one.within[1])}" if one.within else ""
    arms = [f"{step.factor} = {level(experiment, step.factor, step.level)}" for step in (first, second)]
    return f"the ratio of {arms[0]} is {factor(one.ratio)} as large with {arms[1]}{ends}"


def pairs_of(one: FactorEffect) -> str:
    """`a with b, or c with d`."""
    return ", or ".join(" with ".join(step.factor for step in steps) for steps in one.mixed_with)


def conclusion(one: FactorEffect) -> str:
    """Say what follows, and where nothing does, why not."""
    word = KINDS[one.conclusion]
    if one.conclusion is not Conclusion.UNDECIDED:
        return word
    if one.adjusted_p_value is not None and one.p_value is not None and one.p_value <= LEVEL < one.adjusted_p_value:
        return f"{word}, not significant after Holm correction (p = {one.adjusted_p_value:.2g})"
    if one.adjusted_p_value is not None and one.adjusted_p_value <= LEVEL:
        return f"{word}, there is an effect, but whether it matters is open"
    return f"{word}, {unseen(one.detectable_share)}"


def change_of(experiment: Experiment, one: FactorEffect) -> str:
    """`-38 % (-41 to -35) with external instead of internal`."""
    size, step = "not known" if one.ratio is None else change(one.ratio), one.steps[0]
    there, here = (level(experiment, step.factor, each) for each in (step.level, step.baseline))
    return f"{size} with {there} instead of {here}"


def change(ratio: Estimate) -> str:
    """`-38 % (-41 to -35)`, `2.31 times (2.2 to 2.42)`: a ratio as a change, without its interval where there is none."""
    if ratio.low is None or ratio.high is None:
        return f"{percent(ratio.value)} (n = {ratio.n}, no interval)"
    if ratio.value >= TIMES:
        return factor(ratio)
    digits = int(ratio.high - ratio.low < NARROW_INTERVAL)
    low, high = (points(edge, digits) for edge in (ratio.low, ratio.high))
    return f"{points(ratio.value, digits)} % ({low} to {high})"


def factor(ratio: Estimate) -> str:
    """`1.42 times (1.31 to 1.54)`."""
    span = f" ({ratio.low:.3g} to {ratio.high:.3g})" if ratio.low is not None else ""
    return f"{ratio.value:.3g} times{span}"


def percent(ratio: float) -> str:
    """`-38 %`, or so many times."""
    return f"{ratio:.3g} times" if ratio >= TIMES else f"{points(ratio, int(abs(ratio - 1) < 0.1))} %"


def points(ratio: float, digits: int) -> str:
    """A ratio as percentage points of change, with its sign; 0 has none."""
    number = round(100 * (ratio - 1), digits)
    return f"{number:+.{digits}f}" if number else "0"
