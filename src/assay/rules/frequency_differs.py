"""Finds arms whose CPUs ran at different speeds: the ratio then includes a ratio of clock rates.

The speed of a run is its cycles over its CPU time if the machine counts cycles. Else it is the mean of the timed work before
and after the trial.
The speeds are compared like the figures: in pairs of one block, or as two groups if a person changes the level.
- The ratio of speeds differs from 1 at p below `p`, and the effect exceeds `effect_share`: qualified.
- Smaller or by chance: pass, with the size.
- Missing speeds, or fewer than three pairs: unverified.

A speed that comes and goes affects both arms of a mixed schedule and is part of the interval already. Only a difference between
the arms can pass for merit.
The bound extends the interval to the ratio at equal speeds.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from statistics import fmean, geometric_mean

from assay import measures
from assay.catalogue import ComparisonCase, Rule
from assay.measures import Better, cost
from assay.records import Bound, Finding, Observations, Phase, Run, Scope, Severity, State, When
from assay.rulekit import pairs
from assay.rulekit.findings import found
from assay.statistics.contrast import Contrast, interval, p_value

PIECE = "speed.piece_ns"
Speed = Callable[[Run, Observations, Phase], float | None]


@dataclass(frozen=True, kw_only=True)
class Speeds:
    """The ratio of the candidate's speed to the baseline's, as a contrast, and how it was seen."""

    contrast: Contrast
    by: str
    on_cpu: float
    """Share of their time that the load's workers ran on a CPU, mean of all runs."""

    @property
    def effect(self) -> float:
        """What that does to the figure at most: 0.02 is two per cent."""
        return self.on_cpu * abs(math.expm1(self.contrast.difference))


def applies(case: ComparisonCase) -> str | None:
    """None for every comparison, unless the file declares that the speed follows from the factor."""
    return "speed.* is declared to follow from the factor" if case.experiment.implies(PIECE) else None


def check(case: ComparisonCase) -> Finding:
    """Fail where the speeds differ beyond chance, and by so much that the figure must have felt it."""
    phases = {run.trial.id: measures.phase_of(run, case.measure) for run, _ in (*case.baseline, *case.candidate)}
    known = {trial: phase for trial, phase in phases.items() if phase is not None}
    speeds = seen(case, known, counted, "cycles of the load over its CPU time") or seen(case, known, timed, "a piece of work")
    if speeds is None:
        return found(RULE, case, State.UNVERIFIED, "CPU speed unknown for too many runs: no cycles, and no timed piece of work.")
    low, high = (math.expm1(end) for end in interval(speeds.contrast, 0.95))
    apart, p = math.expm1(speeds.contrast.difference), p_value(speeds.contrast)
    observed = {"faster_share": apart, "p": p, "on_cpu_share": speeds.on_cpu, "effect_share": speeds.effect}
    text = (
        f"the candidate's CPUs were {measures.percent(abs(apart))} {'faster' if apart > 0 else 'slower'} than the"
        f" baseline's ({measures.percent(low)} to {measures.percent(high)}, by {speeds.by}), with the load on a CPU for"
        f" {measures.percent(speeds.on_cpu)} of its time"
    )
    if p >= case.thresholds["p"]:
        return found(RULE, case, State.PASS, f"No difference of CPU speed beyond chance: {text}.", observed=observed)
    if speeds.effect <= case.thresholds["effect_share"]:
        return found(RULE, case, State.PASS, f"Negligible effect of CPU speed: {text}.", observed=observed)
    return found(
        RULE,
        case,
        State.FAIL,
        f"Different CPU speeds: {text}. Effect: up to {measures.percent(speeds.effect)} of the ratio.",
        observed=observed,
        bound=bound(case, speeds),
        relabel="comparison at different clock rates",
    )


def seen(case: ComparisonCase, phases: dict[int, Phase], speed: Speed, by: str) -> Speeds | None:
    """What one kind of evidence says; None where a run that counts has none, or too few runs have some."""
    values: dict[int, float] = {}
    for run, observations in (*case.baseline, *case.candidate):
        phase = phases.get(run.trial.id)
        value = None if phase is None else speed(run, observations, phase)
        if not value:
            return None
        values[run.trial.id] = value
    answer = pairs.answer(case, values)
    on_cpu = [cost.on_cpu_share(phase) for phase in phases.values()]
    return Speeds(contrast=answer.contrast, by=by, on_cpu=fmean(on_cpu)) if answer is not None else None


def counted(_run: Run, _observations: Observations, phase: Phase) -> float | None:
    """CPU cycles per ns of the load's CPU time."""
    return cost.cycles_per_ns(phase)


def timed(_run: Run, observations: Observations, phase: Phase) -> float | None:
    """Pieces of work per second, the mean of before and after, of the load's hosts."""
    times = [
        float(fact)
        for host in dict.fromkeys(client.host for client in phase.clients)
        for when in (When.BEFORE, When.AFTER)
        if (fact := observations.fact(PIECE, when, host)) is not None
    ]
    return 1e9 / geometric_mean(times) if times and all(one > 0 for one in times) else None


def bound(case: ComparisonCase, speeds: Speeds) -> Bound | None:
    """From the interval of the ratio to where it would be at equal speeds; None where there is no interval."""
    ratio, kind = case.comparison.ratio, measures.figure_kind(case.measure.figure)
    if ratio is None or ratio.low is None or ratio.high is None or kind is None:
        return None
    gain = math.exp(speeds.contrast.difference * speeds.on_cpu)
    felt = gain if kind.better is Better.HIGHER else 1 / gain
    ends = [end / much for end in (ratio.low, ratio.high) for much in (1.0, felt)]
    return Bound(low=min(ends), high=max(ends), unit="ratio")


RULE = Rule(
    id="N01c",
    name="frequency-differs",
    scope=Scope.COMPARISON,
    severity=Severity.QUALIFIES,
    part="comparability",
    applies=applies,
    check=check,
    wrong="The second arm runs on CPUs that the first one heated, or under another governor. Or it runs on a second machine, "
    "or with fewer clients and more turbo. The reported difference between A and B is one of clock rates.",
    alternatives=(
        "Fewer busy CPUs may run faster than many (turbo). Then the speed is real and belongs to the number of clients.",
        "One arm heats the CPU, or uses instructions that slow it down. That belongs to the arm.",
        "The arms ran on different machines (C05), or in sittings between which something else changed (S04).",
    ),
    advice="Fix the clock rate for a comparison (governor performance, turbo off), and let the schedule mix the arms. If the "
    'speed follows from the factor, declare `implied = ["speed.*"]` and report the speeds beside the ratio.',
    sources=(
        "Georges et al., OOPSLA 2007: statistically rigorous performance evaluation",
        "pyperf, `system tune`: turbo, governor, affinity",
    ),
)
