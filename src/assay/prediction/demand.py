"""What one operation of each kind uses of each resource, from phases with different mixes of operations.

One phase of one run is one sample: the rates of its operations over the time of the phase, and what was used in that time. Runs
count as they do in cells: finished, in their last attempt, and not INVALID for every measure.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from assay.analysis.counting import Load, last_attempts, why_invalid, why_not_run
from assay.analysis.resources import RESOURCES, watched
from assay.analysis.scaling.capacities import amounts
from assay.measures import levels
from assay.records import Capacity, Estimate, Experiment, Judged, Method, Observations, Phase, Results, Value
from assay.statistics.queueing import CONFIDENCE, Demands, Point, Unknown, demands, highest_rate, quantiles

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
    asked = results.experiment
    return tuple(sample for judged in counted for sample in of_run(asked, judged, load(judged.id)))


def is_invalid(judged: Judged) -> bool:
    """Return whether no measure of a run holds."""
    return bool(judged.verdicts) and all(why_invalid(verdict) for verdict in judged.verdicts.values())


def of_run(experiment: Experiment, judged: Judged, seen: Observations) -> Iterator[Sample]:
    """Yield the samples of one run of an experiment."""
    trial = judged.run.trial.levels
    words = {path: levels.word(experiment, path, level) for path, level in trial.items()}
    looked_at = watched(judged.run, seen)
    for phase in judged.run.phases:
        done = rates(phase)
        if not phase.measured or not done:
            continue
        used = {name: one.used(phase, looked_at) for name, one in RESOURCES.items()}
        mix = ", ".join((*(f"{path} = {word}" for path, word in words.items()), phase.name))
        known = {name: value for name, value in used.items() if value is not None}
        there_is = {one.resource: one for one in amounts(experiment, judged.run, phase, seen)}
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
    lasted_s = (phase.end_ns - phase.start_ns) / 1e9
    counts: dict[str, float] = {}
    for total in (total for client in phase.clients for total in client.operations):
        counts[total.operation] = counts.get(total.operation, 0.0) + total.count
    told = {name.removesuffix(".count"): value for name, value in phase.values.items() if name.endswith(".count")}
    counts = {**counts, **told}
    return {name: count / lasted_s for name, count in counts.items() if count and name not in phase.within and lasted_s > 0}


def demand(seen: Sequence[Sample], resource: str, *, seed: int = 1) -> Demand:
    """Return what each operation uses of one resource."""
    seen = [sample for sample in seen if resource in sample.used]
    together = joined(seen)
    names = tuple(sorted({name for sample in seen for name in sample.rates} - set(together)))
    points = [
        Point(mix=one.mix, rates=tuple(one.rates.get(name, 0.0) for name in names), used=one.used[resource]) for one in seen
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
