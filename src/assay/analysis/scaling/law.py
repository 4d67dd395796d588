"""What a curve over a number of clients, workers or requests in flight says, and only within the numbers that were measured.

How it grows and where it peaks (Gunther's law, where it is told from Amdahl's and from a straight line), at which number one
arm stops being better than the other, at which number a share is used up, and up to which number a required bound is kept (the
knee by an objective). A peak is claimed only where its whole interval lies within what was measured; else the answer is that
there is none in the range.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from statistics import geometric_mean
from typing import Required, TypedDict

from assay import measures
from assay.analysis.cells import measure_of
from assay.records import (
    ArmOrder,
    Cell,
    Comparison,
    Estimate,
    Experiment,
    Factor,
    Fit,
    Growth,
    LawName,
    Method,
    Requirement,
    RequirementKind,
    Scaling,
    ScalingKind,
    Shape,
    Use,
    Value,
    VerdictState,
    worst,
)
from assay.statistics.contrast import interval, welch_ratio
from assay.statistics.scaling_law import LEAST_LEVELS, Crossing, CurveValue, Law, Point, crossings, laws, misfit, peak_interval
from assay.units import Unit

LEAST_PLACES = 2
LEAST_EACH = 3
"""Trials at each number: fewer bear no interval (S02)."""
CONFIDENCE = 0.95
FITS = 0.02
"""A law from which a mean is farther than this share, beyond noise, does not say where the peak is."""
FULL_SHARE = 0.9
"""So much of a resource counts as used up: rule L02 takes the same."""
STRAIGHT = 0.95
"""A curve that reaches this share of a straight line at its end is one, for whoever decides by it."""
OFF = 0.05
"""A law from which a mean is farther than this share, beyond noise, is no word for the curve."""


def scaling(experiment: Experiment, cells: Sequence[Cell], comparisons: Sequence[Comparison]) -> tuple[Scaling, ...]:
    """All answers, by kind and in the order of the cells; none without a factor that counts something."""
    return tuple(
        one
        for factor in filter(counts, experiment.factors)
        for found in (
            grown(experiment, factor, cells),
            evened(experiment, factor, comparisons),
            filled(experiment, factor, cells),
        )
        for one in found
    )


def judged(found: Sequence[Scaling], cells: Sequence[Cell]) -> tuple[Scaling, ...]:
    """The answers with the verdict of the cells that each rests on."""
    return tuple(replace(one, verdict=verdict_of(one, cells)) for one in found)


def verdict_of(one: Scaling, cells: Sequence[Cell]) -> VerdictState | None:
    """The worst of the cells of its curve, or of both curves of a break-even; None where they were not judged."""
    arms = [one.within]
    if one.order is not None:
        arms = [{**one.within, one.order.compared: arm} for arm in (one.order.candidate, one.order.baseline)]
    states = [
        cell.verdict
        for cell in cells
        if cell.values
        and cell.measure == one.measure
        and any(all(cell.levels.get(p) == level for p, level in arm.items()) for arm in arms)
    ]
    known = [state for state in states if state is not None]
    return worst(known) if known else None


def counts(factor: Factor) -> bool:
    """Whether a factor counts what works at the same time, at some different numbers."""
    numbers = [level for level in factor.levels if isinstance(level, int) and not isinstance(level, bool) and level > 0]
    return factor.path.rpartition(".")[2] in measures.CONCURRENCY and len(numbers) == len(factor.levels) >= LEAST_PLACES


def curves(factor: Factor, cells: Sequence[Cell]) -> Iterator[tuple[str, dict[str, Value], list[tuple[int, Cell]]]]:
    """Measure, the levels of the other factors, and the cells above 0 along this one in the order of its numbers."""
    found: dict[tuple[str, tuple[tuple[str, Value], ...]], list[tuple[int, Cell]]] = {}
    for cell in cells:
        number = cell.levels.get(factor.path)
        if isinstance(number, int) and cell.values and all(value > 0 for value in cell.values.values()):
            rest = tuple((path, level) for path, level in cell.levels.items() if path != factor.path)
            found.setdefault((cell.measure, rest), []).append((number, cell))
    for (measure, rest), along in found.items():
        yield measure, dict(rest), sorted(along, key=lambda pair: pair[0])


# --------------------------------------------------------------------------------------------------- growth


def grown(experiment: Experiment, factor: Factor, cells: Sequence[Cell]) -> Iterator[Scaling]:
    """The law of each rate of all clients together that was measured at enough numbers."""
    for measure, within, along in curves(factor, cells):
        enough = len(along) >= LEAST_LEVELS and all(len(cell.values) >= LEAST_EACH for _, cell in along)
        if not enough or measure_of(experiment, measure).figure not in measures.AMOUNTS:
            continue
        points: list[Point] = [(float(number), value) for number, cell in along for value in cell.values.values()]
        best = laws(points)[0]
        off, span = misfit(points, best), (float(along[0][0]), float(along[-1][0]))
        peak = peaked(points, best, off)
        means = [geometric_mean(cell.values.values()) for _, cell in (along[0], along[-1])]
        times = means[1] / means[0]
        shape = Shape.PEAK if peak is not None else shaped(best, off, span[1] / span[0], times)
        bend = max(span[0], best.ceiling / best.one) if shape is Shape.PLATEAU else None
        yield Scaling(
            kind=ScalingKind.LAW,
            shape=shape,
            measure=measure,
            factor=factor.path,
            within=within,
            at=peak,
            lowest=span[0],
            highest=span[1],
            growth=Growth(fit=fit_of(best), times=times, bend=bend),
        )


def shaped(law: Law, off: float, numbers: float, times: float) -> Shape:
    """How a curve without a peak runs; `numbers`, `times`: the last number, and its rate, over the first."""
    if off > OFF:
        return Shape.IRREGULAR
    if law.name == "clipped" and times / numbers < STRAIGHT:
        return Shape.PLATEAU
    if law.name == "linear" or times / numbers >= STRAIGHT:
        return Shape.PROPORTIONAL
    return Shape.FALLING if times < 1 else Shape.FLATTENING


def fit_of(law: Law) -> Fit:
    """A law as it is kept."""
    return Fit(law=LawName(law.name), contention=law.contention, coherency=law.coherency)


def peaked(points: Sequence[Point], law: Law, off: float) -> Estimate | None:
    """The peak by Gunther's law, by the numbers themselves where no law fits them; None where there is none."""
    if off > FITS:
        return between(points)
    return bracketed(points, law) if law.name == "usl" else None


