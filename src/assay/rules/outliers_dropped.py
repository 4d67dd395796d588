"""Finds comparisons of a selection: trials without a figure, or excluded runs that decide the answer.

The rule compares the stored schedule with the runs. Every due trial must have a run, and every excluded run has its reason.
- A share of due trials above `lost_share` has no figure (failed, killed, deleted): qualified, without a bound, since those
  figures could be anything.
- Noise rules (N, L10, E02) excluded or repeated runs, and the first measurements change the conclusion: qualified; the bound
  covers both intervals.
- Runs that do not measure the claim (INVALID by another rule), and interrupted trials that can be resumed: pass.
- Values more than `spreads` median absolute deviations from the median stay in; the statement gives the answer without them.

Assay never excludes a run for its size, and shows each mean with and without excluded runs.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from statistics import median

from assay.catalogue import ComparisonCase, Rule
from assay.records import Bound, Finding, Judged, Outcome, Scope, Severity, State, Value, Verdict
from assay.rulekit import pairs
from assay.rulekit.findings import found

NORMAL = 1.4826
"""Standard deviation over median absolute deviation of a normal distribution."""
LEAST_FOR_FAR = 8
"""Least values of an arm for an outlier: among six normal values one often looks like it."""
NOISE = ("N", "L10", "E02")
"""Beginnings of the ids of rules that find a physical cause in a run which measured the right thing."""
MOST_NAMED = 4


def check(case: ComparisonCase) -> Finding:
    """Fail where trials that were due have no figure, or where those that noise set aside would change the answer."""
    counted, due = pairs.values(case), trials_due(case)
    gone = {number: why for number in due if number not in counted and (why := lost(case, number)) is not None}
    count = f"{len(counted)} of {len(due)} due trials count"
    observed = {"due": len(due), "counted": len(counted), "without_figure": len(gone), "left_out": len(case.left_out)}
    if len(gone) > case.thresholds["lost_share"] * len(due):
        statement = f"{count}; {len(gone)} have no figure and could have any: {named(gone)}."
        return found(RULE, case, State.FAIL, statement, observed=observed, relabel="of the surviving trials")
    first = {**counted, **dict(as_first_measured(case))}
    quiet, every = pairs.answer(case, counted), pairs.answer(case, first)
    if quiet is not None and every is not None and quiet.conclusion is not every.conclusion:
        alone = " Both without the adjustment for the other comparisons." if is_adjusted(case) else ""
        return found(
            RULE,
            case,
            State.FAIL,
            f"{count}: {quiet}. With the first measurements of trials that noise excluded or repeated: {every}.{alone}",
            observed=observed,
            bound=hull(quiet.bound, every.bound),
            relabel="an answer of the undisturbed runs alone",
        )
    count = count if len(counted) < len(due) else f"All {len(due)} due trials count"
    same = ""
    if first != counted and every is not None:
        same = f"; with the runs that noise excluded the answer is {'the same' if quiet is not None else every}"
    return found(RULE, case, State.PASS, f"{count}{same}{standing_apart(case, counted)}.", observed=observed)


def is_adjusted(case: ComparisonCase) -> bool:
    """Whether the comparison's own conclusion is one of several, which is stricter than the two answers here."""
    return case.comparison.adjusted_p_value not in (None, case.comparison.p_value)


def trials_due(case: ComparisonCase) -> tuple[int, ...]:
    """The trials of both arms up to the last one of its sitting that was run."""
    last: dict[int, int] = {}
    for run in pairs.runs(case):
        last[run.trial.sitting] = max(run.trial.position, last.get(run.trial.sitting, -1))
    due = (trial for trial in pairs.schedule(case) if pairs.is_arm(case, trial))
    return tuple(trial.id for trial in due if trial.position <= last.get(trial.sitting, -1))


def lost(case: ComparisonCase, number: int) -> str | None:
    """Why a trial has no figure, in words; None where it has one, or was interrupted by hand and waits to be resumed."""
    runs = [judged for judged in case.left_out if judged.run.trial.id == number]
    if any(value_of(case, judged) is not None for judged in runs):
        return None
    if not runs:
        return "in the schedule, not in the notebook"
    last = max(runs, key=lambda judged: judged.run.attempt)
    if last.run.outcome is Outcome.INTERRUPTED:
        return None
    why = case.comparison.excluded.get(last.id)
    parts = [] if why is None else [why.outcome.value if why.outcome else "", why.error]
    return ": ".join(filter(None, parts)) or "no figure"


