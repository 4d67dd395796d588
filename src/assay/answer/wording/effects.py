"""Effects of factors in words: the answer first, which factor matters most and by how much."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from assay import measures
from assay.answer.wording import names
from assay.answer.wording.comparison import LEVEL, unseen
from assay.records import Cell, Conclusion, DesignKind, Estimate, FactorEffect, Measure

TIMES = 2.0
"""From this ratio on an effect is told as so many times, below it in percent."""
NARROW_INTERVAL = 0.04
"""Intervals of fewer points are told with a decimal."""
KINDS = {
    Conclusion.MATTERS: "matters",
    Conclusion.IMMATERIAL: "too little to matter",
    Conclusion.EQUIVALENT: "no effect that would matter",
    Conclusion.UNDECIDED: "undecided",
}
LEADS = (Conclusion.MATTERS, Conclusion.UNDECIDED, Conclusion.IMMATERIAL, Conclusion.EQUIVALENT)
"""Of the steps of one factor the one with the first of these conclusions stands for it."""


def answer(measure: Measure, kind: DesignKind, effects: Sequence[FactorEffect], matters_share: float, empty: Cell | None) -> str:
    """The answer: what matters most, what matters too, what only matters together, and what does not or is not known."""
    if all(one.ratio is None for one in effects):
        why = "a value is 0" if empty is None else f"no run counts at {names.levels(empty.levels)}"
        return f"{measure.name}: no effect can be told: {why}."
    own = foremost([one for one in effects if len(one.steps) == 1])
    pairs = foremost([one for one in effects if len(one.steps) > 1])
    strong = [one for one in own if one.conclusion is Conclusion.MATTERS]
    together = [one for one in pairs if one.conclusion is Conclusion.MATTERS]
    entangled = {step.factor for one in together for steps in (one.steps, *one.mixed_with) for step in steps}
    others = (f"{one.steps[0].factor} too: {told(one)}{average(one, entangled)}" for one in strong[1:])
    first = [leading(own, strong, matters_share) + (average(strong[0], entangled) if strong else ""), *others]
    figure = measures.figure_kind(measure.figure)
    sentences = (
        f"{measure.name}: {'; '.join(first)}",
        f"together: {'; '.join(map(bare, together))}" if together else "",
        *rest(own, entangled),
        open_pairs([one for one in pairs if one.conclusion is Conclusion.UNDECIDED]),
        "" if empty is None else f"no run counts at {names.levels(empty.levels)}",
        suspicion(kind, own),
        "lower is better" if figure is not None and figure.better is measures.Better.LOWER else "",
    )
    begun = [f"{one[0].upper()}{one[1:]}" if place else one for place, one in enumerate(filter(None, sentences))]
    return f"{'. '.join(begun)}."


def foremost(effects: Sequence[FactorEffect]) -> list[FactorEffect]:
    """Of each factor, or pair of factors, the step that stands for it: the largest one of the weightiest conclusion."""
    found: dict[tuple[str, ...], FactorEffect] = {}
    for one in sorted(effects, key=lambda effect: LEADS.index(effect.conclusion)):
        found.setdefault(tuple(step.factor for step in one.steps), one)
    return list(found.values())


def average(one: FactorEffect, entangled: Collection[str]) -> str:
    """That an effect is the average over the levels of another factor, on which it depends."""
    return " on average" if one.steps[0].factor in entangled else ""


def leading(own: Sequence[FactorEffect], strong: Sequence[FactorEffect], matters_share: float) -> str:
    """The beginning: the largest effect that matters, or that none is shown to."""
    if strong:
        return f"{strong[0].steps[0].factor} matters most: {told(strong[0])}"
    shown = "" if all(one.conclusion is not Conclusion.UNDECIDED for one in own) else "is shown to "
    return f"nothing that was varied {shown}matter{'' if shown else 's'} by itself ({measures.percent(matters_share)} would)"


def rest(own: Sequence[FactorEffect], entangled: Collection[str]) -> list[str]:
    """The factors that do not matter, and those of which it is not known, each with its figure.

    Of one whose effect depends on another that is the average: it may matter at one level of the other and not at the next.
    """
    found = []
    for conclusion, word in KINDS.items():
        some = [f"{one.steps[0].factor} {told(one)}{average(one, entangled)}" for one in own if one.conclusion is conclusion]
        if some and conclusion is not Conclusion.MATTERS:
            found.append(f"{word}: {'; '.join(some)}")
    return found


def open_pairs(undecided: Sequence[FactorEffect]) -> str:
    """That it is not known of some pairs what they do together; empty where it is of all."""
    known = [one for one in undecided if one.ratio is not None]
    if not known:
        return ""
    pairs, largest = ("1 pair does", "") if len(known) == 1 else (f"{len(known)} pairs do", "the largest: ")
    return f"what {pairs} together is undecided: {largest}{bare(known[0])}"


def suspicion(kind: DesignKind, own: Sequence[FactorEffect]) -> str:
    """What to think of effects that pairs of other factors may have made, all or in part; what was not looked at."""
    if kind is DesignKind.ONE_AT_A_TIME:
        return "what two factors do together was not looked at"
    mixed = kind is DesignKind.SCREENING or any(one.mixed_with for one in own)
    return "each of these may be what two other factors do together: vary the largest again in a full design" if mixed else ""


def effect(one: FactorEffect) -> str:
    """One effect in a sentence, with what it cannot be told from."""
    if one.ratio is None:
        return f"{' with '.join(step.factor for step in one.steps)}: no effect can be told"
    said = f"{bare(one)}: {conclusion(one)}"
    mixed = f"; it may be that of {pairs_of(one)}" if len(one.steps) == 1 and one.mixed_with else ""
    return said + mixed


def bare(one: FactorEffect) -> str:
    """The effect without what follows from it."""
    first, second = one.steps[0], one.steps[-1]
    if one.ratio is None or first is second:
        return f"{first.factor} {told(one)}"
    size = f"the ratio of one is {factor(one.ratio)} as large with the other"
    if one.mixed_with:
        return f"{first.factor} with {second.factor}, or {pairs_of(one)} (not told apart here): {size}"
    ends = f": {percent(one.within[0])} becomes {percent(one.within[1])}" if one.within else ""
    return (
        f"the ratio of {first.factor} = {names.level(first.level)} is {factor(one.ratio)} as large with "
        f"{second.factor} = {names.level(second.level)}{ends}"
    )


def pairs_of(one: FactorEffect) -> str:
    """`a with b, or c with d`."""
    return ", or ".join(" with ".join(step.factor for step in steps) for steps in one.mixed_with)


def conclusion(one: FactorEffect) -> str:
    """What follows, and where nothing does, why not."""
    word = KINDS[one.conclusion]
    if one.conclusion is not Conclusion.UNDECIDED:
        return word
    if one.adjusted_p_value is not None and one.p_value is not None and one.p_value <= LEVEL < one.adjusted_p_value:
        return f"{word}, not established among all that were looked at (Holm p = {one.adjusted_p_value:.2g})"
    if one.adjusted_p_value is not None and one.adjusted_p_value <= LEVEL:
        return f"{word}, there is an effect, but whether it matters is open"
    return f"{word}, {unseen(one.detectable_share)}"


def told(one: FactorEffect) -> str:
    """`-38 % (-41 to -35) with external instead of internal`."""
    size = "not known" if one.ratio is None else change(one.ratio)
    step = one.steps[0]
    return f"{size} with {names.level(step.level)} instead of {names.level(step.baseline)}"


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