def between(points: Sequence[Point]) -> Estimate | None:
    """The number with the most, between the nearest ones to either side that do less beyond noise; None without them."""
    found, most = rates_of(points), highest(points)
    less = [n for n in found if interval(welch_ratio(found[most], found[n]), CONFIDENCE)[1] < 0]
    below, above = [n for n in less if n < most], [n for n in less if n > most]
    return (
        estimate(most, max(below), min(above), len(points), Method.HIGHEST_POINT) if below and above and falls(points) else None
    )


def bracketed(points: Sequence[Point], law: Law) -> Estimate | None:
    """The peak with its interval, where all of it lies within the measured numbers and the rates fall beyond; else None."""
    numbers = [n for n, _ in points]
    if law.peak is None or not min(numbers) < law.peak < max(numbers):
        return None
    if not falls(points):
        return None
    low, high = peak_interval(points, law, CONFIDENCE)
    if not min(numbers) <= low <= high <= max(numbers):
        return None
    return estimate(law.peak, low, high, len(points), Method.SCALING_LAW)


def falls(points: Sequence[Point]) -> bool:
    """Whether less is done at the largest number than at the one with the most, beyond noise.

    A curve that is flat at the level of a resource bends as sharply as one that falls: by its form alone it would have a peak.
    """
    found, most = rates_of(points), highest(points)
    ratio = welch_ratio(found[most], found[max(found)])
    return most < max(found) and interval(ratio, CONFIDENCE)[1] < 0


def rates_of(points: Sequence[Point]) -> dict[float, list[float]]:
    """Number -> the rate of each trial."""
    found: dict[float, list[float]] = {}
    for number, rate in points:
        found.setdefault(number, []).append(rate)
    return found


def highest(points: Sequence[Point]) -> float:
    """The number with the most."""
    found = rates_of(points)
    return max(found, key=lambda number: geometric_mean(found[number]))


