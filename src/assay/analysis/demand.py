"""What one operation of each kind uses of each resource, from phases with different mixes of operations.

One phase of one run is one sample: the rates of its operations over the time of the phase, and what was used in that time. Runs
count as they do in cells: finished, in their last attempt, and not INVALID for every measure.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from assay.analysis import quantities
from assay.analysis.counting import Load, last_attempts, why_invalid, why_not_run
from assay.measures import ladder
from assay.records import Direction, Estimate, Judged, Observations, Phase, Results, Rung, Series, Span, Value
from assay.statistics.service_demand import CONFIDENCE, Demands, Point, Unknown, demands, highest_rate, quantiles

METHOD = "non-negative least squares over mixes, bootstrap of trials"
Used = Callable[[Phase, Observations], float | None]


@dataclass(frozen=True, kw_only=True)
class Resource:
    """Something that operations use: its name in files, in words, and the unit of which one operation uses some."""

    name: str
    said: str
    unit: str
    used: Used
    idles: bool = False
    """Whether something of it is used with no operation, too."""


@dataclass(frozen=True, kw_only=True)
class Sample:
    """One phase of one run."""

    run: str
    mix: str
    levels: Mapping[str, Value]
    """Those of the factors as they are told, and `workload` and `phase`."""
    rates: Mapping[str, float]
    """Operation -> operations/s over the phase."""
    used: Mapping[str, float]
    """Resource -> units/s, of those that were measured."""
    processors: float | None = None
    """How many the host had, where that was watched."""


@dataclass(frozen=True, kw_only=True)
class Demand:
    """What the operations use of one resource."""

    resource: str
    unit: str
    operations: tuple[str, ...]
    found: Demands | Unknown
    mixes: tuple[str, ...]

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
        return Estimate(value=value, low=low, high=high, confidence=CONFIDENCE, unit=unit, n=trials, method=METHOD)


# --------------------------------------------------------------------------------------------- what is used


def host_processor(phase: Phase, observations: Observations) -> float | None:
    """Processors that were busy, whoever kept them so: neither idle nor waiting for I/O."""
    parts = [_rise(phase, observations, "cpu", f"{kind}_ns") for kind in ("user", "system")]
    return None if None in parts else sum(part or 0.0 for part in parts) / 1e9


def load_processor(phase: Phase, _observations: Observations) -> float | None:
    """Processors that the load itself had, in its own code and in the kernel's."""
    costs = [client.cost for client in phase.clients]
    if not costs or any(cost is None for cost in costs):
        return None
    return sum(cost.cpu_user_ns + cost.cpu_system_ns for cost in costs if cost) / (phase.end_ns - phase.start_ns)


def server_processor(phase: Phase, observations: Observations) -> float | None:
    """Processors that the server's processes had."""
    rise = _rise(phase, observations, "server", "run_ns")
    return None if rise is None else rise / 1e9


def _rise(phase: Phase, observations: Observations, layer: str, metric: str) -> float | None:
    """Units/s of a counter from the last sample before the phase to the first after it; summed over subjects."""
    rates = [_per_s(phase, series) for series in observations.over_time(phase.name, layer, metric)]
    known = [rate for rate in rates if rate is not None]
    return sum(known) if known else None


def _per_s(phase: Phase, series: Series) -> float | None:
    at, value = series.at_ns, series.value
    first = max((place for place in range(len(at)) if at[place] <= phase.start_ns), default=0)
    last = min((place for place in range(len(at)) if at[place] >= phase.end_ns), default=len(at) - 1)
    return (value[last] - value[first]) * 1e9 / (at[last] - at[first]) if last > first else None


def _passed(rung: Rung, direction: Direction, figure: str) -> Used:
    def used(phase: Phase, observations: Observations) -> float | None:
        spans = [ladder.passed(phase, observations, rung, direction, span) for span in (Span.CLOCK, Span.DRAIN)]
        step = ladder.both(*spans)
        return None if step is None else getattr(step, figure) * 1e9 / (phase.end_ns - phase.start_ns)

    return used


def _all(*parts: Used) -> Used:
    def used(phase: Phase, observations: Observations) -> float | None:
        known = [one for part in parts if (one := part(phase, observations)) is not None]
        return sum(known) if known else None

    return used


