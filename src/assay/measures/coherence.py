"""What the reader of a coherence phase saw: how often never, stale, granted twice, lost."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from assay.records import CoherenceEnd, CoherenceStep, Phase, Role
from assay.units import Unit

UNITS: Mapping[str, Unit] = {
    "never": Unit.COUNT,
    "stale": Unit.COUNT,
    "granted_twice": Unit.COUNT,
    "lost": Unit.COUNT,
    "resolution_ns": Unit.NANOSECONDS,
}
"""Every figure with its unit; fewer and shorter is better."""
OF: Mapping[str, Callable[[CoherenceStep], int | None]] = {
    "never": lambda step: step.never,
    "stale": lambda step: step.stale,
    "granted_twice": lambda step: step.granted_twice,
    "lost": lambda step: step.lost,
    "resolution_ns": lambda step: step.resolution_p50_ns if step.seen else None,
}


def end_of(phase: Phase) -> CoherenceEnd | None:
    """Return what the reader of a phase says; None of other workloads."""
    return next((client.coherence for client in phase.clients if client.coherence is not None), None)


def in_turn(phase: Phase) -> bool:
    """Return True if the clients wait for each other by intention: a writer acts, then a reader looks."""
    return any(client.role in (Role.WRITER, Role.READER) for client in phase.clients)


def figure(phase: Phase, name: str, operation: str) -> float | None:
    """Return one figure of a step; None where the step was never tried, or the file system refused it."""
    end = end_of(phase)
    step = end.steps.get(operation) if end else None
    if step is None or step.refused is not None or not step.tries:
        return None
    found = OF[name](step)
    return None if found is None else float(found)
