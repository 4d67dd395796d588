"""Finds differences that come from testing often: many comparisons, or one before its schedule ended.

The rule reads the p-value of each comparison, adjusted for all comparisons of its family. It also reads the schedule.
Measures that decide: Holm, or Dunnett for several candidates against one baseline. Secondary ones: Benjamini and Yekutieli.
- A fixed number of blocks (`repeats = 20`, no budget) and the runs end earlier: qualified. The bound is the interval for one
  look after each planned block from the third on.
- p at most 5 % and the adjusted p above: qualified. The bound is the simultaneous interval of all comparisons (Bonferroni).

Schedules that end by precision (`repeats = "until 3 %"`) or budget never check the direction, and pass. Other experiments of
the notebook do not count.
With six comparisons of equal arms the adjusted p passes a difference in at most 5 % of experiments (simulated).
"""

from __future__ import annotations

import math

from assay.catalogue import ComparisonCase, Rule
from assay.records import Bound, Finding, Pairs, Scope, Severity, State
from assay.rulekit import contrasts as answers
from assay.rulekit import pairs
from assay.rulekit.findings import found
from assay.statistics.contrast import interval
from assay.statistics.significance import LEVEL


def applies(case: ComparisonCase) -> str | None:
    """Comparisons with a test."""
    has_test = case.comparison.p_value is not None and pairs.answer(case, pairs.values(case)) is not None
    return None if has_test else "too few pairs for a test"


def check(case: ComparisonCase) -> Finding:
    """Fail if the schedule ended early, or if the difference does not hold among all contrasts tested."""
    p, adjusted, count = case.comparison.p_value, case.comparison.adjusted_p_value, contrasts(case)
    begun, planned = blocks_begun(case), case.plan.blocks
    observed = {"p": p, "adjusted_p": adjusted, "contrasts": float(count), "blocks": float(begun), "planned": float(planned)}
    threshold = {"adjusted_p": LEVEL}
    if left_early(case, begun):
        looks = max(1, planned - int(case.thresholds["blocks_before_first_look"]))
        bound = simultaneous(case, looks)
        return found(
            RULE,
            case,
            State.FAIL,
            f"{begun} of {planned} planned blocks. With one look after each block the interval is {edges(bound)}.",
            observed=observed,
            threshold=threshold,
            bound=bound,
            relabel="a look before the planned end",
        )
    of = f"{count} comparisons tested" if count > 1 else "One comparison tested"
    if not answers.lost_by_adjustment(case.comparison):
        held = f"; {case.comparison.adjusted_by.value}-adjusted p = {adjusted:.2g}" if adjusted is not None and count > 1 else ""
        return found(RULE, case, State.PASS, f"{of}{held}.", observed=observed, threshold=threshold)
    bound = simultaneous(case, count)
    return found(
        RULE,
        case,
        State.FAIL,
        f"Not significant after adjustment: p = {p:.2g}, adjusted p = {adjusted:.2g} ({count} tests). Simultaneous interval"
        f" {edges(bound)}.",
        observed=observed,
        threshold=threshold,
        bound=bound,
        relabel="not significant among all tests",
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
    """Number of contrasts of its family: per measure, each level with its baselines under each combination of other factors."""
    factor, experiment = case.comparison.factor, case.experiment
    combinations = {
        tuple(sorted((path, str(level)) for path, level in trial.levels.items())) for trial in case.plan.trials if not trial.block
    }
    later = sum((factor, str(case.comparison.baseline)) not in levels for levels in combinations)
    if experiment.pairs is Pairs.ALL:
        later = later * next((len(one.levels) for one in experiment.factors if one.path == factor), 2) // 2
    decides = experiment.decides_by(case.measure.name)
    return max(1, later * sum(experiment.decides_by(one.name) == decides for one in experiment.measures))


def simultaneous(case: ComparisonCase, count: int) -> Bound:
    """The interval of the ratio, simultaneous over so many contrasts (Bonferroni)."""
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
    short="not significant after adjustment",
    applies=applies,
    check=check,
    wrong='One of twenty comparisons of equal systems is "significant" at 5 %, and that one is in the report. Or an experiment '
    "of twenty blocks is watched and stopped at the seventh, when the difference looks convincing. A test after every block "
    "finds a difference between equal systems in a quarter of all experiments.",
    alternatives=(
        "The difference is real, and the runs are too few to show it among so many tests. Confirm it alone, on fresh trials.",
        "The schedule ended for a reason unrelated to the figures (a power cut, a returned machine). Report it.",
    ),
    advice="Call a search for differences a search. Name the deciding comparison before the run, and repeat it on fresh "
    'trials. Let the schedule end by itself: `repeats = "until 3 %"` and `budget` stop without a look at the leader.',
    sources=(
        "Benjamini and Yekutieli, Annals of Statistics 29 (2001) 1165: false discoveries under any dependency",
        "Holm, Scandinavian J. of Statistics 6 (1979) 65: a simple sequentially rejective multiple test procedure",
        "Armitage, McPherson and Rowe, J. Royal Statistical Society A 132 (1969) 235: repeated significance tests",
        "Hoefler and Belli, SC 2015: scientific benchmarking of parallel computing systems",
    ),
)
