"""What tracepoints of the kernel counted of a phase (observer tracepoints), where an experiment asked for them.

Where events were lost every count may be too small, so there is none.
"""

from __future__ import annotations

from assay.evidence import ladder
from assay.records import Observations, Phase

LAYER = "tracepoints"
SOURCE = "tracepoints:filemap"


def lost(phase: Phase, observations: Observations) -> float:
    """Events that were lost in the phase, the drain included."""
    return sum(item.value[-1] - item.value[0] for item in ladder.gauges(phase, observations, LAYER, "lost_events") if item.value)


def counted(phase: Phase, observations: Observations, metric: str, about: str = "") -> float | None:
    """How much while the clock ran, of a subject (`device:vda`) or all of a kind (`path`); None where it is not certain."""
    return _rise(phase, observations, (metric, about), phase.end_ns)


def with_drain(phase: Phase, observations: Observations, metric: str, about: str = "") -> float | None:
    """The same, the drain included."""
    return _rise(phase, observations, (metric, about), phase.end_ns + (phase.drain_ns or 0))


def _rise(phase: Phase, observations: Observations, what: tuple[str, str], end_ns: int) -> float | None:
    metric, about = what
    series = [
        item
        for item in observations.over_time(phase.name, LAYER, metric)
        if not about or item.subject == about or item.subject.startswith(f"{about}:")
    ]
    if not series or lost(phase, observations):
        return None
    return ladder.rises(series, phase.start_ns, end_ns)


def brought(phase: Phase, observations: Observations, own: ladder.LadderStep | None) -> ladder.LadderStep | None:
    """What buffered reads made storage read: what their processes are charged for, or less where fewer pages came into memory.

    Both are too much at most: the charge has metadata and libraries in it, the pages those that others brought and holes. Of a
    external program it is not known whether it reads past the cache, so nothing follows from its pages.
    """
    added = None if phase.values else counted(phase, observations, "added_bytes", "filesystem")
    if added is None or (own is not None and own.raw_bytes <= added):
        return own
    return ladder.LadderStep(
        bytes=added,
        operations=0.0,
        raw_bytes=added,
        raw_operations=0.0,
        other_processes_bytes=0.0,
        other_processes_operations=0.0,
        uncertainty_bytes=0.0,
        source=SOURCE,
        subjects=(),
    )