# ----------------------------------------------------------------------------------------------- break-even


def evened(experiment: Experiment, factor: Factor, comparisons: Sequence[Comparison]) -> Iterator[Scaling]:
    """Where the ratio of candidate to baseline passes 1, for each measure and candidate that was compared at several numbers."""
    found: dict[tuple[str, Value, Value, tuple[tuple[str, Value], ...]], list[tuple[int, Comparison]]] = {}
    for one in comparisons:
        number = one.within.get(factor.path)
        if isinstance(number, int) and one.ratio is not None and one.ratio.low is not None:
            rest = tuple((path, level) for path, level in one.within.items() if path != factor.path)
            found.setdefault((one.measure, one.baseline, one.candidate, rest), []).append((number, one))
    for (measure, _, candidate, rest), along in found.items():
        if len(along) >= LEAST_PLACES and experiment.compare != factor.path:
            yield break_even(
                measure_of(experiment, measure).name, factor, (candidate, dict(rest)), sorted(along, key=lambda pair: pair[0])
            )


def break_even(
    measure: str, factor: Factor, arm: tuple[Value, Mapping[str, Value]], along: Sequence[tuple[int, Comparison]]
) -> Scaling:
    """One answer: the number at which the lead changes, or who leads at every number."""
    bands = [band(number, one.ratio) for number, one in along if one.ratio is not None]
    found, compared = crossings(bands), along[0][1]
    span = (float(along[0][0]), float(along[-1][0]))
    only = found[0] if len(found) == 1 else None
    unsure = () if found else tuple(band.at for band in bands if band.low <= 0 <= band.high)
    return Scaling(
        kind=ScalingKind.BREAK_EVEN,
        shape=ordered(len(found), only, len(unsure), len(bands)),
        measure=measure,
        factor=factor.path,
        within={**arm[1], compared.factor: arm[0]},
        lowest=span[0],
        highest=span[1],
        order=ArmOrder(
            candidate=arm[0],
            baseline=compared.baseline,
            compared=compared.factor,
            above=only.rising if only else bands[0].value > 0 if not found else None,
            unsure=unsure,
            crossings=len(found),
        ),
        **passage(only, span, Method.CROSSING_OF_RATIOS),
    )


def ordered(crossed: int, only: Crossing | None, unsure: int, numbers: int) -> Shape:
    """What is known of the order of two arms, by its changes and by the numbers at which noise could be all of it."""
    if crossed > 1:
        return Shape.CROSSES_OFTEN
    if only is not None:
        return Shape.CROSSES if is_sure(only) else Shape.CROSSES_BY_MEANS
    if not unsure:
        return Shape.ORDER_KEPT
    return Shape.INDISTINCT if unsure == numbers else Shape.ORDER_KEPT_BY_MEANS


def band(number: int, ratio: Estimate) -> CurveValue:
    """The logarithm of a ratio and of its interval."""
    assert ratio.low is not None
    assert ratio.high is not None
    return CurveValue(at=float(number), low=math.log(ratio.low), value=math.log(ratio.value), high=math.log(ratio.high))


# ----------------------------------------------------------------------------------------------- saturation


def filled(experiment: Experiment, factor: Factor, cells: Sequence[Cell]) -> Iterator[Scaling]:
    """The number at which a share, such as that of the processors, reaches nine tenths."""
    for measure, within, along in curves(factor, cells):
        estimates = [(number, cell.estimate) for number, cell in along if cell.estimate is not None]
        shares = measures.unit_of(measure_of(experiment, measure)) is Unit.SHARE
        if not shares or len(estimates) < LEAST_PLACES or any(one.low is None for _, one in estimates):
            continue
        bands = [
            CurveValue(at=float(number), low=one.low or 0.0, value=one.value, high=one.high or 0.0) for number, one in estimates
        ]
        risen = next((one for one in crossings(bands, FULL_SHARE) if one.rising), None)
        span = (float(along[0][0]), float(along[-1][0]))
        yield Scaling(
            kind=ScalingKind.SATURATION,
            shape=filling(bands, risen),
            measure=measure,
            factor=factor.path,
            within=within,
            lowest=span[0],
            highest=span[1],
            use=Use(share=max(band.value for band in bands)),
            **passage(risen, span, Method.CROSSING_OF_MEANS),
        )


