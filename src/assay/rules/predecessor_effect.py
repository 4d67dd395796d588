"""Finds figures that depend on the trial before, so that the schedule influences them.

For every factor the runs are grouped by its level in the preceding trial of the same sitting. Least squares fit arm and
predecessor together, on logarithms.
Groups that differ at p below `p`, adjusted for the number of factors, by more than `apart_of_matters` of the smallest relevant
effect qualify.
The bound covers the comparison's interval with and without the predecessors.
Too few runs for two groups are n/a. Simulated: 6,400 comparisons without such an effect, 0.9 % fail.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from assay import measures
from assay.catalogue import ComparisonCase, Rule
from assay.measures.text import level as level_text
from assay.records import Bound, Finding, Scope, Severity, State, Value
from assay.rulekit import pairs
from assay.rulekit.findings import found
from assay.statistics.contrast import interval
from assay.statistics.least_squares import TwoWay, two_way


@dataclass(frozen=True, kw_only=True)
class Dependence:
    """Effect of the predecessor's level of one factor, with the p-value adjusted for all factors tested."""

    path: str
    found: TwoWay
    p_value: float


def applies(case: ComparisonCase) -> str | None:
    """Comparisons with a factor whose previous level is known."""
    values = pairs.values(case)
    if any(value <= 0 for value in values.values()):
        return "a figure is 0, so ratios are undefined"
    return None if dependences(case) else "too few runs for groups by the preceding trial"


def check(case: ComparisonCase) -> Finding:
    """Fail where the level of a factor in the trial before changes the figure by more than is allowed."""
    p, least = case.thresholds["p"], case.comparison.matters_share * case.thresholds["apart_of_matters"]
    worst = min(dependences(case), key=lambda one: (one.p_value, -one.found.apart))
    apart = math.expm1(worst.found.apart)
    observed, threshold = {"before_p": worst.p_value, "apart_share": apart}, {"p": p, "apart_share": least}
    if worst.p_value >= p or apart <= least:
        text = f"No effect of the preceding trial (p = {worst.p_value:.2g})."
        return found(RULE, case, State.PASS, text, observed=observed, threshold=threshold)
    return found(
        RULE,
        case,
        State.FAIL,
        f"Effect of the preceding trial: {measures.percent(apart)} by its {worst.path}"
        f" (p = {worst.p_value:.2g}). {without(case, worst)}",
        observed=observed,
        threshold=threshold,
        bound=bound(case, worst),
        relabel="depends on the preceding trial",
    )


def without(case: ComparisonCase, worst: Dependence) -> str:
    """What the ratio is with the predecessors taken out."""
    low, high = (math.exp(end) for end in interval(worst.found.strata, 0.95))
    value = math.exp(worst.found.strata.difference)
    arm = level_text(case.experiment, case.comparison.factor, case.comparison.candidate)
    return f"Without it {arm} has {value:.3g} times ({low:.3g} to {high:.3g})."


def bound(case: ComparisonCase, worst: Dependence) -> Bound:
    """The smallest interval that holds that of the comparison and the one with the predecessors taken out."""
    ends = [math.exp(end) for end in interval(worst.found.strata, 0.95)]
    ratio = case.comparison.ratio
    ends += [end for end in (ratio.low, ratio.high) if end is not None] if ratio is not None else []
    return Bound(low=min(ends), high=max(ends), unit="ratio")


def dependences(case: ComparisonCase) -> list[Dependence]:
    """The effect of each factor with a known previous level; p-values multiplied by the number of factors."""
    paths = [factor.path for factor in case.experiment.factors if len(factor.levels) > 1]
    tested = {path: result for path in paths if (result := of_factor(case, path)) is not None}
    return [
        Dependence(path=path, found=result, p_value=min(1.0, len(tested) * result.p_value)) for path, result in tested.items()
    ]


def of_factor(case: ComparisonCase, path: str) -> TwoWay | None:
    """The effect of one factor's level in the trial before, of the same sitting."""
    known, values = pairs.trials(case), pairs.values(case)
    before: dict[tuple[int, int], Value] = {(t.sitting, t.position): t.levels.get(path) for t in pairs.schedule(case)}
    rows = [
        (math.log(value), trial.levels.get(case.comparison.factor), before[trial.sitting, trial.position - 1])
        for number, value in values.items()
        if (trial := known.get(number)) is not None and (trial.sitting, trial.position - 1) in before
    ]
    rows.sort(key=lambda row: row[1] != case.comparison.baseline)
    return two_way(*(list(column) for column in zip(*rows, strict=True))) if rows else None


RULE = Rule(
    id="S05",
    name="predecessor-effect",
    scope=Scope.COMPARISON,
    severity=Severity.QUALIFIES,
    part="statistics",
    short="depends on the preceding trial",
    applies=applies,
    check=check,
    wrong="A run after a heavy writer starts with dirty memory, spent burst credit or a garbage-collecting disk. A run after a "
    "reader finds a warm cache. The arm that follows the worse neighbour more often looks slower, although neither is.",
    alternatives=(
        "A treatment that changes the system for the next trial (a server that one arm warms). Then that is a result.",
        "A rhythm that coincides with the schedule. Another seed gives another order.",
    ),
    advice="Check the leftovers of a trial: dirty data, a warm cache, spent credit, a fuller disk (W07). Let the target start "
    "afresh for every trial, run an unmeasured trial between, or wait longer (`quiesce`).",
    sources=(
        "Duplyakin et al., USENIX ATC 2023: Avoiding the ordering trap in systems performance measurement",
        "Williams, Australian J. of Scientific Research 2 (1949) 149: designs balanced for residual effects of treatments",
    ),
)
