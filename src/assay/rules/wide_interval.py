"""Finds comparisons whose confidence interval is too wide for an answer, or that have too few runs.

The rule reads the 95 % interval of the ratio and its number of pairs (unpaired: runs of the smaller arm).
- Undecided, and a half width (on logarithms) above `half_width_of_matters` of the smallest relevant effect: qualified.
- Fewer than `least_runs` pairs: qualified. Fewer than three pairs have no interval.

A wide interval that lies on one side of the relevant effect answers the question and passes.
"""

from __future__ import annotations

import math

from assay import measures
from assay.catalogue import ComparisonCase, Rule
from assay.records import Comparison, Conclusion, Estimate, Finding, Method, Scope, Severity, State
from assay.rulekit import contrasts
from assay.rulekit.findings import found


def check(case: ComparisonCase) -> Finding:
    """Fail where the interval is too wide, stands on too few runs, or is not there."""
    ratio, least = case.comparison.ratio, int(case.thresholds["least_runs"])
    allowed = case.comparison.matters_share * case.thresholds["half_width_of_matters"]
    threshold = {"runs": least, "half_width_share": allowed}
    if ratio is None or ratio.low is None or ratio.high is None:
        observed = {"runs": ratio.n if ratio else 0}
        text = without_interval(case.comparison)
        short = "no interval" if case.comparison.has_zero else "too few runs"
        advice = RULE.advice if ratio is None else enough(least, ratio.n)
        return found(RULE, case, State.FAIL, text, observed=observed, threshold=threshold, short=short, advice=advice or "")
    half = half_width(ratio.low, ratio.high)
    decided = case.comparison.conclusion is not Conclusion.UNDECIDED
    wide, few = half > allowed and not decided, ratio.n < least
    repeats = needed(ratio, allowed) if wide else least
    decides = f" It decides all the same: {case.comparison.conclusion}." if decided and half > allowed and not few else ""
    return found(
        RULE,
        case,
        State.FAIL if wide or few else State.PASS,
        (in_words(ratio, half, allowed, least) if wide or not few else few_runs(ratio, least)) + decides,
        observed={"runs": ratio.n, "half_width_share": half, "repeats": repeats},
        threshold=threshold,
        bound=contrasts.interval_of(case.comparison) if wide or few else None,
        short="interval too wide" if wide else "too few runs",
        advice=enough(repeats, ratio.n),
    )


def needed(ratio: Estimate, allowed: float) -> int | None:
    """How many pairs make the interval as narrow as allowed, by the spread of these; None of methods without a spread."""
    from assay.statistics.intervals import spread_of, values_within  # a watched command needs none of it

    if ratio.low is None or ratio.high is None or ratio.low <= 0:
        return None
    spread = spread_of(math.log(ratio.high / ratio.low) / 2, ratio.n)
    return values_within(math.log1p(allowed), spread)


def enough(repeats: int | None, now: int) -> str:
    """What to do: how many repeats there must be."""
    if repeats is None:
        return RULE.advice or ""
    if repeats > MOST_REPEATS:
        return f"Check noise (N02) and leftovers (W07): with this spread more than {MOST_REPEATS:,} repeats are needed."
    noise = " If the spread itself is the problem, check noise (N02) and leftovers of the previous trial (W07)."
    return f"Use `repeats = {repeats:,}` ({now} now).{noise}"


MOST_REPEATS = 10_000


def few_runs(ratio: Estimate, least: int) -> str:
    """The finding where nothing but runs is missing."""
    return f"{counted(ratio, 'runs')} per arm (use at least {least})."


def counted(ratio: Estimate, what: str) -> str:
    """How many runs a ratio stands on; of a duet how many preparations."""
    return f"{ratio.n} {'preparations' if ratio.method is Method.PAIRED_PREPARATIONS else what}"


def without_interval(comparison: Comparison) -> str:
    """The finding on a ratio without an interval, in words."""
    ratio = comparison.ratio
    if ratio is None:
        return f"No ratio: {'a value is 0' if comparison.has_zero else 'at least one arm has no valid runs'}."
    runs = f"{ratio.n} runs per arm" if ratio.method.unpaired else f"{counted(ratio, 'pairs of runs')}"
    needed = contrasts.least(ratio.method)
    why = f"use at least {needed}" if ratio.n < needed else "the mean of an arm may be 0"
    return f"No confidence interval: {runs} ({why}). The ratio may be noise."


def half_width(low: float, high: float) -> float:
    """Half the width of an interval of a ratio on the logarithmic scale, as a share of the ratio."""
    return math.expm1(math.log(high / low) / 2)


def in_words(ratio: Estimate, half: float, allowed: float, least: int) -> str:
    """The finding in words."""
    far = f"±{measures.percent(half)}" if half < 1 else f"{measures.difference(half)} to either side"
    wide = f"Confidence interval {far} (limit ±{measures.percent(allowed)})"
    return f"{wide}. {counted(ratio, 'runs')} per arm{f' (use at least {least})' if ratio.n < least else ''}."


RULE = Rule(
    id="S02",
    name="wide-interval",
    scope=Scope.COMPARISON,
    severity=Severity.QUALIFIES,
    part="statistics",
    short="interval too wide",
    check=check,
    wrong="Three runs of each system differ by 4 %, and a decision follows, although three other runs would have given -2 %. A "
    "mean without its interval hides this. So does an interval that is not compared with the effect that matters.",
    alternatives=(
        "Latencies with long pauses have heavy tails. A median or a lower percentile has a narrower interval.",
        "The spread comes from a level that is repeated too rarely (layout, boot). More runs of one layout do not narrow it.",
    ),
    advice="Add repeats. If the spread itself is the problem, check noise (N02) and leftovers of the previous trial (W07).",
    ask="ask for more digits, and for the spread of repeated runs",
    sources=(
        "Kalibera and Jones, ISMM 2013: Rigorous benchmarking in reasonable time",
        "Maricq et al., OSDI 2018: Taming performance variability",
        "Georges, Buytaert and Eeckhout, OOPSLA 2007: Statistically rigorous Java performance evaluation",
    ),
)
