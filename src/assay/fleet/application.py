"""What a foreign command says it moved, as evidence of the uppermost rung. Pure."""

from __future__ import annotations

from assay.records import ABSOLUTE, Phase, Reading, Rung

SOURCE = "command"


def told_readings(phase: Phase, host: str) -> tuple[Reading, ...]:
    """L0 of a foreign command: the bytes that it reported itself, where it did."""
    return tuple(
        Reading(
            phase=phase.name,
            rung=Rung.APPLICATION,
            source=SOURCE,
            host=host,
            subject=ABSOLUTE,
            direction=direction,
            bytes=round(phase.values[f"{operation}.bytes"]),
            operations=None,
            from_ns=phase.start_ns,
            to_ns=phase.end_ns,
        )
        for operation, direction in phase.directions.items()
        if f"{operation}.bytes" in phase.values
    )
