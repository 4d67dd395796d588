"""Finds comparisons whose interval is too wide for an answer, or that stand on too few runs.

Evidence: the interval of the ratio. Where it leaves the answer open, its half width, as a share of the ratio, is held against
half of what matters to the experiment; a wide one that lies on one side of all that matters answers. Fewer than five pairs
qualify a comparison whatever their spread, and fewer than three give no interval.
"""

from __future__ import annotations

import math

from assay import measures
from assay.catalogue import Case, ComparisonCase, Rule
from assay.records import Bound, Conclusion, Estimate, Finding, Scope, Severity, State
from assay.rulekit import contrasts
from assay.rulekit.applicability import comparisons_only
from assay.rulekit.findings import found

ALTERNATIVES = (
    "Latencies with long pauses have heavy tails by nature: a median or a lower percentile has a narrower interval.",
    "The spread may come from a level that is repeated too rarely (layout, boot): more runs of one layout do not narrow it.",
)
ADVICE = (
    "More repeats: `assay plan` says how many this spread asks for. Where the spread itself is the problem, look at the rules "
    "on noise (N02) and on what is left over from the trial before (W07)."
)


def check(case: Case) -> Finding:
    """Fail where the interval is too wide, stands on too few runs, or is not there."""
    assert isinstance(case, ComparisonCase)
    ratio, least = case.comparison.ratio, int(case.thresholds["least_runs"])
    allowed = case.comparison.matters_share * case.thresholds["half_width_of_matters"]
    threshold = {"runs": least, "half_width_share": allowed}
    if ratio is None or ratio.low is None or ratio.high is None:
        n = ratio.n if ratio else 0
        return found(RULE, case, State.FAIL, without_interval(ratio), observed={"runs": n}, threshold=threshold)
    half = half_width(ratio.low, ratio.high)
    decided = case.comparison.conclusion is not Conclusion.UNDECIDED
    wide, few = half > allowed and not decided, ratio.n < least
    answers = decided and half > allowed and not few
    return found(
        RULE,
        case,
        State.FAIL if wide or few else State.PASS,
        said(ratio, half, allowed, least) + (f" Wide as it is, it answers: {case.comparison.conclusion}." if answers else ""),
        observed={"runs": ratio.n, "half_width_share": half},
        threshold=threshold,
        bound=Bound(low=ratio.low, high=ratio.high, unit="ratio") if wide or few else None,
    )


def without_interval(ratio: Estimate | None) -> str:
    """The finding on a ratio without an interval, in words."""
    if ratio is None:
        return "No ratio: one arm has no valid runs."
    runs = f"{ratio.n} {'pairs of runs' if ratio.method.paired else 'runs per arm'}"
    needed = contrasts.least(ratio.method)
    why = f"at least {needed} needed" if ratio.n < needed else "by its spread the mean of an arm may be 0"
    return f"No confidence interval: {runs}, {why}. The ratio may be noise."


def half_width(low: float, high: float) -> float:
    """Half the width of an interval of a ratio on the logarithmic scale, as a share of the ratio."""
    return math.expm1(math.log(high / low) / 2)


def said(ratio: Estimate, half: float, allowed: float, least: int) -> str:
    """The finding in words."""
    wide = f"The interval is {measures.percent(half)} to either side; {measures.percent(allowed)} is allowed"
    few = f"{ratio.n} runs an arm, at least {least} are expected" if ratio.n < least else f"{ratio.n} runs an arm"
    return f"{wide}; {few}."


RULE = Rule(
    id="S02",
    name="wide-interval",
    scope=Scope.COMPARISON,
    severity=Severity.QUALIFIES,
    part="statistics",
    needs=(),
    applies=comparisons_only,
    check=check,
    alternatives=ALTERNATIVES,
    advice=ADVICE,
    sources=(
        "Kalibera and Jones, ISMM 2013: Rigorous benchmarking in reasonable time",
        "Maricq et al., OSDI 2018: Taming performance variability",
        "Georges, Buytaert and Eeckhout, OOPSLA 2007: Statistically rigorous Java performance evaluation",
    ),
)
