"""Cost of the load, a line for each phase, in words."""

from __future__ import annotations

from collections.abc import Iterable

from assay import measures
from assay.records import Phase
from assay.units import Unit

UNCOUNTED = "instructions and cycles unknown: no hardware counters"


def own_cost(phases: Iterable[Phase]) -> str:
    """A line for each phase; empty where there is none."""
    lines = [f"    {phase.name}: {line(phase)}" for phase in phases]
    return "\n".join(["cost of the load:", *lines]) if lines else ""


def line(phase: Phase) -> str:
    """Give CPU time and hardware counts per operation, then switches and faults of the phase."""
    cost = measures.costs(phase)
    cpu = cost["cpu_ns_per_op"]
    if cpu is None:
        return "unknown"
    time = f"{measures.with_unit(cpu, Unit.NANOSECONDS)} of CPU time per operation"
    sums = ", ".join(
        f"{measures.with_unit(cost[name] or 0.0, Unit.COUNT)} {words}"
        for name, words in (
            ("voluntary_switches", "voluntary switches"),
            ("involuntary_switches", "involuntary switches"),
            ("faults", "page faults"),
        )
    )
    return f"{time}; {counted(cost)}; {sums}"


def counted(cost: dict[str, float | None]) -> str:
    """`142 user and 3,500 kernel instructions, 90 user and 5,000 kernel cycles`; that nothing is known where it is so."""
    parts = [
        f"{measures.with_unit(user, Unit.COUNT)} user and {measures.with_unit(kernel, Unit.COUNT)} kernel {what}"
        for what in ("instructions", "cycles")
        if (user := cost[f"user_{what}_per_op"]) is not None and (kernel := cost[f"kernel_{what}_per_op"]) is not None
    ]
    return ", ".join(parts) or UNCOUNTED
