"""Up to which number of clients each bound that is required of a figure is kept: the knee by an objective."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from assay.analysis.scaling.law import LEAST_PLACES, counts, curves, is_sure, passage
from assay.records import Cell, Estimate, Experiment, Factor, Method, Requirement, RequirementKind, Scaling, ScalingKind, Shape
from assay.statistics.scaling_law import Band, Crossing, crossings


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


def keeping(table: Sequence[Band], ends: Crossing | None) -> Shape:
    """Whether, and how surely, a bound is kept up to a number."""
    if ends is not None:
        return Shape.CROSSES if is_sure(ends) else Shape.CROSSES_BY_MEANS
    if all(band.value <= 0 for band in table):
        return Shape.KEPT
    return Shape.NOT_KEPT if all(band.value > 0 for band in table) else Shape.KEPT_AT_SOME


def over(number: int, one: Estimate, bound: tuple[float, int]) -> Band:
    """By how much a figure is worse than what is required; below 0 it is kept."""
    low, value, high = sorted(
        bound[1] * ((end if end is not None else one.value) - bound[0]) for end in (one.low, one.value, one.high)
    )
    return Band(at=float(number), low=low, value=value, high=high)