_DEVICE, _WIRE = Rung.LOWEST_DEVICE, Rung.CLIENT_NIC
_READS, _WRITES = (_passed(_DEVICE, way, "operations") for way in (Direction.READ, Direction.WRITE))
_IN, _OUT = (_passed(_WIRE, way, "bytes") for way in (Direction.READ, Direction.WRITE))
RESOURCES: Mapping[str, Resource] = {
    one.name: one
    for one in (
        Resource(name="cpu", said="processors of the host", unit="core-seconds", used=host_processor, idles=True),
        Resource(name="load_cpu", said="processors, of the load itself", unit="core-seconds", used=load_processor),
        Resource(name="server_cpu", said="processors, of the server", unit="core-seconds", used=server_processor, idles=True),
        Resource(name="device_read", said="read from the device", unit="bytes", used=_passed(_DEVICE, Direction.READ, "bytes")),
        Resource(
            name="device_write", said="written to the device", unit="bytes", used=_passed(_DEVICE, Direction.WRITE, "bytes")
        ),
        Resource(name="device_operations", said="requests to the device", unit="requests", used=_all(_READS, _WRITES)),
        Resource(name="network", said="over the network, both ways", unit="bytes", used=_all(_IN, _OUT)),
    )
}
PROCESSORS = ("cpu", "load_cpu", "server_cpu")


# ------------------------------------------------------------------------------------------------ samples


def samples(results: Results, load: Load) -> tuple[Sample, ...]:
    """Every measured phase of every run that counts."""
    last, told = last_attempts(results.runs), quantities.telling(results.experiment)
    counted = (judged for judged in results.runs if why_not_run(judged, last) is None and not is_invalid(judged))
    return tuple(sample for judged in counted for sample in of_run(judged, load(judged.id), told))


def is_invalid(judged: Judged) -> bool:
    """Whether no measure of a run holds."""
    return bool(judged.verdicts) and all(why_invalid(verdict) for verdict in judged.verdicts.values())


def of_run(judged: Judged, seen: Observations, told: quantities.Told) -> Iterator[Sample]:
    """The samples of one run."""
    trial = {path: told(path, level) for path, level in judged.run.trial.levels.items()}
    for phase in judged.run.phases:
        done = rates(phase)
        if not phase.measured or not done:
            continue
        levels = {**trial, "workload": phase.workload, "phase": phase.name}
        used = {name: one.used(phase, seen) for name, one in RESOURCES.items()}
        mix = ", ".join((*(f"{path} = {level}" for path, level in trial.items()), phase.name))
        known = {name: value for name, value in used.items() if value is not None and value > 0}
        yield Sample(run=judged.id, mix=mix, levels=levels, rates=done, used=known, processors=processors(phase, seen))


def processors(phase: Phase, seen: Observations) -> float | None:
    """How many processors the host had at the most."""
    return max((value for series in seen.over_time(phase.name, "cpu", "cpus") for value in series.value), default=None)


def rates(phase: Phase) -> dict[str, float]:
    """Operations/s of a phase by operation, without those that are done within another."""
    lasted_s = (phase.end_ns - phase.start_ns) / 1e9
    counts: dict[str, float] = {}
    for total in (total for client in phase.clients for total in client.operations):
        counts[total.operation] = counts.get(total.operation, 0.0) + total.count
    told = {name.removesuffix(".count"): value for name, value in phase.values.items() if name.endswith(".count")}
    counts = {**counts, **told}
    return {name: count / lasted_s for name, count in counts.items() if count and name not in phase.within and lasted_s > 0}


def demand(seen: Sequence[Sample], resource: str, *, seed: int = 1) -> Demand:
    """What each operation uses of one resource."""
    seen = [sample for sample in seen if resource in sample.used]
    names = tuple(sorted({name for sample in seen for name in sample.rates}))
    points = [
        Point(mix=one.mix, rates=tuple(one.rates.get(name, 0.0) for name in names), used=one.used[resource]) for one in seen
    ]
    return Demand(
        resource=resource,
        unit=RESOURCES[resource].unit,
        operations=names,
        found=demands(points, idles=RESOURCES[resource].idles, seed=seed),
        mixes=tuple(dict.fromkeys(sample.mix for sample in seen)),
    )


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
    return Estimate(value=value, low=low, high=high, confidence=CONFIDENCE, unit="1/s", n=found.found.trials, method=METHOD)
