"""Finds comparisons in which no difference was seen that would be read as "there is none".

Evidence: the interval of the ratio. Where it lies within what matters, the absence of a difference is shown (two one-sided
tests); where it reaches beyond, nothing was shown, whatever the p-value. Under a requirement `not worse than x %` one side
counts: the whole interval must be on the good side of that bound.
"""

from __future__ import annotations

from assay import measures
from assay.catalogue import Case, ComparisonCase, Rule
from assay.records import Bound, Conclusion, Estimate, Finding, Requirement, RequirementKind, Scope, Severity, State
from assay.rulekit import contrasts
from assay.rulekit.applicability import comparisons_only
from assay.rulekit.findings import found

ALTERNATIVES = (
    "There is none, or none that matters, and the runs are too few or too scattered to show it: more of them decide.",
    "A single run that stands apart widens the interval: S08 names it, and the figure without it.",
)
ADVICE = (
    'Say "undecided" and the smallest difference that could have been seen, never "no difference". Repeat until the interval '
    "fits into what matters: `assay plan` says how many blocks this spread asks for."
)


def check(case: Case) -> Finding:
    """Fail where neither a difference nor its absence was shown; it counts where the experiment asks that nothing be lost."""
    assert isinstance(case, ComparisonCase)
    ratio, asked = case.comparison.ratio, required(case)
    if ratio is None or ratio.low is None or ratio.high is None:
        return unshown(case, "The pairs of runs are too few for an interval", asked)
    if asked is not None:
        return of_requirement(case, ratio, asked)
    edges = f"the interval, {span(ratio)}"
    if case.comparison.conclusion in (Conclusion.EQUIVALENT, Conclusion.IMMATERIAL):
        if contrasts.reaches_beyond(case.comparison):
            edges = f"the 90 % interval, which stands for them, lies within it (that of 95 % is {span(ratio)})"
        inside = (
            f"A difference of {measures.percent(case.comparison.matters_share)} is ruled out by two one-sided tests: {edges}."
        )
        return found(RULE, case, State.PASS, inside, observed=ends(ratio))
    if contrasts.differs(case.comparison) or case.comparison.conclusion is Conclusion.MATTERS:
        return found(RULE, case, State.PASS, f"There is a difference: {edges}, leaves 1 out.", observed=ends(ratio))
    return unshown(case, f"The ratio may be anything in the interval, {span(ratio)}", None)


def of_requirement(case: ComparisonCase, ratio: Estimate, asked: Requirement) -> Finding:
    """Whether the requirement is decided: the whole interval on one side of its bound."""
    assert ratio.low is not None
    assert ratio.high is not None
    kind = measures.figure_kind(case.measure.figure)
    lower_better = kind is not None and kind.better is measures.Better.LOWER
    bound = 1 + asked.bound if lower_better else 1 - asked.bound
    kept = ratio.high <= bound if lower_better else ratio.low >= bound
    lost = ratio.low > bound if lower_better else ratio.high < bound
    if kept or lost:
        said = "is shown" if kept else "is refuted"
        statement = f"`{asked.text}` {said} and not only not contradicted: the interval, {span(ratio)}."
        return found(RULE, case, State.PASS, statement, observed=ends(ratio), threshold={"bound": bound})
    return unshown(case, f"The ratio may be anything in the interval, {span(ratio)}", asked, bound)


def unshown(case: ComparisonCase, why: str, asked: Requirement | None, bound: float | None = None) -> Finding:
    """The failure: a note, or what bounds the comparison where the experiment asks that nothing be lost."""
    ratio, limit = case.comparison.ratio, case.comparison.detectable_share
    smallest = measures.difference(limit) if ratio is not None and ratio.low is not None else ""
    unseen = f"; minimum detectable difference: {smallest}" if smallest else ""
    wanted = f"`{asked.text}` is not shown" if asked else "No difference was shown, which does not show that there is none"
    known = ratio is not None and ratio.low is not None and ratio.high is not None
    return found(
        RULE,
        case,
        State.FAIL,
        f"{wanted}. {why}{unseen}.",
        severity=Severity.QUALIFIES if asked else Severity.NOTES,
        observed={**(ends(ratio) if ratio is not None else {}), "detectable_share": limit},
        threshold={"matters_share": case.comparison.matters_share, **({} if bound is None else {"bound": bound})},
        bound=Bound(low=ratio.low, high=ratio.high, unit="ratio") if known and ratio is not None else None,
        relabel="undecided, which is not equal",
    )


def required(case: ComparisonCase) -> Requirement | None:
    """The strictest requirement that nothing, or not more than a share, be lost against the baseline."""
    asked = [
        requirement
        for requirement in case.experiment.requirements
        if requirement.measure == case.measure.name and requirement.kind is RequirementKind.NOT_WORSE_THAN
    ]
    return min(asked, key=lambda requirement: requirement.bound, default=None)


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
    needs=(),
    applies=comparisons_only,
    check=check,
    alternatives=ALTERNATIVES,
    advice=ADVICE,
    sources=(
        "Altman and Bland, BMJ 311 (1995) 485: Absence of evidence is not evidence of absence",
        "Schuirmann, J. Pharmacokinetics and Biopharmaceutics 15 (1987) 657: two one-sided tests",
        "Piaggio et al., JAMA 308 (2012) 2594: reporting of noninferiority and equivalence trials",
    ),
)
