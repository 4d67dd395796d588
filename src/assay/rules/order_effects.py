"""Finds comparisons that the order of the runs could explain: separate arms, or a drift during the experiment.

The rule reads the start of each run, the stored schedule, and the residuals: each value less the mean of its arm, on logarithms.
- Arm and time correlate above `separation`: invalid.
- A trend of the residuals at p below `p` that rises by more than `rise_of_matters` of the smallest relevant effect: qualified.
  In a duet it is a note: the slices of a pair are seconds apart.
- The factor is changed by hand, or two notebooks are compared: qualified, with the interval as bound.
  Sittings in another order than planned are named.
- The wall clock was set by `step_s` between two runs of one boot: a note. The order then is that of the time since boot.

A trend needs at least three blocks. S05 tests the effect of the preceding run.
With `returns = 1` the interval covers the baseline's first and last sitting, so a drift widens it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from statistics import fmean

from assay import measures
from assay.catalogue import ComparisonCase, Rule, Runs
from assay.measures.text import level
from assay.records import Conclusion, Finding, Observations, Scope, Severity, State
from assay.rulekit import contrasts, pairs
from assay.rulekit.findings import found
from assay.statistics.contrast import Contrast, four_way, interval, welch_ratio
from assay.statistics.least_squares import Trend, correlation, trend

ADVICE_OF_NOTEBOOKS = (
    "Measure both in one experiment, with the difference as one factor: its schedule mixes them. Otherwise measure the first "
    "once more after the second, into a third notebook, and compare it with the first (`assay compare`). A difference then is "
    "drift. Declare the intended differences in both files (`implied`); C01 and C05 list the rest."
)
NOT_MIXED = "not interleaved"
BOOT = "host.boot"
LAB = "local"
"""The host that stamps when a run began."""
DRIFTED = {
    Conclusion.MATTERS: ": a relevant drift.",
    Conclusion.IMMATERIAL: ": a drift below the smallest relevant effect.",
    Conclusion.EQUIVALENT: ": no relevant drift.",
    Conclusion.UNDECIDED: ": undecided whether the drift is relevant.",
}


@dataclass(frozen=True, kw_only=True)
class RunPoint:
    """One run that counts: its arm, when it started (s), the logarithm of its value less its arm's mean."""

    arm: int
    sitting: int
    started_s: float
    residual: float


def check(case: ComparisonCase) -> Finding:
    """Fail if the arms were apart in time, or if the residuals have a trend."""
    points = [*arm(case, 0, case.baseline), *arm(case, 1, case.candidate)]
    if len({point.arm for point in points}) < 2:
        return found(RULE, case, State.UNVERIFIED, "The order cannot be judged: no run of one arm counts.", short=NOT_MIXED)
    if pairs.by_hand(case):
        return in_sittings(case, points)
    apart = abs(correlation([float(place) for place in places(points)], [float(point.arm) for point in points]))
    if len(points) > 2 and (apart > case.thresholds["separation"] or not case.comparison.interleaved):
        statement = "Arms measured one after the other, not mixed: a drift would look like a difference."
        return found(RULE, case, State.FAIL, statement, observed={"separation": apart}, short=NOT_MIXED)
    return judged(case, trend_of(points), clock_step_s(case))


def judged(case: ComparisonCase, drift: Trend | None, step_s: float) -> Finding:
    """The finding on arms that were mixed."""
    p = case.thresholds["p"]
    least = case.comparison.matters_share * case.thresholds["rise_of_matters"]
    drifted = drift is not None and drift.p_value < p and abs(math.expm1(drift.rise)) > least
    rise = math.expm1(drift.rise) if drift else None
    statement = "Arms mixed, no drift over time."
    if drifted and rise is not None:
        statement = f"Drift of {measures.percent(rise)} over the experiment (p < {p:g}); pairs remove most of it."
    stepped = step_s >= case.thresholds["step_s"]
    if stepped:
        statement += f" The wall clock was set by {step_s:.3g} s between runs; the order is that of the time since boot."
    return found(
        RULE,
        case,
        State.FAIL if drifted or stepped else State.PASS,
        statement,
        severity=severity_of(case) if drifted else Severity.NOTES if stepped else RULE.severity,
        observed={"drift_p": drift.p_value if drift else None, "drift_share": rise, "clock_step_s": step_s},
        threshold={"p": p, "drift_share": least},
        bound=contrasts.interval_of(case.comparison) if drifted and case.experiment.slices is None else None,
        relabel="measured while the wall clock was set" if stepped and not drifted else None,
    )


def severity_of(case: ComparisonCase) -> Severity:
    """How much a drift counts: the two slices of a pair are seconds apart, and meet it alike."""
    return Severity.QUALIFIES if case.experiment.slices is None else Severity.NOTES


def in_sittings(case: ComparisonCase, points: Sequence[RunPoint]) -> Finding:
    """The finding on arms that a person changed, with the drift from the first to the last sitting of the baseline."""
    groups: dict[int, list[float]] = {}
    for point in (point for point in points if point.arm == 0):
        groups.setdefault(point.sitting, []).append(math.exp(point.residual))
    drift = welch_ratio(groups[min(groups)], groups[max(groups)]) if len(groups) > 1 else None
    notebooks = case.comparison.factor == pairs.NOTEBOOK
    apart = f"Arms not interleaved, but measured in separate sittings{out_of_order(case, points)}."
    return found(
        RULE,
        case,
        State.FAIL,
        f"{of_notebooks(case) if notebooks else apart} {drift_in_words(drift, case)}",
        severity=Severity.QUALIFIES,
        observed={"drift_share": math.expm1(drift.difference)} if drift else {},
        threshold={"drift_share": case.comparison.matters_share},
        bound=contrasts.interval_of(case.comparison),
        advice=ADVICE_OF_NOTEBOOKS if notebooks else RULE.advice,
        short=NOT_MIXED,
    )


