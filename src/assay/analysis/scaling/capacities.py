"""How much there is of what operations use: of processors, of devices with a limit, and of the way to a server.

A device's limit is declared by its target, or by the experiment's [limits]; the way to a server tells its speed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from assay import links
from assay.analysis.resources import RESOURCES
from assay.records import Direction, Experiment, Observations, Phase, Run
from assay.units import Unit, human

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


def amounts(experiment: Experiment, run: Run, phase: Phase, seen: Observations) -> Iterator[tuple[str, str, float]]:
    """(resource, what there is in words, how much) of everything whose amount is known."""
    count = processors(phase, seen)
    if count is not None:
        yield "cpu", f"the {count:g} processors of the host" if count != 1 else "the processor of the host", count
    for place in run.places:
        for limit in place.limits:
            for kind, unit in (("bytes_per_s", Unit.BYTES_PER_S), ("ops_per_s", Unit.PER_S)):
                most = getattr(limit, kind)
                if most and (limit.direction, kind) in LIMITS:
                    name = LIMITS[limit.direction, kind]
                    way = RESOURCES[name].said.removesuffix(" the device")
                    yield name, f"the {human(most, unit)} {way} {limit.device}", float(most)
    yield from declared(experiment, run)
    wire = seen.fact(WIRE_FACT)
    if wire is not None and wire.isdigit():
        for name in WIRE:
            yield name, f"the {human(int(wire), Unit.BYTES_PER_S)} {RESOURCES[name].said}", float(wire)


def declared(experiment: Experiment, run: Run) -> Iterator[tuple[str, str, float]]:
    """The [limits] of the experiment on the lowest device of a place: links, one way each."""
    lowest = {f"{place.host}.{place.devices[-1]}" for place in run.places if place.devices and not place.limits}
    for name, text in experiment.limits.items():
        capacity = links.capacity(text)
        if isinstance(capacity, float) and name in lowest:
            for resource in ("device_read", "device_write"):
                yield resource, f"the {text} of {name}, {RESOURCES[resource].said}", capacity
