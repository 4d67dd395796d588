"""The paths that the lab made between clients and server: what they let through is a limit of every figure of bytes that pass."""

from __future__ import annotations

from assay.catalogue import TrialCase
from assay.evidence import line_ways, served
from assay.records import Action, Direction

WAYS = {Direction.WRITE: "up", Direction.READ: "down", Direction.SEND: "up", Direction.RECEIVE: "down"}
"""What a client does -> in which direction of a path its bytes go."""
PASSED = {
    **dict.fromkeys((Direction.READ, Direction.WRITE), ("bytes_per_s", "synced_bytes_per_s", "busy_bytes_per_s")),
    **dict.fromkeys((Direction.SEND, Direction.RECEIVE), ("delivered_bytes_per_s",)),
}
"""Rates of bytes that had passed the path; what was sent may have been dropped by it."""


def ceiling(case: TrialCase) -> float | None:
    """The rate that a figure cannot truly exceed; None without a path, and for figures that are no rate of bytes that passed."""
    named = case.direction is not None and case.measure.figure in PASSED.get(case.direction, ())
    path = limit(case) if named else None
    return path[1] if path else None


def limit(case: TrialCase) -> tuple[str, float] | None:
    """The paths that the lab made between clients and server, and the most that they let through in the direction of the bytes.

    None without one, and where one of them has no limit at a time of the phase.
    """
    names = served.line(case.phase, case.observations, case.host)
    way = WAYS.get(case.direction) if case.direction is not None else None
    if names is None or way is None:
        return None
    rates = [_highest_rate(case, name, way) for name in names.split(", ")]
    known = [rate for rate in rates if rate is not None]
    return (f"path {names}", sum(known)) if len(known) == len(rates) else None


def _highest_rate(case: TrialCase, path: str, way: str) -> float | None:
    """The highest rate that one path had in this phase, with the events that changed it; None without a limit."""
    stated = line_ways.fact(case.observations, path, way, "bytes_per_s", case.host)
    changed = [
        event.rate_bytes_per_s
        for spec in case.experiment.workloads
        for event in spec.events
        if event.action is Action.RATE and event.on == path and case.phase.name == f"{spec.name}.{event.phase}"
    ]
    return None if stated is None or None in changed else max((stated, *(one for one in changed if one is not None)))
