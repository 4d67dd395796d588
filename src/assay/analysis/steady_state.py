"""Steady states: of each measure of a run, since when it was steady within its trial, with which mean, and where it changed.

The window in which all clients ran is cut into equal parts. Change points part it into stretches of different level, MSER-5 says
how much of the beginning is warm-up, a line through the batch means whether the rest drifts; differences below what matters to
the experiment count for nothing.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from statistics import fmean

from assay import measures
from assay.frozen import dataclass
from assay.records import (
    ChangePoint,
    Course,
    CourseKind,
    CourseState,
    Estimate,
    Experiment,
    Measure,
    Method,
    Observations,
    Phase,
    Rounds,
    Run,
    UnknownReason,
)
from assay.statistics.intervals import BatchMeans, batch_means
from assay.statistics.least_squares import line_squares, trend
from assay.statistics.steadiness import (
    BATCH,
    FALSE_ALARM_SHARE,
    LEAST_VALUES,
    RANGE_SHARE,
    Segment,
    change_points,
    detectable,
    long_run_variance,
    mser5,
)
from assay.units import Unit

PARTS = (120, 60, 30, LEAST_VALUES)
"""Of the window, as many as are known: twenty batches of six. Of a latency as few as it takes for some to end in each."""
DEVIATIONS = 4.0
"""By so many standard deviations a beginning differs that is no noise; MSER-5 has no level of its own, it cuts noise too."""
DRIFT_P = 0.01


@dataclass(frozen=True, kw_only=True)
class CourseFigure:
    """One measure of a run whose course is wanted, and the phase that has it."""

    run: Run
    phase: Phase
    observations: Observations
    measure: Measure
    kind: CourseKind
    unit: Unit
    matters: float

    def amounts(self, metric: str, edges: tuple[int, int], parts: int) -> tuple[float, ...]:
        """What was done in each part."""
        return measures.in_parts(self.phase, self.observations, (self.measure.operation, metric), edges, parts)


@dataclass(frozen=True, kw_only=True)
class Values:
    """A figure in equal parts of a window, and what is said of it."""

    edges: tuple[int, int]
    each: Sequence[float]

    def at_ns(self, part: float) -> int:
        """Where a part begins, relative to T0."""
        return round(self.edges[0] + (self.edges[1] - self.edges[0]) * part / len(self.each))

    @property
    def mean(self) -> float:
        """Over the whole window."""
        return fmean(self.each)


def courses(experiment: Experiment, run: Run, observations: Observations) -> dict[str, Course]:
    """By measure, of those that are rates or latencies of operations; measures of one operation may share theirs."""
    found: dict[str, Course] = {}
    same: dict[tuple[str, str, CourseKind, Unit], Course] = {}
    for measure in experiment.measures:
        kind, phase = kind_of(measure), measures.phase_of(run, measure)
        if kind is None or phase is None:
            continue
        key = (phase.name, measure.operation, *kind)
        if key not in same:
            figure = CourseFigure(
                run=run,
                phase=phase,
                observations=observations.on(*phase.load_hosts),
                measure=measure,
                kind=kind[0],
                unit=kind[1],
                matters=experiment.matters_share,
            )
            same[key] = course(figure)
        found[measure.name] = replace(same[key], measure=measure.name)
    return found


def kind_of(measure: Measure) -> tuple[CourseKind, Unit] | None:
    """What is looked at over time; None where a figure has no course of its own."""
    if measure.figure in measures.AMOUNTS:
        known = measures.figure_kind(measure.figure)
        return (CourseKind.RATE, known.unit) if known else None
    return (CourseKind.LATENCY, Unit.NANOSECONDS) if measure.figure.startswith("latency_") else None


def course(figure: CourseFigure) -> Course:
    """One figure over time."""
    phase, operation = figure.phase, figure.measure.operation
    window = measures.common_window(phase, figure.observations, operation)
    clients = len(measures.client_operations(phase, operation))
    bare = Course(
        run=f"{figure.run.trial.id:04d}/{figure.run.attempt}",
        measure=figure.measure.name,
        kind=figure.kind,
        unit=figure.unit,
        state=CourseState.UNKNOWN,
        start_ns=phase.start_ns,
        clients=clients,
        rounds=rounds(phase),
    )
    if phase.values or window is None or window.seconds <= 0:
        return replace(bare, unknown=UnknownReason.NOT_COUNTED)
    if window.reason is not None:
        return replace(bare, unknown=UnknownReason.NEVER_TOGETHER)
    edges = (window.from_ns, window.to_ns)
    bare = replace(bare, from_ns=edges[0], to_ns=edges[1])
    known = measures.points_inside(phase, figure.observations, operation, edges)
    each = values(figure, edges, known)
    if len(each) < LEAST_VALUES or fmean(each) <= 0:
        return replace(bare, unknown=UnknownReason.FEW_POINTS, points=known)
    return tested(bare, Values(edges=edges, each=each), figure.matters)


def rounds(phase: Phase) -> Rounds | None:
    """Those of a phase that was to run until it was steady."""
    state = phase.steady
    return None if state is None else Rounds(number=state.rounds, each_ns=state.round_ns, alike=state.reached)


def values(figure: CourseFigure, edges: tuple[int, int], known: int) -> Sequence[float]:
    """The figure in as many equal parts as are known; none where too little is."""
    if figure.kind is CourseKind.RATE:
        parts = min(PARTS[0], known)
        seconds = (edges[1] - edges[0]) / 1e9 / max(1, parts)
        return [done / seconds for done in figure.amounts(measures.AMOUNTS[figure.measure.figure], edges, parts)] if parts else ()
    for parts in (min(known, most) for most in PARTS):
        counts = figure.amounts("count", edges, parts) if parts >= LEAST_VALUES else (0.0,)
        if all(counts):
            return [busy / count for busy, count in zip(figure.amounts("busy_ns", edges, parts), counts, strict=True)]
    return ()


def tested(bare: Course, seen: Values, matters: float) -> Course:
    """The course with the results of all tests."""
    stretches = change_points(seen.each)
    places = [after.first for before, after in pairwise(stretches) if abs(after.mean - before.mean) > matters * seen.mean]
    cut = beginning(seen, matters, places)
    warm = cut if is_warm_up(bare.kind, seen, cut) else 0
    rest = seen.each[warm:]
    left = [place for place in places if place > warm]
    batches = batch_means(rest)
    drift = drift_share(rest, batches, stretches if left and not warm else (), matters)
    bare = replace(bare, mean=estimate(rest, batches, bare.unit), detectable_share=detectable(rest) / fmean(rest))
    state = state_of(bare, matters, restless=cut != warm or bool(left) or drift is not None)
    return replace(
        bare,
        state=state,
        unknown=UnknownReason.NOISE if state is CourseState.UNKNOWN else None,
        parts=len(seen.each),
        steady_from_ns=seen.at_ns(warm) if state is CourseState.STEADY else None,
        before=fmean(seen.each[:cut]) if cut else None,
        correlation_time_ns=round(batches.time * (seen.edges[1] - seen.edges[0]) / len(seen.each)),
        changes=tuple(
            ChangePoint(at_ns=seen.at_ns(after.first), before=before.mean, after=after.mean)
            for before, after in pairwise(stretches)
            if after.first in places
        ),
        drift_share=drift,
        false_alarm_share=FALSE_ALARM_SHARE,
    )


def state_of(one: Course, matters: float, *, restless: bool) -> CourseState:
    """That no change was found says little where one would not have shown; five rounds that are alike say enough.

    What must have shown is a change by what SNIA lets the values of a steady state differ, or by what matters if that is more.
    """
    assert one.detectable_share is not None
    if restless or (one.rounds is not None and not one.rounds.alike):
        return CourseState.NOT_STEADY
    blind = one.detectable_share > max(matters, RANGE_SHARE) and one.rounds is None
    return CourseState.UNKNOWN if blind else CourseState.STEADY


def beginning(seen: Values, matters: float, places: Sequence[int]) -> int:
    """How many parts of the beginning differ from the rest by more than what matters and than noise, by MSER-5: 0 to half.

    A change within a batch behind its cut is the end of them: MSER-5 knows whole batches only.
    """
    found = mser5(seen.each)
    cut = 0 if found is None else found.batches * BATCH
    cut = next((place for place in places if cut < place <= cut + BATCH), cut)
    if not cut:
        return 0
    apart = abs(fmean(seen.each[:cut]) - fmean(seen.each[cut:]))
    noise = math.sqrt(long_run_variance(seen.each) * (1 / cut + 1 / (len(seen.each) - cut)))
    return cut if apart > max(matters * seen.mean, DEVIATIONS * noise) else 0


def is_warm_up(kind: CourseKind, seen: Values, cut: int) -> bool:
    """Whether the beginning is worse than the rest, and ends: what begins better lives on credit, and no warm-up fills half."""
    if not cut or 2 * (cut + BATCH) > len(seen.each):
        return False
    first, rest = fmean(seen.each[:cut]), fmean(seen.each[cut:])
    return first < rest if kind is CourseKind.RATE else first > rest


def drift_share(rest: Sequence[float], batches: BatchMeans, stretches: Sequence[Segment], matters: float) -> float | None:
    """By which share of their mean the values rise from beginning to end, where it is beyond chance and beyond what matters.

    Where their level changes it is a drift if a line comes nearer to them than the levels, which are then its stairs.
    """
    if stretches:
        stairs = sum((value - one.mean) ** 2 for one in stretches for value in rest[one.first : one.end])
        found = trend(range(len(rest)), rest) if line_squares(range(len(rest)), rest) <= stairs else None
    else:
        found = trend(range(len(batches.batches)), batches.batches) if batches.batches else None
    if found is None or found.p_value >= DRIFT_P:
        return None
    share = found.rise / fmean(rest)
    return share if abs(share) > matters else None


def estimate(rest: Sequence[float], batches: BatchMeans, unit: str) -> Estimate:
    """The mean of the values; with the interval of its batch means, where independent batches fit."""
    mean = batches.mean
    return Estimate(
        value=fmean(rest) if mean is None else mean.value,
        low=None if mean is None else mean.low,
        high=None if mean is None else mean.high,
        confidence=0.95,
        unit=unit,
        n=len(batches.batches),
        method=Method.BATCH_MEANS,
    )
