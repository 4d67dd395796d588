"""How much there is of what operations use: of processors, of devices with a limit, and of the way to a server.

A device's limit is declared by its target, or by the experiment's [limits]; the way to a server tells its speed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from assay import links
from assay.records import Capacity, CapacitySource, Direction, Experiment, Observations, Phase, Run

LIMITS: Mapping[tuple[Direction, str], str] = {
    (Direction.READ, "bytes_per_s"): "device_read",
    (Direction.WRITE, "bytes_per_s"): "device_write",
    (Direction.READ, "ops_per_s"): "device_reads",
    (Direction.WRITE, "ops_per_s"): "device_writes",
}
"""Which resource a declared limit is one of."""
WIRE = ("network_in", "network_out")
WIRE_FACT = "target.server.limit_bytes_per_s"


def processors(phase: Phase, seen: Observations) -> float | None:
    """How many processors the host had at the most."""
    return max((value for series in seen.over_time(phase.name, "cpu", "cpus") for value in series.value), default=None)


def amounts(experiment: Experiment, run: Run, phase: Phase, seen: Observations) -> Iterator[Capacity]:
    """Everything whose amount is known."""
    count = processors(phase, seen)
    if count is not None:
        yield Capacity(resource="cpu", amount=count, source=CapacitySource.COUNTED)
    for place in run.places:
        for limit in place.limits:
            for kind in ("bytes_per_s", "ops_per_s"):
                most, resource = getattr(limit, kind), LIMITS.get((limit.direction, kind))
                if most and resource:
                    yield Capacity(resource=resource, amount=float(most), source=CapacitySource.LIMIT, name=limit.device)
    yield from declared(experiment, run)
    wire = seen.fact(WIRE_FACT)
    if wire is not None and wire.isdigit():
        for resource in WIRE:
            yield Capacity(resource=resource, amount=float(wire), source=CapacitySource.LINK)


def declared(experiment: Experiment, run: Run) -> Iterator[Capacity]:
    """The [limits] of the experiment on the lowest device of a place: links, one way each."""
    lowest = {f"{place.host}.{place.devices[-1]}" for place in run.places if place.devices and not place.limits}
    for name, text in experiment.limits.items():
        amount = links.capacity(text)
        if isinstance(amount, float) and name in lowest:
            for resource in ("device_read", "device_write"):
                yield Capacity(resource=resource, amount=amount, source=CapacitySource.EXPERIMENT, name=name, text=text)
