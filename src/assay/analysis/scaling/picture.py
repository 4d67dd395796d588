"""What the picture of a rate over a number of clients shows besides its points: the fitted law with its band, and the bounds."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean, geometric_mean

from assay.analysis.counting import Load
from assay.analysis.scaling.bounds import bounds
from assay.analysis.scaling.law import LEAST_EACH, fit_of
from assay.analysis.scaling.use import Along, along
from assay.records import Capacity, Ceiling, Cell, Experiment, Fit, Judged, Scaled
from assay.statistics.scaling_law import LEAST_LEVELS, Point, band, laws

PLACES = 40
"""So many places of the fitted curve are told."""


def pictured(experiment: Experiment, runs: Sequence[Judged], cells: Sequence[Cell], load: Load) -> tuple[Scaled, ...]:
    """Every curve of the experiment."""
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
        alone=geometric_mean(alone) if alone else None,
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
