"""What bounds a curve over a number of clients, from what was used at each number.

With D = what one operation uses of a resource, as a share of all there is of it, and Z + R(1) = 1 / X(1) of one client alone, who
waits for nobody: X(N) <= min(N X(1), 1 / D_max), the asymptotic bounds of operational analysis. The two meet at the knee N* =
1 / (D_max X(1)). D is that of the number with the highest rate, with whatever else the machine did then. If no resource takes
more than D_max, X(N) >= N / (1 / X(1) + (N - 1) D_max), the lower bound of balanced jobs: a curve below it is held back by
something else. A resource is saturated where nine tenths of it are used. All of it is said of the numbers that were measured, and
of no others.

References: Denning and Buzen, The operational analysis of queueing network models, ACM Computing Surveys 10 (1978); Lazowska,
Zahorjan, Graham, Sevcik, Quantitative System Performance, 1984, ch. 5 (balanced jobs: 5.4).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import fmean

from assay import measures
from assay.analysis.counting import Load
from assay.analysis.scaling.law import CONFIDENCE, LEAST_EACH, LEAST_PLACES, estimate, passage
from assay.analysis.scaling.objective import kept
from assay.analysis.scaling.use import Along, Use, along
from assay.answer.wording.scaling import FULL_SHARE, counted, fullness, so_many, told, where
from assay.records import (
    Cell,
    Estimate,
    Experiment,
    Judged,
    Scaling,
    ScalingKind,
)
from assay.statistics.contrast import interval
from assay.statistics.crossing import Band, crossings
from assay.statistics.mean_interval import arithmetic_mean, geometric_mean
from assay.statistics.welch_ratio import welch_ratio
from assay.units import Unit

HELD = 0.9
"""A curve below this share of what the resources let through at the least is held back by something that is not among them."""
OVER = 1.1
"""A limit of which more than this share was used while the clock ran was not in force: a throttle gives credit at first."""
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
    if len(points) < LEAST_EACH or min(point.share for point in points) <= 0 or on_credit(use):
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
        if on_credit(use):
            yield scaling_of(curve, (ScalingKind.SATURATION, use.said), None, credit(curve, use))
        elif len(table) >= LEAST_PLACES and max(band.value for band in table) >= FULL_SHARE:
            yield saturation(curve, use, table)


def on_credit(use: Use) -> bool:
    """Whether at some number more was used while the clock ran than there is: then its limit bounds nothing here."""
    return most_clocked(use) > OVER


def most_clocked(use: Use) -> float:
    """The largest mean share at any number, of what passed while the clock ran."""
    return max(fmean(point.clocked for point in points) for points in use.points.values())


def credit(curve: Along, use: Use) -> str:
    """That nothing follows from a limit that was not in force."""
    passed = measures.percent(most_clocked(use))
    return (
        f"{curve.measure}{where(curve.within)}: {passed} of {use.said} passed while the clock ran, more than this limit allows"
        " (a throttle gives credit in short trials; or it is told wrongly): no saturation and no knee follow from it."
    )


def unsaturated(curve: Along) -> Iterator[Scaling]:
    """How full the fullest resource is, of those that are watched."""
    watched = [use for use in curve.uses if len(bands(use)) >= LEAST_PLACES]
    if watched:
        most = max(watched, key=fullest)
        yield saturation(curve, most, bands(most))


def saturation(curve: Along, use: Use, table: Sequence[Band]) -> Scaling:
    """Where one resource is used up, or how far it is from that."""
    risen = next((one for one in crossings(table, FULL_SHARE) if one.rising), None)
    at = passage(risen, (table[0].at, table[-1].at), "means joined by lines")
    said = f"{curve.measure}{where(curve.within)}: the use of {use.said} {fullness(table, risen, counted(curve.factor))}"
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
    """The knee of one curve, where one alone was measured and a resource has a bound; none where a limit was not in force."""
    found, first = bounds(curve), min(curve.rates)
    if not found or first != 1 or len(curve.rates[first]) < LEAST_EACH or any(map(on_credit, curve.uses)):
        return
    knee, above = knee_of(curve, found[0]), more_than_alone(curve)
    held = held_back(curve, knee) if above is None else None
    inside = first <= knee.value <= max(curve.rates) and above is None and held is None
    if above is not None:
        said = no_knee(curve, above)
    else:
        said = knee_said(curve, found[0], knee) if held is None else held_said(curve, (found[0], knee), held)
    head = f"{curve.measure}{where(curve.within)}:"
    yield scaling_of(curve, (ScalingKind.KNEE, found[0].use.said), knee if inside else None, f"{head} {said}.")


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


def no_knee(curve: Along, number: int) -> str:
    """Why there is no knee where one alone is held back by what others do not meet."""
    return (
        f"{so_many(number, counted(curve.factor))} do more than {number} times what one alone does, so one alone"
        " does not say what one takes (it was disturbed, or the machine went idle between its operations): no knee is told"
    )


def knee_of(curve: Along, lowest: Bound) -> Estimate:
    """Where one client's rate times their number meets the lowest bound."""
    alone = curve.rates[min(curve.rates)]
    full = [point.rate / point.share for point in lowest.use.points[lowest.at]]
    ratio = welch_ratio(alone, full)
    low, high = interval(ratio, CONFIDENCE)
    return estimate(math.exp(ratio.difference), math.exp(low), math.exp(high), len(full), KNEE_METHOD)


def knee_said(curve: Along, lowest: Bound, knee: Estimate) -> str:
    """Where the knee is and what follows."""
    what, most = counted(curve.factor), max(curve.rates)
    if knee.value < 1:
        used = measures.percent(fmean(point.share for point in lowest.use.points.get(1, lowest.use.points[lowest.at])))
        return f"{so_many(1, what)} alone already uses {used} of {lowest.use.said}: there is no knee from 1 to {most}"
    if knee.value > most:
        most_used = measures.percent(fullest(lowest.use))
        return (
            f"by what one alone does and by {lowest.use.said}, of which {most_used} were used, "
            f"the knee would be at {told(knee)} {what}: not in the measured range, 1 to {most}"
        )
    reached = max(map(fmean, curve.rates.values())) / lowest.rate.value
    over = "; what was above it was not lasting, since what is moved after the clock counts here" if reached > OVER else ""
    return (
        f"the knee is at {told(knee)} {what}: from there on {lowest.use.said} set the bound, "
        f"{in_rate(lowest, lowest.rate.value)}, of which {measures.percent(reached)} were reached{over}"
    )


def held_said(curve: Along, of: tuple[Bound, Estimate], held: tuple[int, float]) -> str:
    """That something holds the curve back which is not among the resources, so that their knee is not its own."""
    (lowest, knee), (number, least), what = of, held, counted(curve.factor)
    done = in_rate(lowest, fmean(curve.rates[number]))
    return (
        f"something that is not listed here (a lock, a journal, a queue) holds it back: {so_many(number, what)} do {done}, where "
        f"what one alone does and {lowest.use.said} would let through {in_rate(lowest, least)} at the least. These alone would "
        f"have their knee at {told(knee)} {what}; it is not the one of this curve"
    )


def in_rate(lowest: Bound, value: float) -> str:
    """A rate in the unit of the curve."""
    return measures.with_unit(value, Unit(lowest.rate.unit))


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