def filling(bands: Sequence[CurveValue], risen: Crossing | None) -> Shape:
    """Whether, and how surely, a share reaches nine tenths."""
    if risen is not None:
        return Shape.CROSSES if is_sure(risen) else Shape.CROSSES_BY_MEANS
    if bands[0].value >= FULL_SHARE:
        return Shape.FULL_FROM_START
    return Shape.PERHAPS_FULL if max(band.high for band in bands) >= FULL_SHARE else Shape.NOT_FULL


class Passage(TypedDict, total=False):
    """The fields of a `Scaling` that tell where a curve crosses."""

    at: Required[Estimate | None]
    near: float | None
    open_low: bool
    open_high: bool


def is_sure(one: Crossing) -> bool:
    """Whether the interval of a passage ends anywhere within the measured range; else noise alone may have made it."""
    return one.low is not None or one.high is not None


def passage(one: Crossing | None, span: tuple[float, float], method: Method) -> Passage:
    """Where a curve crosses: no number of none or of an unsure one; where the interval leaves the range, that is its bound."""
    if one is None:
        return {"at": None}
    if not is_sure(one):
        return {"at": None, "near": one.at}
    low, high = one.low if one.low is not None else span[0], one.high if one.high is not None else span[1]
    at = estimate(one.at, low, high, 0, method)
    return {"at": at, "near": one.at, "open_low": one.low is None, "open_high": one.high is None}


def estimate(value: float, low: float, high: float, n: int, method: Method) -> Estimate:
    """A number of clients with its interval."""
    return Estimate(value=value, low=low, high=high, confidence=CONFIDENCE, unit=Unit.NONE.value, n=n, method=method)


# ------------------------------------------------------------------------------------------------ objectives


def kept(experiment: Experiment, cells: Sequence[Cell]) -> Iterator[Scaling]:
    """Up to which number each bound that is required of a figure is kept."""
    for factor in experiment.factors:
        for requirement in experiment.requirements if counts(factor) else ():
            if requirement.kind is not RequirementKind.NOT_WORSE_THAN:
                of_it = [cell for cell in cells if cell.measure == requirement.measure]
                yield from objective(factor, requirement, of_it)


def objective(factor: Factor, requirement: Requirement, cells: Sequence[Cell]) -> Iterator[Scaling]:
    """The same along one factor, for each combination of the others."""
    for measure, within, places in curves(factor, cells):
        estimates = [(number, cell.estimate) for number, cell in places if cell.estimate is not None]
        known = [(number, one) for number, one in estimates if one.low is not None and one.high is not None]
        if len(known) < LEAST_PLACES or len(known) < len(places):
            continue
        sign = 1 if requirement.kind is RequirementKind.AT_MOST else -1
        table = [over(number, one, (requirement.bound, sign)) for number, one in known]
        passed, span = crossings(table), (table[0].at, table[-1].at)
        ends = passed[0] if len(passed) == 1 and passed[0].rising else None
        yield Scaling(
            kind=ScalingKind.OBJECTIVE,
            shape=keeping(table, ends),
            measure=measure,
            factor=factor.path,
            within=within,
            lowest=span[0],
            highest=span[1],
            requirement=requirement.text,
            **passage(ends, span, Method.CROSSING_OF_MEANS),
        )


def keeping(table: Sequence[CurveValue], ends: Crossing | None) -> Shape:
    """Whether, and how surely, a bound is kept up to a number."""
    if ends is not None:
        return Shape.CROSSES if is_sure(ends) else Shape.CROSSES_BY_MEANS
    if all(band.value <= 0 for band in table):
        return Shape.KEPT
    return Shape.NOT_KEPT if all(band.value > 0 for band in table) else Shape.KEPT_AT_SOME


def over(number: int, one: Estimate, bound: tuple[float, int]) -> CurveValue:
    """By how much a figure is worse than what is required; below 0 it is kept."""
    low, value, high = sorted(
        bound[1] * ((end if end is not None else one.value) - bound[0]) for end in (one.low, one.value, one.high)
    )
    return CurveValue(at=float(number), low=low, value=value, high=high)
