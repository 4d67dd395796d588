"""What a client loses against each layer below it: the path from memory to memory, and the server's storage alone."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

from assay import measures
from assay.answer.trust import state_of
from assay.frozen import dataclass
from assay.measures import stood_on
from assay.records import Cell, Experiment, Measure, Results, Run, Value, VerdictState, WorkSide, worst
from assay.statistics.contrast import interval, paired_ratio

RATE = "bytes_per_s"
LEAST_PAIRS = 3
"""Two pairs have an interval that says nothing."""
MARGIN = 1.10
"""Two figures of one trial differ by so much without a contradiction (`measured_share` of the rule on limits)."""


@dataclass(frozen=True, kw_only=True)
class LayerBelow:
    """One layer below a client, and the client's rate as a share of it, run by run."""

    side: WorkSide
    measure: str
    value: float
    """Its own rate, bytes/s."""
    share: float
    runs: int
    """How many runs count for both figures; the share is that of these alone."""
    low: float | None
    high: float | None
    """95 % interval; None with too few runs for one."""
    state: VerdictState = VerdictState.UNVERIFIED
    """The verdict of its own rate."""

    @property
    def is_contradicted(self) -> bool:
        """Whether the client was clearly faster: then one of both figures is not what it is called."""
        return self.low is not None and self.low > MARGIN


@dataclass(frozen=True, kw_only=True)
class LayeredRate:
    """A client's rate at one combination of levels with the layers below it, the nearest first."""

    measure: Measure
    levels: Mapping[str, Value]
    value: float
    below: tuple[LayerBelow, ...]
    state: VerdictState
    """The worst verdict of the figures."""


def layered(results: Results) -> Iterator[LayeredRate]:
    """Yield each client's rate that has at least one measured layer below it."""
    known = {measure.name: measure for measure in results.experiment.measures}
    if not any(spec.side is not WorkSide.CLIENT for spec in results.experiment.workloads):
        return
    for cell in results.cells:
        measure = known[cell.measure]
        if cell.estimate is None or measure.figure != RATE or _side(results.experiment, measure) is not WorkSide.CLIENT:
            continue
        below = sorted(_below(results, cell, measure), key=lambda one: -one.share)
        if below:
            yield LayeredRate(
                measure=measure,
                levels=cell.levels,
                value=cell.estimate.value,
                below=tuple(below),
                state=worst((state_of(results, cell), *(one.state for one in below))),
            )


def _side(experiment: Experiment, measure: Measure) -> WorkSide:
    return next((spec.side for spec in experiment.workloads if spec.name == measure.workload), WorkSide.CLIENT)


def _below(results: Results, cell: Cell, measure: Measure) -> Iterator[LayerBelow]:
    runs = {judged.id: judged.run for judged in results.runs}
    for side, found in _measures(runs, cell, measure).items():
        names = (found.name, f"{found.workload}.{found.operation}.{RATE}")
        other = next((one for name in names for one in results.cells if one.measure == name and one.levels == cell.levels), None)
        both = [run for run in cell.values if other is not None and other.values.get(run, 0) > 0 and cell.values[run] > 0]
        if other is None or other.estimate is None or not both:
            continue
        ratio = paired_ratio([other.values[run] for run in both], [cell.values[run] for run in both])
        low, high = interval(ratio, 0.95) if ratio.n >= LEAST_PAIRS else (None, None)
        yield LayerBelow(
            side=side,
            measure=other.measure,
            value=other.estimate.value,
            share=math.exp(ratio.difference),
            runs=ratio.n,
            low=None if low is None else math.exp(low),
            high=None if high is None else math.exp(high),
            state=state_of(results, other),
        )


def _measures(runs: Mapping[str, Run], cell: Cell, measure: Measure) -> Mapping[WorkSide, Measure]:
    """Return the measures below a client, by the first run of a cell that has it."""
    for run in (runs[name] for name in cell.values if name in runs):
        phase = measures.phase_of(run, measure)
        direction = phase.directions.get(measure.operation) if phase else None
        if direction is not None:
            return stood_on.below(run, measure, direction)
    return {}
