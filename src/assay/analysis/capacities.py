"""How much there is of each resource that operations use: CPUs, devices, links, and emulated paths.

A device's limit is declared by its target, or by the experiment's [limits]; the way to a server tells its speed, and an emulated
path has its stated rate.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from assay import links
from assay.analysis.resources import RESOURCES
from assay.evidence import line_ways, served
from assay.records import Action, Capacity, CapacitySource, Direction, Experiment, Observations, Phase, Run
from assay.units import Unit, human

DECLARED: Mapping[tuple[Direction, str], str] = {
    (Direction.READ, "bytes_per_s"): "device_read",
    (Direction.WRITE, "bytes_per_s"): "device_write",
    (Direction.READ, "ops_per_s"): "device_reads",
    (Direction.WRITE, "ops_per_s"): "device_writes",
}
"""Which resource a declared limit is one of."""
WIRE = ("network_in", "network_out")
PATH_WAYS: Mapping[str, tuple[str, str]] = {"path_up": ("up", "to"), "path_down": ("down", "from")}
"""Resource -> the direction of the line, and where from or to that is, seen from the server."""


def processor_count(phase: Phase, seen: Observations) -> float | None:
    """How many processors the host had at the most; the target's hosts together where there are several."""
    most: dict[str, float] = {}
    for series in seen.over_time(phase.name, "cpu", "cpus"):
        most[series.host] = max((most.get(series.host, 0.0), *series.value))
    return sum(most.values()) or None


def amounts(experiment: Experiment, run: Run, phase: Phase, seen: Observations) -> Iterator[Capacity]:
    """Everything whose amount is known."""
    count = processor_count(phase, seen)
    if count is not None:
        name = ", ".join(run.target_hosts) if run.is_spread else ""
        yield Capacity(resource="cpu", amount=count, source=CapacitySource.COUNTED, name=name)
    for place in run.places:
        for limit in place.limits:
            for kind in ("bytes_per_s", "ops_per_s"):
                most, resource = getattr(limit, kind), DECLARED.get((limit.direction, kind))
                if most and resource:
                    yield Capacity(resource=resource, amount=float(most), source=CapacitySource.LIMIT, name=limit.device)
    yield from declared(experiment, run)
    if (wire := _wire(phase, seen)) is not None:
        for resource in WIRE:
            yield Capacity(resource=resource, amount=wire[0], source=CapacitySource.LINK, name=wire[1])
    yield from _paths(experiment, phase, seen)


def _wire(phase: Phase, seen: Observations) -> tuple[float, str] | None:
    """The speed of the way to the server in bytes/s, and the link or shaper that sets it.

    Of several load hosts the speed of all their ways, which have no one name. None if one is not known.
    """
    hosts = phase.load_hosts if len(phase.load_hosts) > 1 else (None,)
    known = [seen.fact(served.LINK_FACT, host=host) for host in hosts]
    speeds = [float(text) for text in known if text is not None and text.isdigit()]
    name = seen.fact(served.LINK_NAME) if len(hosts) == 1 else None
    return (sum(speeds), name or "") if len(speeds) == len(known) else None


def _paths(experiment: Experiment, phase: Phase, seen: Observations) -> Iterator[Capacity]:
    """The stated rate of each direction of the lab's own line, unless an event of the workload changes it."""
    changed = any(
        event.action is Action.RATE for one in experiment.workloads if one.name == phase.workload for event in one.events
    )
    if changed or served.line(phase, seen, None) is None:
        return
    for resource, (way, _) in PATH_WAYS.items():
        if amount := line_ways.stated_bytes_per_s(phase, seen, way):
            names = ", ".join(line_ways.paths_of(phase, seen))
            yield Capacity(resource=resource, amount=amount, source=CapacitySource.PATH, name=names)


def declared(experiment: Experiment, run: Run) -> Iterator[Capacity]:
    """The [limits] of the experiment on the lowest device of a place: links, one way each."""
    lowest = {f"{place.host}.{place.devices[-1]}" for place in run.places if place.devices and not place.limits}
    for name, text in experiment.limits.items():
        amount = links.capacity(text)
        if isinstance(amount, float) and name in lowest:
            for resource in ("device_read", "device_write"):
                yield Capacity(resource=resource, amount=amount, source=CapacitySource.EXPERIMENT, name=name, text=text)


def described(capacity: Capacity) -> str:
    """How much there is of a resource: `the 50 MB/s read from loop0`, `the 4 CPUs of the host`."""
    resource, amount = RESOURCES[capacity.resource], capacity.amount
    if capacity.source is CapacitySource.COUNTED and capacity.name:
        return f"the {amount:g} CPU{'s' if amount != 1 else ''} of {capacity.name}"
    if capacity.source is CapacitySource.COUNTED:
        return f"the {amount:g} {resource.words}" if amount != 1 else f"the CPU {resource.words.partition(' ')[2]}"
    if capacity.source is CapacitySource.EXPERIMENT:
        return f"the {capacity.text} of {capacity.name}, {resource.words}"
    if capacity.source is CapacitySource.PATH:
        return f"the path {capacity.name} ({amount * 8 / 1e6:g} Mbit/s {PATH_WAYS[capacity.resource][1]} the server)"
    most = human(amount, resource.rate or Unit.PER_S)
    if capacity.source is CapacitySource.LIMIT:
        return f"the {most} {resource.words.removesuffix(' the device')} {capacity.name}"
    return f"the {most} {resource.words}{f' ({capacity.name})' if capacity.name else ''}"
