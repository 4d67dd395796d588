"""What bounds a curve over a number of clients, from what was used at each number.

With D = what one operation uses of a resource, as a share of all there is of it, and Z + R(1) = 1 / X(1) of one client alone,
who waits for nobody: X(N) <= min(N X(1), 1 / D_max), the asymptotic bounds of operational analysis. The two meet at the knee N*
= 1 / (D_max X(1)). D is that of the number with the highest rate, with whatever else the machine did then. If no resource takes
more than D_max, X(N) >= N / (1 / X(1) + (N - 1) D_max), the lower bound of balanced jobs: a curve below it is held back by
something else. A resource is saturated where nine tenths of it are used. All of it is said of the numbers that were measured,
and of no others.

References: Denning and Buzen, The operational analysis of queueing network models, ACM Computing Surveys 10 (1978); Lazowska,
Zahorjan, Graham, Sevcik, Quantitative System Performance, 1984, ch. 5 (balanced jobs: 5.4).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from statistics import fmean

from assay.analysis.cells import Load
from assay.analysis.scaling.law import CONFIDENCE, FULL_SHARE, LEAST_EACH, LEAST_PLACES, estimate, filling, fit_of, kept, passage
from assay.analysis.scaling.use import Along, ResourceCurve, along
from assay.frozen import dataclass
from assay.records import (
    Capacity,
    Ceiling,
    Cell,
    Estimate,
    Experiment,
    Fit,
    Judged,
    Knee,
    Method,
    Scaled,
    Scaling,
    ScalingKind,
    Shape,
)
from assay.records import Use as Used
from assay.statistics.contrast import interval, welch_ratio
from assay.statistics.intervals import arithmetic_mean, geometric_mean
from assay.statistics.scaling_law import LEAST_LEVELS, CurveValue, Point, band, crossings, laws

PLACES = 40
"""So many places of the fitted curve are told."""
HELD = 0.9
"""A curve below this share of what the resources let through at the least is held back by something that is not among them."""
OVER = 1.1
"""A limit of which more than this share was used while the clock ran was not in force: a throttle gives credit at first."""


@dataclass(frozen=True, kw_only=True)
class ResourceLimit:
    """The rate at which all of a resource is used up."""

    use: ResourceCurve
    rate: Estimate
    at: int
    """The number of clients whose trials say what one operation uses."""


def bounded(experiment: Experiment, runs: Sequence[Judged], cells: Sequence[Cell], load: Load) -> tuple[Scaling, ...]:
    """Saturation of named resources, the knee of every curve, and how far each objective is kept."""
    found = along(experiment, runs, cells, load)
    return (*(one for curve in found for one in of_curve(curve)), *kept(experiment, cells))


def of_curve(curve: Along) -> tuple[Scaling, ...]:
    """What is used up, and the knee; that nothing is used up is only said where there is no knee, which says it as well."""
    full, knee = tuple(saturated(curve)), tuple(knees(curve))
    return (*full, *knee) or tuple(unsaturated(curve))


# ------------------------------------------------------------------------------------------------- bounds


def bounds(curve: Along) -> tuple[ResourceLimit, ...]:
    """The bound of every resource, the lowest first."""
    found = [one for use in curve.uses if (one := bound(curve, use)) is not None]
    return tuple(sorted(found, key=lambda one: one.rate.value))


def bound(curve: Along, use: ResourceCurve) -> ResourceLimit | None:
    """The bound of one resource; None where too few trials tell, or nothing is used of it."""
    number = fastest(curve)
    points = use.points.get(number, ())
    if len(points) < LEAST_EACH or min(point.share for point in points) <= 0 or on_credit(use):
        return None
    mean = geometric_mean([point.rate / point.share for point in points], CONFIDENCE)
    rate = Estimate(
        value=mean.value,
        low=mean.low,
        high=mean.high,
        confidence=CONFIDENCE,
        unit=curve.unit,
        n=mean.n,
        method=Method.UTILISATION_LAW,
    )
    return ResourceLimit(use=use, rate=rate, at=number)


def fastest(curve: Along) -> int:
    """The number with the highest mean rate."""
    return max(curve.rates, key=lambda number: fmean(curve.rates[number]))


# ------------------------------------------------------------------------------------------------ saturation


def saturated(curve: Along) -> Iterator[Scaling]:
    """The number from which on each resource is used up that is."""
    for use in curve.uses:
        table = bands(use)
        if on_credit(use):
            found = replace(used_of(curve, use), share=most_clocked(use))
            yield replace(scaling_of(curve, ScalingKind.SATURATION, Shape.ON_CREDIT), use=found)
        elif len(table) >= LEAST_PLACES and max(band.value for band in table) >= FULL_SHARE:
            yield saturation(curve, use, table)


def on_credit(use: ResourceCurve) -> bool:
    """Whether at some number more was used while the clock ran than there is: then its limit bounds nothing here."""
    return most_clocked(use) > OVER


def most_clocked(use: ResourceCurve) -> float:
    """The largest mean share at any number, of what passed while the clock ran."""
    return max(fmean(point.clocked for point in points) for points in use.points.values())


def unsaturated(curve: Along) -> Iterator[Scaling]:
    """How full the fullest resource is, of those that are watched."""
    watched = [use for use in curve.uses if len(bands(use)) >= LEAST_PLACES]
    if watched:
        most = max(watched, key=fullest)
        yield saturation(curve, most, bands(most))


def saturation(curve: Along, use: ResourceCurve, table: Sequence[CurveValue]) -> Scaling:
    """Where one resource is used up, or how far it is from that."""
    risen = next((one for one in crossings(table, FULL_SHARE) if one.rising), None)
    found = replace(used_of(curve, use), share=max(band.value for band in table))
    place = passage(risen, (table[0].at, table[-1].at), Method.CROSSING_OF_MEANS)
    return replace(scaling_of(curve, ScalingKind.SATURATION, filling(table, risen)), use=found, **place)


def bands(use: ResourceCurve) -> list[CurveValue]:
    """The mean share of each number with its interval."""
    found = []
    for number, points in sorted(use.points.items()):
        mean = arithmetic_mean([point.share for point in points], CONFIDENCE)
        if mean.low is not None and mean.high is not None:
            found.append(CurveValue(at=float(number), low=mean.low, value=mean.value, high=mean.high))
    return found


# ------------------------------------------------------------------------------------------------------ knee


def knees(curve: Along) -> Iterator[Scaling]:
    """The knee of one curve, where one alone was measured and a resource has a bound; none where a limit was not in force."""
    found, first = bounds(curve), min(curve.rates)
    if not found or first != 1 or len(curve.rates[first]) < LEAST_EACH or any(map(on_credit, curve.uses)):
        return
    yield knee_of(curve, found[0])


def knee_of(curve: Along, lowest: ResourceLimit) -> Scaling:
    """The knee by the lowest bound; or why there is none within the numbers, or none that is this curve's."""
    knee, above = crossing_of(curve, lowest), more_than_alone(curve)
    held = held_back(curve, knee) if above is None else None
    least = held[1] if held else None
    number = held[0] if held else above
    shape, share = reached_knee(curve, lowest, knee)
    if number is not None:
        shape, share = (Shape.HELD_BACK, fullest(lowest.use)) if held else (Shape.MORE_THAN_ALONE, share)
    return replace(
        scaling_of(curve, ScalingKind.KNEE, shape),
        at=knee if shape is Shape.KNEE else None,
        use=replace(used_of(curve, lowest.use), share=share),
        knee=Knee(
            estimate=knee,
            bound=lowest.rate.value,
            unit=curve.unit,
            number=number,
            rate=None if number is None else fmean(curve.rates[number]),
            least=least,
        ),
    )


