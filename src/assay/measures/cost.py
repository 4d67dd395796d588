"""What the load generator itself used in a phase: instructions, cycles and processor time per operation, switches, faults.

Summed over all clients and divided by all operations of the phase, whatever they were called: the engine does not count
apart what it spent on each. What one client does not tell is not known of the phase (EngineCost; an external command's is that
of the command and its children). The CPU time of programs that are the clients' mounts (FUSE) is added to that of the load.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from operator import attrgetter

from assay.records import EngineCost, Phase
from assay.units import Unit

COUNTERS = ("user_instructions", "kernel_instructions", "user_cycles", "kernel_cycles")
"""What only a machine with hardware counters tells."""


def processor_ns(cost: EngineCost) -> int:
    """User and system time."""
    return cost.cpu_user_ns + cost.cpu_system_ns


def processor_s_per_million(cost: EngineCost) -> float:
    """User and system time in seconds for a million times as much."""
    return processor_ns(cost) / 1e3


def faults(cost: EngineCost) -> int:
    """Page faults, with and without a read of storage."""
    return cost.minor_faults + cost.major_faults


PER_OPERATION: Mapping[str, Callable[[EngineCost], float | None]] = {
    "cpu_ns_per_op": processor_ns,
    "cpu_s_per_million_ops": processor_s_per_million,
    **{f"{name}_per_op": attrgetter(name) for name in COUNTERS},
}
PER_GB = "cpu_ns_per_gb"
GB = 1e9
WITH_MOUNTS = frozenset({"cpu_ns_per_op", "cpu_s_per_million_ops", PER_GB})
"""Figures to which the programs of the clients' mounts (FUSE) belong: they work for the load in processes of their own."""
IN_ALL: Mapping[str, Callable[[EngineCost], float | None]] = {
    "voluntary_switches": attrgetter("voluntary_switches"),
    "involuntary_switches": attrgetter("involuntary_switches"),
    "faults": faults,
}
ALL: Mapping[str, Callable[[EngineCost], float | None]] = {**PER_OPERATION, **IN_ALL, PER_GB: processor_ns}
UNITS: Mapping[str, Unit] = {
    **dict.fromkeys(PER_OPERATION, Unit.NONE),
    **dict.fromkeys(IN_ALL, Unit.COUNT),
    "cpu_ns_per_op": Unit.NANOSECONDS,
    PER_GB: Unit.NANOSECONDS,
}
"""Every figure of the cost with its unit; seconds for a million operations are in the name. Counts may be zero."""


def cost(phase: Phase, figure: str) -> float | None:
    """One figure of the cost; None where a client did not tell, or nothing was done that it could be divided by."""
    parts = [None if client.cost is None else ALL[figure](client.cost) for client in phase.clients]
    known = [float(part) for part in parts if part is not None]
    if not parts or len(known) < len(parts):
        return None
    if figure in WITH_MOUNTS and phase.mounts_cpu_ns is not None:
        beside = ALL[figure](EngineCost(cpu_user_ns=phase.mounts_cpu_ns, cpu_system_ns=0))
        known.append(float(beside or 0.0))
    if figure in IN_ALL:
        return sum(known)
    count, moved = work_of(phase, None)
    divisor = moved / GB if figure == PER_GB else count
    return sum(known) / divisor if divisor else None


def work_of(phase: Phase, operation: str | None) -> tuple[float, float]:
    """Return count and bytes of an operation, or of all: by Assay's engine, or by the report of a tool that gives both.

    The bytes of an external command are those that it reports; what it does not report it did not count.
    """
    if phase.values:
        names = [operation] if operation is not None else list(phase.operations)
        counts, amounts = ([phase.values.get(f"{name}.{what}", 0.0) for name in names] for what in ("count", "bytes"))
        if any(amounts):
            return sum(counts), sum(amounts)
    totals = [total for client in phase.clients for total in client.operations if operation in (None, total.operation)]
    return sum(total.count for total in totals), sum(total.bytes for total in totals)


def costs(phase: Phase) -> dict[str, float | None]:
    """All figures of the cost of a phase."""
    return {figure: cost(phase, figure) for figure in UNITS}


def on_cpu_share(phase: Phase) -> float:
    """Share of their time that the load's workers were on a processor, 0..1; 1 where it is not known."""
    duration, workers = phase.lasted_ns, sum(client.workers for client in phase.clients)
    parts = [client.cost for client in phase.clients if client.cost is not None]
    if duration <= 0 or not workers or len(parts) < len(phase.clients):
        return 1.0
    return min(1.0, sum(map(processor_ns, parts)) / (duration * workers))


def cycles_per_ns(phase: Phase) -> float | None:
    """The clock rate at which the load ran: its cycles over its processor time; None where the machine counts no cycles."""
    parts = [client.cost for client in phase.clients if client.cost is not None]
    cycles = [part.user_cycles + part.kernel_cycles for part in parts if part.user_cycles and part.kernel_cycles]
    spent = sum(map(processor_ns, parts))
    return sum(cycles) / spent if cycles and len(cycles) == len(phase.clients) and spent else None
