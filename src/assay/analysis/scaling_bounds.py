"""What bounds a curve over a number of clients, from what was used at each number; and until where an objective is kept.

With D = what one operation uses of a resource, as a share of all there is of it, and Z + R(1) = 1 / X(1) of one client alone, who
waits for nobody: X(N) <= min(N X(1), 1 / D_max), the asymptotic bounds of operational analysis. The two meet at the knee N* =
1 / (D_max X(1)). D is that of the number with the highest rate, with whatever else the machine did then. A resource is saturated
where nine tenths of it are used. All of it is said of the numbers that were measured, and of no others.

References: Denning and Buzen, The operational analysis of queueing network models, ACM Computing Surveys 10 (1978); Lazowska,
Zahorjan, Graham, Sevcik, Quantitative System Performance, 1984, ch. 5.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import fmean

from assay import measures
from assay.analysis.counting import Load, measure_of
from assay.analysis.scaling import (
    CONFIDENCE,
    FULL_SHARE,
    LEAST_EACH,
    LEAST_PLACES,
    counts,
    curves,
    estimate,
    fullness,
    passage,
    told,
    where,
)
from assay.analysis.scaling_use import Along, Use, along
from assay.records import (
    Cell,
    Estimate,
    Experiment,
    Factor,
    Judged,
    Requirement,
    RequirementKind,
    Scaling,
    ScalingKind,
)
from assay.statistics.contrast import interval
from assay.statistics.crossing import Band, crossings
from assay.statistics.mean_interval import arithmetic_mean, geometric_mean
from assay.statistics.welch_ratio import welch_ratio
from assay.units import Unit

FAR_BELOW = 0.7
"""A curve that is below this share of its bound at twice the knee is held back by something that is not among the resources."""
BOUND_METHOD = "utilisation law, geometric mean with t interval"
KNEE_METHOD = "asymptotic bounds, Welch's t on logarithms"


@dataclass(frozen=True, kw_only=True)
class Bound:
    """The rate at which all of a resource is used up."""

    use: Use
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


def bounds(curve: Along) -> tuple[Bound, ...]:
    """The bound of every resource, the lowest first."""
    found = [one for use in curve.uses if (one := bound(curve, use)) is not None]
    return tuple(sorted(found, key=lambda one: one.rate.value))


def bound(curve: Along, use: Use) -> Bound | None:
    """The bound of one resource; None where too few trials tell, or nothing is used of it."""
    number = fastest(curve)
    points = use.points.get(number, ())
    if len(points) < LEAST_EACH or min(point.share for point in points) <= 0:
        return None
    mean = geometric_mean([point.rate / point.share for point in points], CONFIDENCE)
    rate = Estimate(
        value=mean.value, low=mean.low, high=mean.high, confidence=CONFIDENCE, unit=curve.unit, n=mean.n, method=BOUND_METHOD
    )
    return Bound(use=use, rate=rate, at=number)


def fastest(curve: Along) -> int:
    """The number with the highest mean rate."""
    return max(curve.rates, key=lambda number: fmean(curve.rates[number]))


# ------------------------------------------------------------------------------------------------ saturation


def saturated(curve: Along) -> Iterator[Scaling]:
    """The number from which on each resource is used up that is."""
    for use in curve.uses:
        table = bands(use)
        if len(table) >= LEAST_PLACES and max(band.value for band in table) >= FULL_SHARE:
            yield saturation(curve, use, table)


def unsaturated(curve: Along) -> Iterator[Scaling]:
    """How full the fullest resource is, of those that are watched."""
    watched = [use for use in curve.uses if len(bands(use)) >= LEAST_PLACES]
    if watched:
        most = max(watched, key=fullest)
        yield saturation(curve, most, bands(most))


def saturation(curve: Along, use: Use, table: Sequence[Band]) -> Scaling:
    """Where one resource is used up, or how far it is from that."""
    passed = [one for one in crossings(table, FULL_SHARE) if one.rising]
    at = passage(passed[0], (table[0].at, table[-1].at), "means joined by lines") if passed else None
    said = f"{curve.measure}{where(curve.within)}: the use of {use.said} {fullness(table, at, last(curve.factor))}"
    return scaling_of(curve, (ScalingKind.SATURATION, use.said), at, f"{said}.")


def bands(use: Use) -> list[Band]:
    """The mean share of each number with its interval."""
    found = []
    for number, points in sorted(use.points.items()):
        mean = arithmetic_mean([point.share for point in points], CONFIDENCE)
        if mean.low is not None and mean.high is not None:
            found.append(Band(at=float(number), low=mean.low, value=mean.value, high=mean.high))
    return found


# ------------------------------------------------------------------------------------------------------ knee


def knees(curve: Along) -> Iterator[Scaling]:
    """The knee of one curve, where one client alone was measured and a resource has a bound."""
    found, first = bounds(curve), min(curve.rates)
    if not found or first != 1 or len(curve.rates[first]) < LEAST_EACH:
        return
    knee = knee_of(curve, found[0])
    above = more_than_alone(curve)
    inside = first <= knee.value <= max(curve.rates) and above is None
    said = knee_said(curve, found[0], knee) if above is None else no_knee(curve, above)
    yield scaling_of(curve, (ScalingKind.KNEE, found[0].use.said), knee if inside else None, said)


def more_than_alone(curve: Along) -> int | None:
    """A number that does more than so many times what one alone does, beyond noise; None where there is none."""
    alone = curve.rates[1]
    for number, rates in sorted(curve.rates.items()):
        ratio = welch_ratio(alone, rates)
        if number > 1 and len(rates) >= LEAST_EACH and interval(ratio, CONFIDENCE)[0] > math.log(number):
            return number
    return None


def no_knee(curve: Along, number: int) -> str:
    """Why there is no knee where one alone is held back by what others do not meet."""
    what = last(curve.factor)
    return (
        f"{curve.measure}{where(curve.within)}: {number} {what} do more than {number} times what one alone does, so one alone"
        " does not say what one takes (it was disturbed, or the machine went idle between its operations): no knee is told."
    )


def knee_of(curve: Along, lowest: Bound) -> Estimate:
    """Where one client's rate times their number meets the lowest bound."""
    alone = curve.rates[min(curve.rates)]
    full = [point.rate / point.share for point in lowest.use.points[lowest.at]]
    ratio = welch_ratio(alone, full)
    low, high = interval(ratio, CONFIDENCE)
    return estimate(math.exp(ratio.difference), math.exp(low), math.exp(high), len(full), KNEE_METHOD)