def out_of_order(case: ComparisonCase, points: Sequence[RunPoint]) -> str:
    """In which order the sittings ran if it is not that of the plan, in words; empty otherwise."""
    ran = list(dict.fromkeys(point.sitting for point in sorted(points, key=lambda point: point.started_s)))
    if ran == sorted(ran):
        return ""
    names = [level(case.experiment, case.comparison.factor, case.plan.sittings[number]) for number in ran]
    planned = [level(case.experiment, case.comparison.factor, case.plan.sittings[number]) for number in sorted(ran)]
    return f", in the order {', '.join(names)} instead of {', '.join(planned)}"


def of_notebooks(case: ComparisonCase) -> str:
    """When the runs of each notebook started."""
    names = (case.comparison.baseline, case.comparison.candidate)
    times = [
        f"{name} from {min(starts):%Y-%m-%d %H:%M} to {max(starts):%Y-%m-%d %H:%M}"
        for name, runs in zip(names, (case.baseline, case.candidate), strict=True)
        if (starts := [datetime.fromisoformat(run.started_utc).astimezone(UTC) for run, _ in runs])
    ]
    return f"The two notebooks are not interleaved: runs started in {', in '.join(times)} (UTC)."


def drift_in_words(drift: Contrast | None, case: ComparisonCase) -> str:
    """What going back to the first level showed, in words."""
    if drift is None:
        places = "notebooks" if case.comparison.factor == pairs.NOTEBOOK else "sittings"
        return f"A drift between the {places} would look like a difference, and remain invisible."
    wide = interval(drift, 0.95)
    conclusion = four_way(wide, interval(drift, 0.90), case.comparison.matters_share)
    change, low, high = (measures.percent(math.expm1(end)) for end in (drift.difference, *wide))
    return f"Back at {case.comparison.baseline}, the figure changed by {change} ({low} to {high}){DRIFTED[conclusion]}"


def clock_step_s(case: ComparisonCase) -> float:
    """By how much the lab's wall clock was set between the first and the last of the runs; 0 where they are of several boots."""
    every = [seen for _, seen in (*case.baseline, *case.candidate)]
    booted = [time_s for seen in every if (time_s := booted_s(seen)) is not None]
    return max(booted) - min(booted) if booted and len({seen.fact(BOOT, host=LAB) for seen in every}) == 1 else 0.0


def booted_s(seen: Observations) -> float | None:
    """When the lab's own machine was booted, by its wall clock: it moves only where the clock is set."""
    times = (one.value[0] for one in seen.series if one.metric == "boot_time_s" and one.host == LAB and one.value)
    return next(times, None)


def arm(case: ComparisonCase, number: int, runs: Runs) -> list[RunPoint]:
    """The points of one arm: runs with a positive value that the comparison did not exclude."""
    judged_runs = [(run, seen, case.verdicts.get(run.id)) for run, seen in runs if run.id not in case.comparison.excluded]
    logs = [
        (run, seen, math.log(one.value))
        for run, seen, one in judged_runs
        if one is not None and one.value is not None and one.value > 0
    ]
    centre = fmean(log for _, _, log in logs) if logs else 0.0
    was_set = clock_step_s(case) >= case.thresholds["step_s"]
    return [
        RunPoint(
            arm=number,
            sitting=run.trial.sitting,
            started_s=datetime.fromisoformat(run.started_utc).timestamp() - ((booted_s(seen) or 0.0) if was_set else 0.0),
            residual=log - centre,
        )
        for run, seen, log in logs
    ]


def places(points: Sequence[RunPoint]) -> list[int]:
    """The place of each point in the order of starts."""
    order = sorted(range(len(points)), key=lambda index: points[index].started_s)
    return [order.index(index) for index in range(len(points))]


def trend_of(points: Sequence[RunPoint]) -> Trend | None:
    """The trend of the residuals over time; one more degree of freedom is spent on the second arm's mean."""
    return trend([point.started_s for point in points], [point.residual for point in points], spent=1)


RULE = Rule(
    id="S04",
    name="order-effects",
    scope=Scope.COMPARISON,
    severity=Severity.INVALIDATES,
    part="statistics",
    short="drift over the experiment",
    check=check,
    wrong="All runs of one system come first, then all runs of the other. Any change between them (temperature, fill, a "
    "neighbour's load) counts as their difference. Randomised blocks that are compared in pairs are immune to a slow drift.",
    alternatives=(
        "One arm changes the system for all later runs (it fills, it ages). S05 tests the preceding run.",
        "A neighbour's load rose during the experiment. Check N02.",
    ),
    advice="Let the schedule mix the levels in randomised blocks, at least four of them. If a person must change the level, "
    "return to the first one at the end (`returns = 1`): the difference then is drift.",
    sources=(
        "Duplyakin et al., USENIX ATC 2023: Avoiding the ordering trap in systems performance measurement",
        "Abedi and Brecht, ICPE 2017: Conducting repeatable experiments in highly variable cloud computing environments",
    ),
)