def value_of(case: ComparisonCase, judged: Judged) -> float | None:
    """The value that a run which finished has for the measure."""
    verdict = judged.verdicts.get(case.measure.name)
    return None if verdict is None or judged.run.outcome is not Outcome.FINISHED else verdict.value


def named(gone: Mapping[int, str]) -> str:
    """`trial 3 (failed: exit status 124)`, the first few of them."""
    shown = [f"trial {number} ({why.split(chr(10))[0][:90]})" for number, why in list(gone.items())[:MOST_NAMED]]
    return "; ".join(shown) + (f" and {len(gone) - MOST_NAMED} more" if len(gone) > MOST_NAMED else "")


def as_first_measured(case: ComparisonCase) -> Iterator[tuple[int, float]]:
    """The first attempt of each trial that noise set aside or had repeated."""
    seen: set[int] = set()
    for judged in sorted(case.left_out, key=lambda one: (one.run.trial.id, one.run.attempt)):
        number, verdict, value = judged.run.trial.id, judged.verdicts.get(case.measure.name), value_of(case, judged)
        if number not in seen and verdict is not None and value is not None and by_noise(verdict):
            seen.add(number)
            yield number, value


def by_noise(verdict: Verdict) -> bool:
    """Whether nothing but noise speaks against a figure."""
    against = [one.rule for one in verdict.findings if (one.state, one.severity) == (State.FAIL, Severity.INVALIDATES)]
    return all(rule.startswith(NOISE) for rule in against)


def hull(one: Bound, other: Bound) -> Bound:
    """The smallest interval that holds both."""
    ends = [end for bound in (one, other) for end in (bound.low, bound.high) if end is not None]
    return Bound(low=min(ends), high=max(ends), unit="ratio")


def standing_apart(case: ComparisonCase, counted: pairs.Values) -> str:
    """Which values stand apart and are kept, and what the answer would be without them; empty where none does."""
    levels = (case.comparison.baseline, case.comparison.candidate)
    apart = [number for level in levels for number in far(case, level, counted)]
    rest = pairs.answer(case, {number: value for number, value in counted.items() if number not in apart}) if apart else None
    names = ", ".join(str(number) for number in apart[:MOST_NAMED])
    return f"; outliers kept: trial {names} (without: {rest})" if rest else ""


def far(case: ComparisonCase, level: Value, counted: pairs.Values) -> list[int]:
    """The trials of one arm too many spreads from its median, by the median absolute deviation of logarithms."""
    logs = {number: math.log(value) for number, value in pairs.arm(case, level, counted).items() if value > 0}
    if len(logs) < LEAST_FOR_FAR:
        return []
    middle = median(logs.values())
    spread = NORMAL * median(abs(value - middle) for value in logs.values())
    return [number for number, value in logs.items() if abs(value - middle) > case.thresholds["spreads"] * spread > 0]


RULE = Rule(
    id="S08",
    name="outliers-dropped",
    scope=Scope.COMPARISON,
    severity=Severity.QUALIFIES,
    part="statistics",
    short="runs left out",
    check=check,
    wrong='Ten runs were made and eight are in the mean: two "did not come out". They hit a time limit, which only slow runs '
    "do, or were deleted, or were repeated until they looked right. The rest is a mean of the runs that were fast enough to "
    "count.",
    alternatives=(
        "A machine that failed for its own reason (power, a full disk) loses any runs. The reason is recorded.",
        "One run in ten or more that lies apart is a second mode, not an outlier (S03).",
    ),
    advice="Run the missing trials (`assay run FILE --resume`), and find the common property of failed trials. Report failures "
    "as a result of the arm that failed. Exclude nothing for its size; plan a median in advance for long tails.",
    sources=(
        "Hoefler and Belli, SC 2015: scientific benchmarking of parallel computing systems",
        "Leys et al., J. Experimental Social Psychology 49 (2013) 764: outliers by absolute deviation around the median",
        "Heiser: systems benchmarking crimes, on selective data sets",
    ),
)