def knee_said(curve: Along, lowest: Bound, knee: Estimate) -> str:
    """Where the knee is and what follows, in a sentence."""
    what, most = last(curve.factor), max(curve.rates)
    head = f"{curve.measure}{where(curve.within)}:"
    if not 1 <= knee.value <= most:
        side = f"below one of {what}" if knee.value < 1 else f"at {told(knee)} {what}"
        most_used = measures.percent(fullest(lowest.use))
        return (
            f"{head} by what one alone does and by {lowest.use.said}, of which {most_used} were used, "
            f"the knee would be {side}: not in the measured range, 1 to {most}."
        )
    reached = max(map(fmean, curve.rates.values())) / lowest.rate.value
    most_done = measures.with_unit(lowest.rate.value, Unit(lowest.rate.unit))
    beyond = most >= 2 * knee.value and reached < FAR_BELOW
    held = "; something that is not listed holds it back" if beyond else ""
    over = "; what was above it was not lasting, since what is moved after the clock counts here" if reached > 1.1 else ""
    return (
        f"{head} the knee is at {told(knee)} {what}: from there on {lowest.use.said} set the bound, {most_done}, "
        f"of which {measures.percent(reached)} were reached{held}{over}."
    )


def fullest(use: Use) -> float:
    """The largest mean share of a resource that was used at any number."""
    return max(fmean(point.share for point in points) for points in use.points.values())


def scaling_of(curve: Along, what: tuple[ScalingKind, str], at: Estimate | None, said: str) -> Scaling:
    """One answer about one curve; `what`: its kind, and the resource that it is about."""
    return Scaling(
        kind=what[0],
        about=what[1].removeprefix("the "),
        measure=curve.measure,
        factor=curve.factor,
        within=curve.within,
        at=at,
        lowest=float(min(curve.rates)),
        highest=float(max(curve.rates)),
        statement=said,
    )


# ------------------------------------------------------------------------------------------------- objective


def kept(experiment: Experiment, cells: Sequence[Cell]) -> Iterator[Scaling]:
    """Up to which number each bound that is required of a figure is kept."""
    for factor in experiment.factors:
        for requirement in experiment.requirements if counts(factor) else ():
            if requirement.kind is not RequirementKind.NOT_WORSE_THAN:
                of_it = [cell for cell in cells if cell.measure == requirement.measure]
                yield from objective(experiment, factor, requirement, of_it)


def objective(experiment: Experiment, factor: Factor, requirement: Requirement, cells: Sequence[Cell]) -> Iterator[Scaling]:
    """The same along one factor, for each combination of the others."""
    for measure, within, places in curves(factor, cells):
        estimates = [(number, cell.estimate) for number, cell in places if cell.estimate is not None]
        known = [(number, one) for number, one in estimates if one.low is not None and one.high is not None]
        if len(known) < LEAST_PLACES or len(known) < len(places):
            continue
        sign = 1 if requirement.kind is RequirementKind.AT_MOST else -1
        table = [over(number, one, (requirement.bound, sign)) for number, one in known]
        passed, span, what = crossings(table), (table[0].at, table[-1].at), last(factor.path)
        at = passage(passed[0], span, "means joined by lines") if len(passed) == 1 and passed[0].rising else None
        yield Scaling(
            kind=ScalingKind.OBJECTIVE,
            measure=measure,
            factor=factor.path,
            within=within,
            at=at,
            lowest=span[0],
            highest=span[1],
            about=requirement.text,
            statement=f"{measure_of(experiment, measure).name}{where(within)} {requirement.text} {keeping(table, at, what)}.",
        )


def over(number: int, one: Estimate, bound: tuple[float, int]) -> Band:
    """By how much a figure is worse than what is required; below 0 it is kept."""
    low, value, high = sorted(
        bound[1] * ((end if end is not None else one.value) - bound[0]) for end in (one.low, one.value, one.high)
    )
    return Band(at=float(number), low=low, value=value, high=high)


def keeping(table: Sequence[Band], at: Estimate | None, what: str) -> str:
    """Until where an objective is kept, in words."""
    first, end = table[0], table[-1]
    if at is not None:
        return f"is kept up to {told(at)} {what}"
    if all(band.value <= 0 for band in table):
        return f"is kept at all numbers from {first.at:g} to {end.at:g} {what}: where it ends is not in the measured range"
    if all(band.value > 0 for band in table):
        return f"is kept at none of the numbers from {first.at:g} to {end.at:g} {what}"
    return f"is kept at some numbers from {first.at:g} to {end.at:g} {what} and not at others: no simple answer"


def last(path: str) -> str:
    """What a factor counts."""
    return path.rpartition(".")[2]
