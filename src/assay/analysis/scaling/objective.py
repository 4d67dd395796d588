"""Up to which number of clients each bound that is required of a figure is kept: the knee by an objective."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from assay.analysis.counting import measure_of
from assay.analysis.scaling.law import LEAST_PLACES, counts, curves, passage
from assay.answer.wording.scaling import counted, keeping, where
from assay.records import Cell, Estimate, Experiment, Factor, Requirement, RequirementKind, Scaling, ScalingKind
from assay.statistics.crossing import Band, crossings


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
        passed, span, what = crossings(table), (table[0].at, table[-1].at), counted(factor.path)
        ends = passed[0] if len(passed) == 1 and passed[0].rising else None
        at = passage(ends, span, "means joined by lines")
        yield Scaling(
            kind=ScalingKind.OBJECTIVE,
            measure=measure,
            factor=factor.path,
            within=within,
            at=at,
            lowest=span[0],
            highest=span[1],
            about=requirement.text,
            statement=f"{measure_of(experiment, measure).name}{where(within)} {requirement.text} {keeping(table, ends, what)}.",
        )


def over(number: int, one: Estimate, bound: tuple[float, int]) -> Band:
    """By how much a figure is worse than what is required; below 0 it is kept."""
    low, value, high = sorted(
        bound[1] * ((end if end is not None else one.value) - bound[0]) for end in (one.low, one.value, one.high)
    )
    return Band(at=float(number), low=low, value=value, high=high)
