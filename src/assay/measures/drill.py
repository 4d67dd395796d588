"""How a target came through a drill: seconds away, seconds until the backlog was gone, records lost or changed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from assay.records import Client, DrillEnd, Phase, TimeAway
from assay.units import Unit

COUNTS = ("lost", "changed", "unreadable")
"""Records that a check did not find as they were acknowledged: no cache, no noise and no rate makes them fewer or more."""
DRILL_UNITS: Mapping[str, Unit] = {
    "away_ns": Unit.NANOSECONDS,
    "backlog_ns": Unit.NANOSECONDS,
    "up_share": Unit.SHARE,
    "lost": Unit.COUNT,
    "changed": Unit.COUNT,
    "unreadable": Unit.COUNT,
}
"""Every figure of a drill with its unit."""


def drill_figure(phase: Phase, figure: str) -> float | None:
    """One figure of a drill; None of a phase of another workload."""
    return OF[figure](phase) if any(client.drill for client in phase.clients) else None


def ends(phase: Phase) -> Iterator[tuple[Client, DrillEnd]]:
    """The clients of a drill with what they say of their records."""
    return ((client, client.drill) for client in phase.clients if client.drill is not None)


def times_away(phase: Phase) -> Iterator[TimeAway]:
    """Every time in which the target did not acknowledge a record of a client."""
    return (one for _, end in ends(phase) for one in end.outages)


def away_ns(phase: Phase) -> float:
    """How long the target was away in all, for the client that missed it longest."""
    each = (sum(_until(one.to_ns, phase) - one.from_ns for one in end.outages) + end.further.away_ns for _, end in ends(phase))
    return max(each, default=0)


def backlog_ns(phase: Phase) -> float:
    """The longest time from the first acknowledgement after an outage until nothing that was due had to wait."""
    waits = (_until(one.caught_up_ns, phase) - one.to_ns for one in times_away(phase) if one.to_ns is not None)
    return float(max((*waits, *(end.further.backlog_ns for _, end in ends(phase))), default=0))


def up_share(phase: Phase) -> float | None:
    """The share of the phase in which the service was there for the client that missed it longest."""
    length = _end(phase) - phase.start_ns
    return 1 - away_ns(phase) / length if length > 0 else None


def _until(at_ns: int | None, phase: Phase) -> int:
    return _end(phase) if at_ns is None else at_ns


def _end(phase: Phase) -> int:
    """When the schedule of the appends was over, or the last one ended, whichever is later."""
    return max(phase.end_ns, phase.due_ns or phase.end_ns)


def _sum(phase: Phase, field: str) -> float:
    return float(sum(getattr(end, field) for _, end in ends(phase)))


def _at_least(phase: Phase, field: str) -> float | None:
    """Such records as they were found; None where none was and some could not be read: nobody knows what became of these."""
    found = _sum(phase, field)
    return found if found or not _sum(phase, "unreadable") else None


OF: Mapping[str, Callable[[Phase], float | None]] = {
    "away_ns": lambda phase: float(away_ns(phase)),
    "backlog_ns": backlog_ns,
    "up_share": up_share,
    "lost": lambda phase: _at_least(phase, "lost"),
    "changed": lambda phase: _at_least(phase, "changed"),
    "unreadable": lambda phase: _sum(phase, "unreadable"),
}
