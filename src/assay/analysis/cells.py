"""One measure at one combination of levels: its mean over trials with an interval, and which runs it stands on."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

from assay.analysis.counting import Load, at_levels, count, unit_of
from assay.analysis.summaries import summary_of
from assay.records import Cell, Estimate, Experiment, Judged, Measure, Method, Plan, Summary, Value
from assay.statistics.intervals import Mean, arithmetic_mean, geometric_mean, median_interval

CONFIDENCE = 0.95
Levels = dict[str, Value]


def cells(experiment: Experiment, plan: Plan, runs: Sequence[Judged], load: Load) -> tuple[Cell, ...]:
    """The cells of all measures, in the order of the experiment and of its factors.

    Runs that were found INVALID for the measure do not count; `Cell.unfiltered` is the mean with them counted in.
    """
    found = combinations(experiment, plan)
    return tuple(
        cell(measure, levels, at_levels(runs, levels), load)
        for measure in experiment.measures
        for levels in found
        if levels.get("workload", measure.workload) == measure.workload
    )


def combinations(experiment: Experiment, plan: Plan) -> list[Levels]:
    """The combinations of levels that the plan has, in the order of the factors' levels."""
    found: list[Levels] = []
    for trial in plan.trials:
        if dict(trial.levels) not in found:
            found.append(dict(trial.levels))

    def place(levels: Levels) -> list[int]:
        return [factor.levels.index(levels[factor.path]) if factor.path in levels else -1 for factor in experiment.factors]

    return sorted(found, key=place)


def cell(measure: Measure, levels: Levels, runs: Sequence[Judged], load: Load) -> Cell:
    """The cell of one measure at one combination of levels."""
    counted = count(runs, measure, load)
    values = list(counted.values.values())
    return Cell(
        measure=measure.name,
        levels=levels,
        estimate=estimate(measure, values),
        values=counted.values,
        excluded=counted.excluded,
        low=min(values, default=None),
        high=max(values, default=None),
        unfiltered=estimate(measure, [*values, *counted.invalid.values()]) if counted.invalid else None,
    )


def estimate(measure: Measure, values: Sequence[float]) -> Estimate | None:
    """The mean of the values with its 95 % interval; None where there are no values."""
    if not values:
        return None
    summary = summary_of(measure)
    if summary is Summary.MEDIAN:
        return of_median(measure, values)
    plainly = summary is Summary.TOTAL
    mean: Mean = arithmetic_mean(values, CONFIDENCE) if plainly else geometric_mean(values, CONFIDENCE)
    method = Method.MEAN if plainly else Method.GEOMETRIC_MEAN
    return Estimate(
        value=mean.value, low=mean.low, high=mean.high, confidence=CONFIDENCE, unit=unit_of(measure), n=mean.n, method=method
    )


def of_median(measure: Measure, values: Sequence[float]) -> Estimate:
    """The median with its order-statistic interval, which needs six values."""
    low, high = median_interval(values, CONFIDENCE) or (None, None)
    return Estimate(
        value=median(values),
        low=low,
        high=high,
        confidence=CONFIDENCE,
        unit=unit_of(measure),
        n=len(values),
        method=Method.MEDIAN,
    )