def reached_knee(curve: Along, lowest: ResourceLimit, knee: Estimate) -> tuple[Shape, float]:
    """Where a knee lies, and the share of its resource that was used: by one alone, at the most, or of the bound."""
    if knee.value < 1:
        return Shape.KNEE_BELOW_RANGE, fmean(point.share for point in lowest.use.points.get(1, lowest.use.points[lowest.at]))
    if knee.value > max(curve.rates):
        return Shape.KNEE_BEYOND_RANGE, fullest(lowest.use)
    return Shape.KNEE, max(map(fmean, curve.rates.values())) / lowest.rate.value


def held_back(curve: Along, knee: Estimate) -> tuple[int, float] | None:
    """The number that is farthest below what the resources let through at the least, and that rate; None where none is."""
    alone = fmean(curve.rates[1])
    least = {number: number * alone / (1 + (number - 1) / knee.value) for number in curve.rates}
    number = min(least, key=lambda one: fmean(curve.rates[one]) / least[one])
    low = len(curve.rates[number]) >= LEAST_EACH and fmean(curve.rates[number]) < HELD * least[number]
    return (number, least[number]) if low else None


def more_than_alone(curve: Along) -> int | None:
    """A number that does more than so many times what one alone does, beyond noise; None where there is none."""
    alone = curve.rates[1]
    for number, rates in sorted(curve.rates.items()):
        ratio = welch_ratio(alone, rates)
        if number > 1 and len(rates) >= LEAST_EACH and interval(ratio, CONFIDENCE)[0] > math.log(number):
            return number
    return None


