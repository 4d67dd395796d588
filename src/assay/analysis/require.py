"""Whether requirements hold: met, not met or undecided, each decided by a 95 % interval and never by a mean alone.

Where runs carry bounds the range of what is true takes the place of the interval of what was measured.
`<= B` is met where the whole interval of the cell is at most B, not met where all of it is above; `>=` likewise.
`not worse than x %` is a test of non-inferiority: where higher is better, met if the whole interval of the ratio candidate /
baseline is at least 1 - x, not met if all of it is below; where lower is better, at most 1 + x
(G. Piaggio et al., Reporting of noninferiority and equivalence randomized trials, JAMA 308 (2012), 2594-2604).
What is met by a comparison is worth no more than the comparison: its verdict is the requirement's, too.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence

from assay import measures
from assay.analysis.cells import judged_state, measure_of
from assay.records import (
    Cell,
    Comparison,
    Estimate,
    Experiment,
    Judged,
    Requirement,
    RequirementKind,
    RequirementResult,
    RequirementState,
    Verdict,
    VerdictState,
    worst,
)

Trust = Callable[[Comparison], VerdictState]
"""A comparison -> what the audit says of it; SOUND where it was not judged."""


def unjudged(comparison: Comparison) -> VerdictState:
    """Nothing against any comparison: what the runs say is left."""
    del comparison
    return VerdictState.SOUND


def requirements(
    experiment: Experiment,
    cells: Sequence[Cell],
    comparisons: Sequence[Comparison],
    runs: Sequence[Judged],
    trusted: Trust = unjudged,
) -> tuple[RequirementResult, ...]:
    """Every requirement at every combination of levels (`not worse than`: at every one that is compared with the baseline)."""
    by_id = {judged.id: judged for judged in runs}
    return tuple(
        result
        for requirement in experiment.requirements
        for result in (
            relative(experiment, requirement, (cells, comparisons, trusted), by_id)
            if requirement.kind is RequirementKind.NOT_WORSE_THAN
            else absolute(requirement, cells, by_id)
        )
    )


def absolute(requirement: Requirement, cells: Sequence[Cell], runs: Mapping[str, Judged]) -> Iterator[RequirementResult]:
    """A bound on the figure itself, cell by cell."""
    at_most = requirement.kind is RequirementKind.AT_MOST
    for cell in cells:
        if cell.measure == requirement.measure:
            yield RequirementResult(
                measure=cell.measure,
                kind=requirement.kind,
                text=requirement.text,
                levels=cell.levels,
                estimate=cell.estimate,
                state=decide(cell.estimate, requirement.bound, at_most=at_most),
                verdict=trust(runs, (cell,)),
            )


def relative(
    experiment: Experiment,
    requirement: Requirement,
    answers: tuple[Sequence[Cell], Sequence[Comparison], Trust],
    runs: Mapping[str, Judged],
) -> Iterator[RequirementResult]:
    """A bound on the ratio to the baseline, comparison by comparison; undecided where nothing is compared."""
    cells, comparisons, trusted = answers[0], [one for one in answers[1] if is_to_baseline(experiment, one)], answers[2]
    kind = measures.figure_kind(measure_of(experiment, requirement.measure).figure)
    lower_better = kind is not None and kind.better is measures.Better.LOWER
    bound = 1 + requirement.bound if lower_better else 1 - requirement.bound
    if all(comparison.measure != requirement.measure for comparison in comparisons):
        yield alone(requirement)
    for comparison in comparisons:
        if comparison.measure == requirement.measure:
            arms = [cell for cell in cells if cell.measure == comparison.measure and is_arm(cell, comparison)]
            verdict = worst((trust(runs, arms), trusted(comparison)))
            yield RequirementResult(
                measure=comparison.measure,
                kind=requirement.kind,
                text=requirement.text,
                levels={**comparison.within, comparison.factor: comparison.candidate},
                estimate=comparison.ratio,
                state=decide(comparison.ratio, bound, at_most=lower_better),
                verdict=verdict if comparison.interleaved else worst((verdict, VerdictState.BOUNDED)),
            )


def is_to_baseline(experiment: Experiment, comparison: Comparison) -> bool:
    """Whether a comparison is with the factor's own baseline: every two levels may be held against each other."""
    factor = next((one for one in experiment.factors if one.path == comparison.factor), None)
    return factor is None or comparison.baseline == factor.levels[0]


def alone(requirement: Requirement) -> RequirementResult:
    """A bound on a ratio of which nothing is known: there is no baseline, as in one notebook of two that are to be compared."""
    return RequirementResult(
        measure=requirement.measure,
        kind=requirement.kind,
        text=requirement.text,
        levels={},
        estimate=None,
        state=RequirementState.UNDECIDED,
        verdict=VerdictState.UNVERIFIED,
    )


def is_arm(cell: Cell, comparison: Comparison) -> bool:
    """Whether a cell is one of the two of a comparison."""
    levels = [{**comparison.within, comparison.factor: level} for level in (comparison.baseline, comparison.candidate)]
    return dict(cell.levels) in levels


def decide(estimate: Estimate | None, bound: float, *, at_most: bool) -> RequirementState:
    """Met where the whole interval keeps the bound, not met where none of it does, else undecided."""
    if estimate is None or estimate.low is None or estimate.high is None:
        return RequirementState.UNDECIDED
    low, high = estimate.sure
    ends = (-math.inf if low is None else low, math.inf if high is None else high)
    keeps = tuple(end <= bound if at_most else end >= bound for end in ends)
    if all(keeps):
        return RequirementState.MET
    return RequirementState.UNDECIDED if any(keeps) else RequirementState.NOT_MET


def trust(runs: Mapping[str, Judged], cells: Sequence[Cell]) -> VerdictState:
    """The worst verdict of the cells; of one that was not judged UNVERIFIED."""
    return worst(cell.verdict or judged_state(cell, verdicts_of(runs, cell)) or VerdictState.UNVERIFIED for cell in cells)


def verdicts_of(runs: Mapping[str, Judged], cell: Cell) -> Mapping[str, Verdict]:
    """Run -> what was judged of the measure of a cell, of the runs that it counts or excludes."""
    mine = (*cell.values, *cell.excluded)
    return {run: verdict for run in mine if run in runs and (verdict := runs[run].verdicts.get(cell.measure)) is not None}
