"""What one sentence repeats of an experiment that compares nothing: its rates of storage, and the rate that only memory gave."""

from __future__ import annotations

from collections.abc import Sequence

from assay.answer.doubts import verdicts_of
from assay.answer.trust import state_of
from assay.frozen import dataclass
from assay.measures.figures import unit_of
from assay.records import (
    Cell,
    Direction,
    Durability,
    Estimate,
    Experiment,
    Finding,
    Meaning,
    Measure,
    Nature,
    Results,
    Tier,
    VerdictState,
    worst,
)
from assay.units import Unit

LEAST, MOST = 2, 5
"""Rates of a sentence: of one the opening of a single measure says more, and more than five nobody repeats."""
CACHES = frozenset(
    {
        Meaning.PAGE_CACHE,
        Meaning.CLIENT_CACHE,
        Meaning.SERVER_CACHE,
        Meaning.LOWER_CACHE,
        Meaning.OWN_WRITES,
        Meaning.METADATA_CACHE,
    }
)
"""What a failed finding calls memory."""
EACH = "each"
"""The knob `flush` of a load that flushes after every operation: each is a commit."""


@dataclass(frozen=True, kw_only=True)
class Portion:
    """One rate of the sentence."""

    measure: Measure
    direction: Direction
    estimate: Estimate
    state: VerdictState
    durable: bool
    """Whether it is claimed to be on stable media, and nothing speaks against it."""
    commits: bool
    """Whether the load flushed after every operation."""


@dataclass(frozen=True, kw_only=True)
class Essence:
    """The rates in the order of the file; the fastest one that came from memory and looks faster than the same from storage."""

    portions: tuple[Portion, ...]
    memory: Portion | None

    @property
    def state(self) -> VerdictState:
        """The worst verdict of the rates."""
        return worst(one.state for one in self.portions)


def essence(results: Results) -> Essence | None:
    """Give the rates; None where something is compared, levels vary, or fewer than two rates count."""
    if results.comparisons or results.sensitivity or any(len(one.levels) > 1 for one in results.experiment.factors):
        return None
    every = [_portion(results, measure, cell) for measure, cell in _rates(results)]
    claimed = [one for one in every if one.measure.claim.tier is Tier.DEVICE or one.measure.claim.durability is _STABLE]
    kept = [one for one in claimed or every if one.state is not VerdictState.INVALID]
    named = tuple(one for one in kept if one.measure.claim.tier in (Tier.DEVICE, Tier.AS_IS))[:MOST]
    return Essence(portions=named, memory=_memory(results, named)) if len(named) >= LEAST else None


_STABLE = Durability.STABLE_MEDIA


def _rates(results: Results) -> list[tuple[Measure, Cell]]:
    """The measures that are rates and of which runs count, each with its only cell."""
    cells = {cell.measure: cell for cell in results.cells}
    rates = (one for one in results.experiment.measures if unit_of(one) in (Unit.PER_S, Unit.BYTES_PER_S))
    found = ((one, cells[one.name]) for one in rates if one.name in cells and not one.figure.startswith("busy_"))
    return [(measure, cell) for measure, cell in found if cell.estimate]


def _portion(results: Results, measure: Measure, cell: Cell) -> Portion:
    assert cell.estimate is not None
    state = state_of(results, cell)
    return Portion(
        measure=measure,
        direction=direction_of(results, measure),
        estimate=cell.estimate,
        state=state,
        durable=measure.claim.durability is _STABLE and state in (VerdictState.SOUND, VerdictState.BOUNDED),
        commits=commits(results.experiment, measure),
    )


def direction_of(results: Results, measure: Measure) -> Direction:
    """Which way the operation moves bytes, as its runs say."""
    phases = (phase for judged in results.runs for phase in judged.run.phases if phase.workload == measure.workload)
    return next(
        (each.directions[measure.operation] for each in phases if measure.operation in each.directions), Direction.METADATA
    )


def commits(experiment: Experiment, measure: Measure) -> bool:
    """Whether each operation of a measure ends with a flush."""
    knobs = next((one.knobs for one in experiment.workloads if one.name == measure.workload), {})
    return knobs.get("flush") == EACH


def _memory(results: Results, named: Sequence[Portion]) -> Portion | None:
    """The fastest rate in the direction of a named one that memory gave, and that is higher than it."""
    cells = ((measure, cell) for measure in results.experiment.measures for cell in results.cells if cell.measure == measure.name)
    found = []
    for measure, cell in cells:
        amount = cell.estimate or cell.unfiltered
        if amount is None or unit_of(measure) is not Unit.BYTES_PER_S or not _is_of_memory(results, cell):
            continue
        way = direction_of(results, measure)
        alike = [one.estimate.value for one in named if (one.direction, one.estimate.unit) == (way, amount.unit)]
        if alike and amount.value > max(alike):
            found.append(
                Portion(
                    measure=measure,
                    direction=way,
                    estimate=amount,
                    state=state_of(results, cell),
                    durable=False,
                    commits=False,
                )
            )
    return max(found, key=lambda one: one.estimate.value, default=None)


def _is_of_memory(results: Results, cell: Cell) -> bool:
    """Whether the evidence says that a cache gave these bytes."""
    verdicts = verdicts_of(results, cell)
    return bool(verdicts) and all(
        one.label.nature in (Nature.CLIENT_CACHE, Nature.SERVER_CACHE) or any(map(_names_memory, one.findings))
        for one in verdicts
    )


def _names_memory(finding: Finding) -> bool:
    return finding.counts and finding.meaning in CACHES
