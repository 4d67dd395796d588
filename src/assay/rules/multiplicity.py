"""Finds differences that come of looking often: at many contrasts, or at the same one before its schedule was over.

Evidence: the p-value of each contrast of the experiment, adjusted for all of them (Holm); and the stored schedule. Where the
number of blocks was fixed beforehand and the runs end earlier, the answer was looked at while it could still be liked: the
interval that holds over a look after each of the planned blocks is the bound.
"""

from __future__ import annotations

import math

from assay.catalogue import Case, ComparisonCase, Rule
from assay.records import Bound, Finding, Scope, Severity, State
from assay.rulekit import contrasts as answers
from assay.rulekit import pairs
from assay.rulekit.findings import found
from assay.statistics.contrast import interval
from assay.statistics.paired_power import LEVEL

ALTERNATIVES = (
    "The difference is there, and the runs are too few to show it among so many questions: confirm it alone, on fresh trials.",
    "The schedule ended for a reason that does not depend on the figures (a power cut, a machine given back): say so.",
)
ADVICE = (
    "Call a search for differences a search. Name the one contrast that decides before the run, repeat it on fresh trials, and "
    'let the schedule end by itself: `repeats = "until 3 %"` and `budget` stop without looking at who is ahead.'
)


def applies(case: Case) -> str | None:
    """Comparisons with a test."""
    if not isinstance(case, ComparisonCase):
        return "it judges comparisons"
    return "there are too few pairs for a test" if case.comparison.p_value is None or not tested(case) else None


def tested(case: ComparisonCase) -> bool:
    """Whether the values give an interval."""
    return pairs.answer(case, pairs.values(case)) is not None


def check(case: Case) -> Finding:
    """Fail where the schedule was left before its end, or where the difference does not stand among all that were looked at."""
    assert isinstance(case, ComparisonCase)
    p, adjusted, count = case.comparison.p_value, case.comparison.adjusted_p_value, contrasts(case)
    begun, planned = blocks_begun(case), case.plan.blocks
    observed = {"p": p, "adjusted_p": adjusted, "contrasts": float(count), "blocks": float(begun), "planned": float(planned)}
    threshold = {"adjusted_p": LEVEL}
    if left_early(case, begun):
        looks = max(1, planned - int(case.thresholds["blocks_before_first_look"]))
        bound = simultaneous(case, looks)
        said = f"The schedule was to have {planned} blocks and ends in block {begun}; over a look after every block"
        statement = f"{said} the interval is {edges(bound)}."
        return found(
            RULE,
            case,
            State.FAIL,
            statement,
            observed=observed,
            threshold=threshold,
            bound=bound,
            relabel=f"a look after {begun} of {planned} blocks",
        )
    of = f"{count} contrasts were looked at" if count > 1 else "One contrast was looked at"
    if not answers.lost_by_adjustment(case.comparison):
        held = f"; adjusted for that, p = {adjusted:.2g}" if adjusted is not None and count > 1 else ""
        return found(RULE, case, State.PASS, f"{of}{held}.", observed=observed, threshold=threshold)
    bound = simultaneous(case, count)
    return found(
        RULE,
        case,
        State.FAIL,
        f"{of}, and this difference (p = {p:.2g}) is none among them (p = {adjusted:.2g}): over all, the ratio is"
        f" {edges(bound)}.",
        observed=observed,
        threshold=threshold,
        bound=bound,
        relabel=f"one of {count} contrasts, not established",
    )


def left_early(case: ComparisonCase, begun: int) -> bool:
    """Whether a number of blocks was fixed beforehand, and fewer were begun with no budget to end them."""
    return isinstance(case.experiment.repeats, int) and case.experiment.budget_ns is None and begun < case.plan.blocks


def blocks_begun(case: ComparisonCase) -> int:
    """How many blocks were begun in the sitting of the two arms that came least far."""
    last: dict[int, int] = {}
    for run in pairs.runs(case):
        last[run.trial.sitting] = max(run.trial.block + 1, last.get(run.trial.sitting, 0))
    return min(last.values(), default=0)


def contrasts(case: ComparisonCase) -> int:
    """How many contrasts the experiment looks at: for each measure, each later level under each combination of the others."""
    factor = case.comparison.factor
    combinations = {
        tuple(sorted((path, str(level)) for path, level in trial.levels.items())) for trial in case.plan.trials if not trial.block
    }
    later = sum((factor, str(case.comparison.baseline)) not in levels for levels in combinations)
    return max(1, later * len(case.experiment.measures))


def simultaneous(case: ComparisonCase, count: int) -> Bound:
    """The interval of the ratio that holds together with so many others (Bonferroni)."""
    answer = pairs.answer(case, pairs.values(case))
    assert answer is not None
    low, high = interval(answer.contrast, 1 - LEVEL / count)
    return Bound(low=math.exp(low), high=math.exp(high), unit="ratio")


def edges(bound: Bound) -> str:
    """`0.93 to 1.2 times`."""
    return f"{bound.low:.3g} to {bound.high:.3g} times"


RULE = Rule(
    id="S06",
    name="multiplicity",
    scope=Scope.COMPARISON,
    severity=Severity.QUALIFIES,
    part="statistics",
    needs=(),
    applies=applies,
    check=check,
    alternatives=ALTERNATIVES,
    advice=ADVICE,
    sources=(
        "Holm, Scandinavian J. of Statistics 6 (1979) 65: a simple sequentially rejective multiple test procedure",
        "Armitage, McPherson and Rowe, J. Royal Statistical Society A 132 (1969) 235: repeated significance tests",
        "Hoefler and Belli, SC 2015: scientific benchmarking of parallel computing systems",
    ),
)
