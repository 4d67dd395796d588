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
    """
    found: dict[WorkSide, Measure] = {}
    for phase in run.phases:
        if not phase.measured or phase.side in found:
            continue
        if phase.side is WorkSide.PATH and (operation := _moving(phase, MOVED.get(direction))):
            figure = ARRIVED if operation == "send" else "bytes_per_s"
            found[WorkSide.PATH] = Measure(workload=phase.workload, operation=operation, figure=figure)
        elif phase.side is WorkSide.SERVER and measure.operation in phase.operations:
            found[WorkSide.SERVER] = replace(measure, workload=phase.workload, figure="bytes_per_s")
    return found


def _moving(phase: Phase, direction: Direction | None) -> str | None:
    return next((name for name, way in phase.directions.items() if way is direction), None)
