"""What operations use in an experiment that varies their mix: by arm, with the rates that no mix can exceed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from assay.analysis.counting import Load, early
from assay.analysis.resources import PROCESSORS, RESOURCES, described
from assay.prediction.demand import Demand, Sample, at_most, demand, rates, samples
from assay.prediction.wording import each, interval, linear
from assay.records import Estimate, Experiment, Results, Value
from assay.statistics.queueing import Demands
from assay.units import Unit, human

SHARE = "read_share"
"""The knob of a workload that says its mix."""
MIXED = 0.1
"""Shares of an operation that differ by more than this between levels make a factor one that varies the mix."""
NOT_THESE = 0.5
"""A mix that is off by more than this share says that what is used has little to do with these operations."""
HEAD = ("arm", "resource", "operation", "each uses", "90 % interval", "a sum of operations?")
BOUND_HEAD = ("mix", "measured", "no more than", "90 % interval", "because of")


@dataclass(frozen=True, kw_only=True)
class RateBound:
    """The rate that a mix cannot exceed on this machine, beside the one that it reached."""

    mix: str
    measured: float
    """Operations/s of all kinds, the mean over trials."""
    at_most: Estimate
    because: str
    """The resource that is used up there, in words."""


@dataclass(frozen=True, kw_only=True)
class DemandGroup:
    """The demands of one arm; no factor where all samples are one group."""

    factor: str | None
    level: Value
    name: str
    """`pause = 2 s`; `all` where all samples are one group."""
    demands: tuple[Demand, ...]
    bounds: tuple[RateBound, ...]


def groups(results: Results, load: Load) -> tuple[DemandGroup, ...]:
    """Return the demands of an experiment that varies a mix, for each level of what it compares where that is no part of the mix.

    A mix is varied by a factor, or by a workload for each.

    Of very many runs those of the first blocks: reading the evidence of all would take longer than it is worth.
    """
    by_factor, mixes = mixing(results), for_each_mix(results.experiment)
    if results.experiment.design is not None or not (by_factor or mixes):  # a design changes what an operation is, not how many
        return ()
    seen, compared = samples(replace(results, runs=tuple(early(results.runs))), load), results.experiment.compare
    seen = tuple(one for one in seen if by_factor or one.levels["workload"] in mixes)
    levels = list(dict.fromkeys(sample.levels.get(compared) for sample in seen)) if compared else []
    arms = [(compared, level, [one for one in seen if one.levels.get(compared or "") == level]) for level in levels]
    if not arms or any(not mixed([one.rates for one in arm]) for _, _, arm in arms):
        arms = [(None, None, list(seen))]
    return tuple(
        DemandGroup(
            factor=factor,
            level=level,
            name="all" if factor is None else f"{factor} = {arm[0].word(factor)}",
            demands=of_all(arm),
            bounds=tuple(bounds(arm)),
        )
        for factor, level, arm in arms
    )


def of_all(seen: Sequence[Sample]) -> tuple[Demand, ...]:
    """Return the demands of every resource of which something was used."""
    every = (demand(seen, name) for name, one in RESOURCES.items() if one.shown)
    return tuple(one for one in every if isinstance(one.found, Demands) or (one.resource in PROCESSORS and one.mixes))


def bounds(seen: Sequence[Sample]) -> Iterator[RateBound]:
    """For each mix the rate at which the first resource is used up, of those of which is known how much there is."""
    names = dict.fromkeys(name for one in seen for name in one.there_is)
    found = {name: demand(seen, name) for name in names}
    for mix in dict.fromkeys(one.mix for one in seen):
        trials = [one for one in seen if one.mix == mix]
        every = [one for name in names if (one := bound(found[name], trials)) is not None]
        if every:
            yield min(every, key=lambda one: one.at_most.value)


def bound(found: Demand, trials: Sequence[Sample]) -> RateBound | None:
    """Return the bound of one mix by one resource, where its operations use any of it."""
    known = [one for one in trials if found.resource in one.used and found.resource in one.there_is]
    if not known:
        return None
    means = {name: sum(one.rates.get(name, 0.0) for one in known) / len(known) for name in found.operations}
    capacity = min((one.there_is[found.resource] for one in known), key=lambda one: one.amount)
    total = sum(means.values())
    most = at_most(found, capacity.amount, {name: rate / total for name, rate in means.items()}) if total else None
    return None if most is None else RateBound(mix=trials[0].mix, measured=total, at_most=most, because=described(capacity))


def mixing(results: Results) -> bool:
    """Return whether phases of one name have different mixes of several operations in different runs: a factor varies the mix."""
    of_phase: dict[str, list[Mapping[str, float]]] = {}
    for judged in results.runs:
        for phase in judged.run.phases:
            if phase.measured and (done := rates(phase)):
                of_phase.setdefault(phase.name, []).append(done)
    return any(mixed(found) for found in of_phase.values())


def for_each_mix(experiment: Experiment) -> tuple[str, ...]:
    """The workloads that are one workload but for its share of reads, written down once for each mix; none where there is one."""
    alike: dict[tuple[object, ...], dict[str, Value]] = {}
    for one in experiment.workloads:
        if SHARE in one.knobs:
            rest = sorted((name, str(value)) for name, value in one.knobs.items() if name != SHARE)
            alike.setdefault((one.kind, *rest), {})[one.name] = one.knobs[SHARE]
    most = max(alike.values(), key=len, default={})
    return tuple(most) if len(set(most.values())) > 1 else ()


def mixed(found: Sequence[Mapping[str, float]]) -> bool:
    """Return whether the shares of several operations differ between samples."""
    shares = [{name: rate / sum(one.values()) for name, rate in one.items()} for one in found]
    several = {name for one in shares for name in one}
    spreads = (max(s.get(name, 0.0) for s in shares) - min(s.get(name, 0.0) for s in shares) for name in several)
    return len(several) > 1 and max(spreads, default=0.0) > MIXED


def rows(found: Sequence[DemandGroup]) -> tuple[tuple[str, ...], ...]:
    """Return what one operation of each kind uses of each resource."""
    return tuple(row for group in found for one in group.demands for row in _of_demand(group, one))


def _of_demand(group: DemandGroup, one: Demand) -> Iterator[tuple[str, ...]]:
    resource = RESOURCES[one.resource].said
    if not isinstance(one.found, Demands) or (one.found.misfit or 0.0) > NOT_THESE:
        yield (group.name, resource, ", ".join(one.operations), "-", "-", linear(one))
        return
    for name, estimate in one.estimates.items():
        yield (group.name, resource, name, each(estimate), interval(estimate), linear(one))


def bound_rows(found: Sequence[DemandGroup]) -> tuple[tuple[str, ...], ...]:
    """Return the rates that cannot be exceeded."""
    return tuple(
        (
            bound.mix,
            human(bound.measured, Unit.PER_S),
            human(bound.at_most.value, Unit.PER_S),
            f"{human(bound.at_most.low or 0.0, Unit.PER_S)} to {human(bound.at_most.high or 0.0, Unit.PER_S)}",
            bound.because,
        )
        for group in found
        for bound in group.bounds
    )


def tables(found: Sequence[DemandGroup]) -> tuple[tuple[str, tuple[str, ...], tuple[tuple[str, ...], ...]], ...]:
    """Title, head and rows of what there is to say; none where the experiment varies no mix."""
    every = (
        ("Resource use of one operation", HEAD, rows(found)),
        ("Rate limits by resource", BOUND_HEAD, bound_rows(found)),
    )
    return tuple(one for one in every if one[2])
