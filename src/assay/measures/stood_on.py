"""What a client's figure stands on: the measures of workloads of the same run that worked below it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from assay.records import Direction, Measure, Phase, Run, WorkSide

MOVED: Mapping[Direction, Direction] = {Direction.READ: Direction.RECEIVE, Direction.WRITE: Direction.SEND}
"""What a client does to data -> how their bytes pass the path, seen from the client."""
ARRIVED = "delivered_bytes_per_s"
"""What was sent counts where it arrived."""


def below(run: Run, measure: Measure, direction: Direction) -> dict[WorkSide, Measure]:
    """Return, for each side below a client that this run has, the measure in bytes a second that bounds the client's.

    Of the path that is the direction in which the client's bytes go, of the server's side the same operation with the same claim.
    Where several workloads worked there the fastest one counts. One that follows a schedule shows no limit.
    """
    found: dict[WorkSide, tuple[float, Measure]] = {}
    for phase in run.phases:
        one = _measure(phase, measure, direction) if phase.measured and phase.due_ns is None else None
        if one is not None:
            found[phase.side] = max(
                found.get(phase.side, (0.0, one)), (_pace(phase, one.operation), one), key=lambda each: each[0]
            )
    return {side: one for side, (_, one) in found.items()}


def _measure(phase: Phase, measure: Measure, direction: Direction) -> Measure | None:
    if phase.side is WorkSide.PATH and (operation := _moving(phase, MOVED.get(direction))):
        figure = ARRIVED if operation == "send" else "bytes_per_s"
        return Measure(workload=phase.workload, operation=operation, figure=figure)
    if phase.side is WorkSide.SERVER and measure.operation in phase.operations:
        return replace(measure, workload=phase.workload, figure="bytes_per_s")
    return None


def _pace(phase: Phase, operation: str) -> float:
    """Bytes a second by the load's own account."""
    moved = sum(one.bytes for client in phase.clients for one in client.operations if one.operation == operation)
    return moved / max(1, phase.lasted_ns)


def _moving(phase: Phase, direction: Direction | None) -> str | None:
    return next((name for name, way in phase.directions.items() if way is direction), None)
