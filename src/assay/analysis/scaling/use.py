"""What of each resource is used at each number of clients, and how much of it there is: the evidence below a curve.

Trials count as in the cells of the measure.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping, Sequence

from assay.analysis.capacities import amounts
from assay.analysis.cells import Load, early, measure_of
from assay.analysis.resources import RESOURCES, watched
from assay.analysis.scaling.law import LEAST_PLACES, counts, curves
from assay.errors import AssayError
from assay.frozen import dataclass
from assay.measures import AMOUNTS, unit_of
from assay.measures.limits import share as used_share
from assay.records import Capacity, Cell, Experiment, Factor, Judged, Observations, Phase, Run, Value

Operation = tuple[str, str]
"""Workload and operation."""
Shares = tuple[tuple[Capacity, "UsedShare"], ...]
"""How much there is of each resource, and what was used of it."""


@dataclass(frozen=True, kw_only=True)
class UsedShare:
    """The shares of a resource that were used in one phase."""

    own: float
    """Without what other programs had, where that is known."""
    clocked: float
    """The same while the clock ran."""
    others: float | None
    """What other programs had; None where nobody watched them."""


@dataclass(frozen=True, kw_only=True)
class UsePoint:
    """One trial: the rate that was measured, and the share of a resource that was used for it."""

    rate: float
    share: float
    """What was moved after the clock counts, too; what other programs are known to have had does not."""
    clocked: float
    """The share of what there is while the clock runs; above 1 the limit was not in force."""
    others: float | None = None
    """The share that other programs had besides; None where nobody watched them."""


@dataclass(frozen=True, kw_only=True)
class ResourceCurve:
    """One resource along a curve."""

    capacity: Capacity
    points: Mapping[int, tuple[UsePoint, ...]]
    """Number of clients -> its trials."""


@dataclass(frozen=True, kw_only=True)
class Along:
    """A rate over a count, with what was used for it."""

    measure: str
    factor: str
    within: Mapping[str, Value]
    rates: Mapping[int, tuple[float, ...]]
    """Number of clients -> the rate of each trial."""
    uses: tuple[ResourceCurve, ...]
    unit: str
    """Of the rates."""


def along(experiment: Experiment, runs: Sequence[Judged], cells: Sequence[Cell], load: Load) -> tuple[Along, ...]:
    """Every rate of all clients together that was measured at two numbers or more; none without a factor that counts."""
    counted = [factor for factor in experiment.factors if counts(factor)]
    if not counted:
        return ()
    by_id = {judged.id: judged.run for judged in early(runs)}
    # Several measures are figures of one run: its evidence is read once.
    uses = functools.cache(lambda run: shares(experiment, by_id[run], load) if run in by_id else {})
    return tuple(one for factor in counted for one in of_factor(experiment, factor, cells, uses))


def of_factor(
    experiment: Experiment, factor: Factor, cells: Sequence[Cell], uses: Callable[[str], Mapping[Operation, Shares]]
) -> Iterator[Along]:
    """The curves over one factor."""
    for measure, within, places in curves(factor, cells):
        measured = measure_of(experiment, measure)
        if measured.figure not in AMOUNTS or len(places) < LEAST_PLACES:
            continue
        found: dict[str, dict[int, list[UsePoint]]] = {}
        known: dict[str, Capacity] = {}
        for number, cell in places:
            for run, rate in cell.values.items():
                for capacity, used in uses(run).get((measured.workload, measured.operation), ()):
                    point = UsePoint(rate=rate, share=used.own, clocked=used.clocked, others=used.others)
                    found.setdefault(capacity.resource, {}).setdefault(number, []).append(point)
                    known[capacity.resource] = capacity
        yield Along(
            measure=measure,
            factor=factor.path,
            within=within,
            rates={number: tuple(cell.values.values()) for number, cell in places},
            uses=tuple(
                ResourceCurve(capacity=known[name], points={number: tuple(points) for number, points in each.items()})
                for name, each in found.items()
            ),
            unit=unit_of(measured),
        )


def shares(experiment: Experiment, run: Run, load: Load) -> Mapping[Operation, Shares]:
    """What one run used, by operation that is measured; empty where its evidence cannot be read."""
    phases: dict[Operation, Phase] = {}
    for measure in experiment.measures:
        lasted = (one for one in run.phases if one.end_ns > one.start_ns)
        done = (one for one in lasted if one.workload == measure.workload and measure.operation in one.operations)
        if (phase := next(done, None)) is not None:
            phases[measure.workload, measure.operation] = phase
    if not phases:
        return {}
    try:
        seen = watched(run, load(run.id))
    except AssayError:
        return {}
    return {operation: tuple(of_phase(experiment, run, phase, seen)) for operation, phase in phases.items()}


def of_phase(experiment: Experiment, run: Run, phase: Phase, seen: Observations) -> Iterator[tuple[Capacity, UsedShare]]:
    """The shares that were used of each resource in one phase."""
    for capacity in amounts(experiment, run, phase, seen):
        of = RESOURCES[capacity.resource]
        used = of.used(phase, seen)
        clocked = of.clocked(phase, seen) if of.clocked else used
        if used is not None and clocked is not None and capacity.amount > 0:
            others = of.others(phase, seen) if of.others else None
            whole, within, theirs = (used_share(amount, capacity.amount) for amount in (used, clocked, others or 0.0))
            share = None if others is None else theirs
            yield capacity, UsedShare(own=whole - theirs, clocked=within - theirs, others=share)
