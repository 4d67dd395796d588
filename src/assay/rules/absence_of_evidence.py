"""Finds comparisons without a shown difference that could be read as equality.

The rule reads the 95 % interval of the ratio and the requirements `not worse than x %` of the experiment.
- A requirement passes as shown or refuted if the whole interval lies on one side of its bound; else the comparison is bounded.
- Without a requirement, an interval within the smallest relevant effect shows equivalence (two one-sided tests), and the rule
  passes.
- Without a requirement, an interval that excludes 1 shows a difference, and the rule passes. Anything else is a note.

"Undecided" is an honest answer, so the comparison itself always stays. Only the sentence "no difference" would be wrong.
If the interval keeps its 95 %, a false requirement is called shown in at most 2.5 % of experiments (simulated).
"""

from __future__ import annotations

import math

from assay import measures
from assay.catalogue import ComparisonCase, Rule
from assay.records import Conclusion, Estimate, Finding, Requirement, RequirementKind, Scope, Severity, State
from assay.rulekit import contrasts
from assay.rulekit.findings import found


def check(case: ComparisonCase) -> Finding:
    """Fail where neither a difference nor its absence was shown; it counts where the experiment asks that nothing be lost."""
    ratio, requirement = case.comparison.ratio, required(case)
    if ratio is None or ratio.low is None or ratio.high is None:
        why = "No ratio, since a value is 0" if case.comparison.has_zero else "Too few pairs of runs for an interval"
        return unshown(case, why, requirement)
    if requirement is not None:
        return of_requirement(case, ratio, requirement)
    edges = f"confidence interval {span(ratio)}"
    if case.comparison.conclusion in (Conclusion.EQUIVALENT, Conclusion.IMMATERIAL):
        if contrasts.reaches_beyond(case.comparison):
            edges = f"90 % interval within the limits (95 % interval {span(ratio)})"
        inside = f"Equivalent within ±{measures.percent(case.comparison.matters_share)} (two one-sided tests): {edges}."
        return found(RULE, case, State.PASS, inside, observed=ends(ratio))
    if contrasts.differs(case.comparison) or case.comparison.conclusion is Conclusion.MATTERS:
        return found(RULE, case, State.PASS, f"Different: {edges} excludes 1.", observed=ends(ratio))
    return unshown(case, f"Ratio {span(ratio)}", None)


def of_requirement(case: ComparisonCase, ratio: Estimate, requirement: Requirement) -> Finding:
    """Whether the requirement is decided: the whole interval on one side of its bound."""
    kind = measures.figure_kind(case.measure.figure)
    lower_better = kind is not None and kind.better is measures.Better.LOWER
    bound = 1 + requirement.bound if lower_better else 1 - requirement.bound
    low, high = (math.nan if end is None else end for end in ratio.sure)
    kept = high <= bound if lower_better else low >= bound
    lost = low > bound if lower_better else high < bound
    if kept or lost:
        statement = f"`{requirement.text}` is {'shown' if kept else 'refuted'}: confidence interval {span(ratio)}."
        return found(RULE, case, State.PASS, statement, observed=ends(ratio), threshold={"bound": bound})
    return unshown(case, f"Ratio {span(ratio)}", requirement, bound)


def unshown(case: ComparisonCase, why: str, requirement: Requirement | None, bound: float | None = None) -> Finding:
    """The failure: a note, or what bounds the comparison where the experiment asks that nothing be lost."""
    ratio, limit = case.comparison.ratio, case.comparison.detectable_share
    interval = contrasts.interval_of(case.comparison)
    smallest = measures.difference(limit) if interval else ""
    unseen = f"; minimum detectable difference {smallest}" if smallest else ""
    undecided = "No difference shown, and no equivalence either"
    if contrasts.lost_by_adjustment(case.comparison):
        undecided = "A difference of this comparison alone, not among all that were tested; no equivalence either"
    wanted = f"`{requirement.text}` is not shown" if requirement else undecided
    return found(
        RULE,
        case,
        State.FAIL,
        f"{wanted}. {why}{unseen}.",
        severity=Severity.QUALIFIES if requirement else Severity.NOTES,
        observed={**(ends(ratio) if ratio is not None else {}), "detectable_share": limit},
        threshold={"matters_share": case.comparison.matters_share, **({} if bound is None else {"bound": bound})},
        bound=interval,
        relabel="undecided, not equivalent",
    )


def required(case: ComparisonCase) -> Requirement | None:
    """The strictest requirement that nothing, or not more than a share, be lost against the baseline."""
    every = (one for one in case.experiment.requirements if one.measure == case.measure.name)
    return min((one for one in every if one.kind is RequirementKind.NOT_WORSE_THAN), key=lambda one: one.bound, default=None)


def span(ratio: Estimate) -> str:
    """`0.93 to 1.08 times`."""
    _, low, high = measures.digits(ratio)
    return f"{low} to {high} times"


def ends(ratio: Estimate) -> dict[str, float | None]:
    """The ratio with its interval, as numbers."""
    return {"ratio": ratio.value, "low": ratio.low, "high": ratio.high}


RULE = Rule(
    id="S09",
    name="absence-of-evidence",
    scope=Scope.COMPARISON,
    severity=Severity.QUALIFIES,
    part="statistics",
    short="equivalence not shown",
    check=check,
    wrong='Two systems are measured four times each, the test gives p = 0.4, and the report says "no difference". With that '
    "spread a difference of 15 % would have been missed as well. The experiment was too weak to answer. The smaller and "
    'noisier a study, the more surely it "finds no difference".',
    alternatives=(
        "The systems are equal for this purpose, and the runs are too few or too noisy to show it. Add runs.",
        "A single outlier widens the interval. S08 names the run and gives the ratio without it.",
    ),
    advice='Report "undecided" with the minimum detectable difference, never "no difference". Repeat until the interval fits '
    'into the smallest relevant effect: `assay plan` gives the number of blocks, `repeats = "until 3 %"` stops there.',
    sources=(
        "Altman and Bland, BMJ 311 (1995) 485: Absence of evidence is not evidence of absence",
        "Schuirmann, J. Pharmacokinetics and Biopharmaceutics 15 (1987) 657: two one-sided tests",
        "Piaggio et al., JAMA 308 (2012) 2594: reporting of noninferiority and equivalence trials",
    ),
)
