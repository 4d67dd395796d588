"""What a curve over a number of clients, workers or requests in flight says, and only within the numbers that were measured.

How it grows and where it peaks (Gunther's law, where it is told from Amdahl's and from a straight line), at which number one
arm stops being better than the other, and at which number a share is used up. A peak is claimed only where its whole interval
lies within what was measured; else the answer is that there is none in the range.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from statistics import geometric_mean

from assay import measures
from assay.analysis.counting import measure_of, unit_of
from assay.analysis.scaling.efficiency import RATES
from assay.answer.wording.scaling import FULL_SHARE, counted, fullness, growth, is_sure, led, passed, where
from assay.records import Cell, Comparison, Estimate, Experiment, Factor, Scaling, ScalingKind, Value
from assay.statistics.contrast import interval
from assay.statistics.crossing import Band, Crossing, crossings
from assay.statistics.scaling_law import LEAST_LEVELS, Law, Point, laws, misfit, peak_interval
from assay.statistics.welch_ratio import welch_ratio
from assay.units import Unit

LEAST_PLACES = 2
LEAST_EACH = 3
"""Trials at each number: fewer bear no interval (S02)."""
CONFIDENCE = 0.95
FITS = 0.02
"""A law from which a mean is farther than this share, beyond noise, does not say where the peak is."""
BETWEEN = "the number with the most, between its neighbours that do less"


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


def counts(factor: Factor) -> bool:
    """Whether a factor counts what works at the same time, at some different numbers."""
    numbers = [level for level in factor.levels if isinstance(level, int) and not isinstance(level, bool) and level > 0]
    return factor.path.rpartition(".")[2] in measures.CONCURRENCY and len(numbers) == len(factor.levels) >= LEAST_PLACES


def curves(factor: Factor, cells: Sequence[Cell]) -> Iterator[tuple[str, dict[str, Value], list[tuple[int, Cell]]]]:
    """Measure, the levels of the other factors, and the cells along this one in the order of its numbers."""
    found: dict[tuple[str, tuple[tuple[str, Value], ...]], list[tuple[int, Cell]]] = {}
    for cell in cells:
        number = cell.levels.get(factor.path)
        if isinstance(number, int) and cell.values:
            rest = tuple((path, level) for path, level in cell.levels.items() if path != factor.path)
            found.setdefault((cell.measure, rest), []).append((number, cell))
    for (measure, rest), along in found.items():
        yield measure, dict(rest), sorted(along, key=lambda pair: pair[0])


# --------------------------------------------------------------------------------------------------- growth


def grown(experiment: Experiment, factor: Factor, cells: Sequence[Cell]) -> Iterator[Scaling]:
    """The law of each rate of all clients together that was measured at enough numbers."""
    for measure, within, along in curves(factor, cells):
        enough = len(along) >= LEAST_LEVELS and all(len(cell.values) >= LEAST_EACH for _, cell in along)
        if not enough or measure_of(experiment, measure).figure not in RATES:
            continue
        points: list[Point] = [(float(number), value) for number, cell in along for value in cell.values.values()]
        best = laws(points)[0]
        off, span = misfit(points, best), (float(along[0][0]), float(along[-1][0]))
        peak = peaked(points, best, off)
        means = [geometric_mean(cell.values.values()) for _, cell in (along[0], along[-1])]
        yield Scaling(
            kind=ScalingKind.LAW,
            measure=measure,
            factor=factor.path,
            within=within,
            at=peak,
            lowest=span[0],
            highest=span[1],
            statement=f"{measure}{where(within)} {growth((best, off), peak, (span, means[1] / means[0]), counted(factor.path))}.",
        )


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
    return estimate(most, max(below), min(above), len(points), BETWEEN) if below and above and falls(points) else None


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
    return estimate(law.peak, low, high, len(points), "Gunther's law, resampled residuals")


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
    found: dict[tuple[str, Value, tuple[tuple[str, Value], ...]], list[tuple[int, Comparison]]] = {}
    for one in comparisons:
        number = one.within.get(factor.path)
        if isinstance(number, int) and one.ratio is not None and one.ratio.low is not None:
            rest = tuple((path, level) for path, level in one.within.items() if path != factor.path)
            found.setdefault((one.measure, one.candidate, rest), []).append((number, one))
    for (measure, candidate, rest), along in found.items():
        if len(along) >= LEAST_PLACES and experiment.compare != factor.path:
            yield break_even(
                measure_of(experiment, measure).name, factor, (candidate, dict(rest)), sorted(along, key=lambda pair: pair[0])
            )


def break_even(
    measure: str, factor: Factor, arm: tuple[Value, Mapping[str, Value]], along: Sequence[tuple[int, Comparison]]
) -> Scaling:
    """One answer: the number at which the lead changes, or who leads at every number."""
    bands = [band(number, one.ratio) for number, one in along if one.ratio is not None]
    found, arms, what = crossings(bands), (arm[0], along[0][1].baseline), counted(factor.path)
    span = (float(along[0][0]), float(along[-1][0]))
    at = passage(found[0] if len(found) == 1 else None, span, "ratios paired by block, joined by lines")
    if not found:
        said = led(arms, bands, what)
    elif len(found) == 1:
        said = passed(arms, bands, found[0], what)
    else:
        said = f"the order changes {len(found)} times from {span[0]:g} to {span[1]:g} {what}: noise, or no simple answer"
    return Scaling(
        kind=ScalingKind.BREAK_EVEN,
        measure=measure,
        factor=factor.path,
        within={**arm[1], along[0][1].factor: arm[0]},
        at=at,
        lowest=span[0],
        highest=span[1],
        statement=f"{measure}{where(arm[1])}, {arm[0]} against {arms[1]}: {said}.",
    )


def band(number: int, ratio: Estimate) -> Band:
    """The logarithm of a ratio and of its interval."""
    assert ratio.low is not None
    assert ratio.high is not None
    return Band(at=float(number), low=math.log(ratio.low), value=math.log(ratio.value), high=math.log(ratio.high))


# ----------------------------------------------------------------------------------------------- saturation


def filled(experiment: Experiment, factor: Factor, cells: Sequence[Cell]) -> Iterator[Scaling]:
    """The number at which a share, such as that of the processors, reaches nine tenths."""
    for measure, within, along in curves(factor, cells):
        estimates = [(number, cell.estimate) for number, cell in along if cell.estimate is not None]
        shares = unit_of(measure_of(experiment, measure)) is Unit.SHARE
        if not shares or len(estimates) < LEAST_PLACES or any(one.low is None for _, one in estimates):
            continue
        bands = [Band(at=float(number), low=one.low or 0.0, value=one.value, high=one.high or 0.0) for number, one in estimates]
        risen = next((one for one in crossings(bands, FULL_SHARE) if one.rising), None)
        span = (float(along[0][0]), float(along[-1][0]))
        at = passage(risen, span, "means joined by lines")
        yield Scaling(
            kind=ScalingKind.SATURATION,
            measure=measure,
            factor=factor.path,
            within=within,
            at=at,
            lowest=span[0],
            highest=span[1],
            statement=f"{measure}{where(within)} {fullness(bands, risen, counted(factor.path))}.",
        )


def passage(one: Crossing | None, span: tuple[float, float], method: str) -> Estimate | None:
    """A crossing as an estimate, None of none or of an unsure one; where the interval leaves the range, that is its bound."""
    if one is None or not is_sure(one):
        return None
    low, high = one.low if one.low is not None else span[0], one.high if one.high is not None else span[1]
    return estimate(one.at, low, high, 0, method)


def estimate(value: float, low: float, high: float, n: int, method: str) -> Estimate:
    """A number of clients with its interval."""
    return Estimate(value=value, low=low, high=high, confidence=CONFIDENCE, unit=Unit.NONE.value, n=n, method=method)
