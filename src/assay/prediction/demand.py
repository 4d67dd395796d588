"""What one operation of each kind uses of each resource, from phases with different mixes of operations.

One phase of one run is one sample: the rates of its operations over the time of the phase, and what was used in that time. Runs
count as they do in cells: finished, in their last attempt, and not INVALID for every measure. An experiment that varies the mix
has them by arm (`groups`), with the rates that no mix can exceed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from assay.analysis.capacities import amounts, described
from assay.analysis.cells import Load, early, last_attempts, why_invalid, why_not_run
from assay.analysis.resources import PROCESSORS, RESOURCES, watched
from assay.frozen import dataclass, field
from assay.measures.text import word as typed
from assay.records import Capacity, Estimate, Experiment, Judged, Method, Observations, Phase, Results, Value
from assay.statistics.queueing import CONFIDENCE, Demands, MixPoint, Unknown, demands, highest_rate, quantiles

SHARE = "read_share"
"""The knob of a workload that says its mix."""
MIXED = 0.1
"""Shares of an operation that differ by more than this between levels make a factor one that varies the mix."""
STEP = 0.05
"""Rates whose ratio varies by no more than this share go together: the last flushes of a short phase may be missing."""
BESIDE = ("flush", "writeback")
"""Ends of the names of operations that belong to those before them."""


@dataclass(frozen=True, kw_only=True)
class Sample:
    """One phase of one run."""

    run: str
    mix: str
    levels: Mapping[str, Value]
    """Those of the factors, and `workload` and `phase`."""
    rates: Mapping[str, float]
    """Operation -> operations/s over the phase."""
    used: Mapping[str, float]
    """Resource -> units/s, of those that were measured."""
    there_is: Mapping[str, Capacity] = field(default_factory=dict)
    """Resource -> how much there was of it, where that is known."""
    words: Mapping[str, str] = field(default_factory=dict)
    """The levels of factors as they are typed: `2 s`."""

    def word(self, name: str) -> str:
        """Give a level as it is typed."""
        return self.words.get(name, str(self.levels.get(name)))


@dataclass(frozen=True, kw_only=True)
class Demand:
    """What the operations use of one resource."""

    resource: str
    unit: str
    operations: tuple[str, ...]
    found: Demands | Unknown
    mixes: tuple[str, ...]
    together: Mapping[str, str]
    """Operation -> the one with which it was always done, whose demand has its own in it: a flush after each write."""

    @property
    def estimates(self) -> Mapping[str, Estimate]:
        """Units an operation, each with its 90 % interval; empty where nothing could be told."""
        if isinstance(self.found, Unknown):
            return {}
        return {name: self._estimate(place) for place, name in enumerate(self.operations, 1)}

    @property
    def background(self) -> Estimate | None:
        """Units/s that are used with no operation; None where there are none, or the mixes do not tell."""
        return self._estimate(0) if isinstance(self.found, Demands) and self.found.has_background else None

    def _estimate(self, place: int) -> Estimate:
        assert isinstance(self.found, Demands)
        low, _, high = quantiles(self.found.draws[:, place])
        value = (self.found.background, *self.found.each)[place]
        unit = self.unit if place else f"{self.unit}/s"
        trials = self.found.trials
        return Estimate(value=value, low=low, high=high, confidence=CONFIDENCE, unit=unit, n=trials, method=Method.SERVICE_DEMAND)


# ------------------------------------------------------------------------------------------------ samples


def samples(results: Results, load: Load) -> tuple[Sample, ...]:
    """Return every measured phase of every run that counts."""
    last = last_attempts(results.runs)
    counted = (judged for judged in results.runs if why_not_run(judged, last) is None and not is_invalid(judged))
    return tuple(sample for judged in counted for sample in of_run(results.experiment, judged, load(judged.id)))


def is_invalid(judged: Judged) -> bool:
    """Return whether no measure of a run holds."""
    return bool(judged.verdicts) and all(why_invalid(verdict) for verdict in judged.verdicts.values())


def of_run(experiment: Experiment, judged: Judged, seen: Observations) -> Iterator[Sample]:
    """Yield the samples of one run of an experiment."""
    trial = judged.run.trial.levels
    words = {path: typed(experiment, path, level) for path, level in trial.items()}
    evidence = watched(judged.run, seen)
    for phase in judged.run.phases:
        done = rates(phase)
        if not phase.measured or not done:
            continue
        mix = ", ".join((*(f"{path} = {word}" for path, word in words.items()), phase.name))
        known = {name: value for name, one in RESOURCES.items() if (value := one.used(phase, evidence)) is not None}
        there_is = {one.resource: one for one in amounts(experiment, judged.run, phase, evidence)}
        yield Sample(
            run=judged.id,
            mix=mix,
            levels={**trial, "workload": phase.workload, "phase": phase.name},
            words=words,
            rates=done,
            used=known,
            there_is=there_is,
        )


def rates(phase: Phase) -> dict[str, float]:
    """Return operations/s of a phase by operation, without those that are done within another."""
    lasted_s = phase.lasted_ns / 1e9
    counts: dict[str, float] = {}
    for total in (total for client in phase.clients for total in client.operations):
        counts[total.operation] = counts.get(total.operation, 0.0) + total.count
    reported = {name.removesuffix(".count"): value for name, value in phase.values.items() if name.endswith(".count")}
    counts = {**counts, **reported}
    return {name: count / lasted_s for name, count in counts.items() if count and name not in phase.within and lasted_s > 0}


def demand(seen: Sequence[Sample], resource: str, *, seed: int = 1) -> Demand:
    """Return what each operation uses of one resource."""
    seen = [sample for sample in seen if resource in sample.used]
    together = joined(seen)
    names = tuple(sorted({name for sample in seen for name in sample.rates} - set(together)))
    points = [
        MixPoint(mix=one.mix, rates=tuple(one.rates.get(name, 0.0) for name in names), used=one.used[resource]) for one in seen
    ]
    return Demand(
        resource=resource,
        unit=RESOURCES[resource].unit,
        operations=names,
        found=demands(points, idles=RESOURCES[resource].idles, seed=seed),
        mixes=tuple(dict.fromkeys(sample.mix for sample in seen)),
        together=together,
    )


def joined(seen: Sequence[Sample]) -> Mapping[str, str]:
    """Return operations of which every sample has so many for each of another, by that one: no mix tells the two apart."""
    names = sorted({name for sample in seen for name in sample.rates}, key=lambda name: (name.endswith(BESIDE), name))
    found: dict[str, str] = {}
    for place, name in enumerate(names):
        with_it = (other for other in names[:place] if other not in found and in_step(seen, name, other))
        other = next(with_it, None)
        if other is not None:
            found[name] = other
    return found


def in_step(seen: Sequence[Sample], name: str, other: str) -> bool:
    """Return whether the rates of two operations have one ratio in all samples, of which there are different ones."""
    pairs = [(one.rates.get(name, 0.0), one.rates.get(other, 0.0)) for one in seen]
    if not all(mine and theirs for mine, theirs in pairs) or len({one.mix for one in seen}) < 2:
        return False
    ratios = [mine / theirs for mine, theirs in pairs]
    return max(ratios) <= min(ratios) * (1 + STEP)


def at_most(found: Demand, capacity: float, shares: Mapping[str, float]) -> Estimate | None:
    """The asymptotic bound: operations/s of a mix (operation -> share) at which `capacity` units/s are used up, where they are.

    X <= (capacity - U_0) / sum of share_c D_c (Denning and Buzen 1978; Lazowska et al. 1984, ch. 5).
    """
    if isinstance(found.found, Unknown) or set(shares) - set(found.operations):
        return None
    bound = highest_rate(found.found, capacity, [shares.get(name, 0.0) for name in found.operations])
    if bound is None:
        return None
    low, value, high = bound
    return Estimate(
        value=value, low=low, high=high, confidence=CONFIDENCE, unit="1/s", n=found.found.trials, method=Method.SERVICE_DEMAND
    )


# ------------------------------------------------------------------------------------------------- groups


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