def crossing_of(curve: Along, lowest: ResourceLimit) -> Estimate:
    """Where one client's rate times their number meets the lowest bound."""
    alone = curve.rates[min(curve.rates)]
    full = [point.rate / point.share for point in lowest.use.points[lowest.at]]
    ratio = welch_ratio(alone, full)
    low, high = interval(ratio, CONFIDENCE)
    return estimate(math.exp(ratio.difference), math.exp(low), math.exp(high), len(full), Method.ASYMPTOTIC_BOUNDS)


def used_of(curve: Along, use: ResourceCurve) -> Used:
    """How far a resource is used at the most, and what other programs had of it where the most was done."""
    others = [point.others for point in use.points.get(fastest(curve), ())]
    known = [share for share in others if share is not None]
    return Used(share=fullest(use), capacity=use.capacity, others=fmean(known) if known and len(known) == len(others) else None)


def fullest(use: ResourceCurve) -> float:
    """The largest mean share of a resource that was used at any number."""
    return max(fmean(point.share for point in points) for points in use.points.values())


def scaling_of(curve: Along, kind: ScalingKind, shape: Shape) -> Scaling:
    """One answer about one curve, without its values."""
    return Scaling(
        kind=kind,
        shape=shape,
        measure=curve.measure,
        factor=curve.factor,
        within=curve.within,
        at=None,
        lowest=float(min(curve.rates)),
        highest=float(max(curve.rates)),
    )


# --------------------------------------------------------------------------------------------------- picture


def pictured(experiment: Experiment, runs: Sequence[Judged], cells: Sequence[Cell], load: Load) -> tuple[Scaled, ...]:
    """What the picture of each curve shows besides its points: the fitted law with its band, and the bounds."""
    return tuple(picture(curve) for curve in along(experiment, runs, cells, load))


def picture(curve: Along) -> Scaled:
    """One curve with all that is known of it."""
    found, fitted = fit(curve)
    alone = curve.rates.get(1)
    return Scaled(
        measure=curve.measure,
        factor=curve.factor,
        within=curve.within,
        unit=curve.unit,
        fit=found,
        fitted=fitted,
        alone=geometric_mean(alone).value if alone else None,
        ceilings=tuple(
            Ceiling(capacity=bound.use.capacity, rate=rate.value, low=rate.low or rate.value, high=rate.high or rate.value)
            for bound in bounds(curve)
            for rate in (bound.rate,)
        ),
        used={number: used(curve, number) for number in sorted(curve.rates)},
    )


def used(curve: Along, number: int) -> tuple[tuple[Capacity, float], ...]:
    """The mean share of each resource at one number."""
    uses = ((use.capacity, use.points.get(number)) for use in curve.uses)
    return tuple((capacity, fmean(point.share for point in points)) for capacity, points in uses if points)


def fit(curve: Along) -> tuple[Fit | None, tuple[tuple[float, float, float, float], ...]]:
    """The law and its curve with the band; nothing where it is not told, by the same least numbers as the answer."""
    enough = len(curve.rates) >= LEAST_LEVELS and all(len(values) >= LEAST_EACH for values in curve.rates.values())
    if not enough:
        return None, ()
    points: list[Point] = [(float(number), rate) for number, rates in curve.rates.items() for rate in rates]
    best, first, end = laws(points)[0], min(curve.rates), max(curve.rates)
    even = {first + (end - first) * step / (PLACES - 1) for step in range(PLACES)}
    places = sorted(even | {bend for bend in (best.ceiling / best.one,) if first < bend < end})  # the corner of a clipped line
    edges = band(points, best, places)
    return fit_of(best), tuple((at, low, best.at(at), high) for at, (low, high) in zip(places, edges, strict=True))
