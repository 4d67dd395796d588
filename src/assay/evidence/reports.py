"""What external commands report, read out of what they printed: while they run, and again from what was kept of it."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Mapping

from assay.errors import EvidenceError
from assay.records import ABSOLUTE, Phase, Reading, Rung, Value

Parse = Callable[[Mapping[str, Value], str, int], Mapping[str, float]]
Texts = tuple[str, str]
"""Standard output and standard error."""
SUMMED = ("_per_s", ".bytes", ".count", ".errors")
"""Figures of several commands that add up; of the others the worst stands for all."""


def parsed(parse: Parse, knobs: Mapping[str, Value], texts: Texts, elapsed_ns: int) -> Mapping[str, float]:
    """The figures in standard output, or where it has none in standard error: dd, tar and time print them there."""
    try:
        return parse(knobs, texts[0], elapsed_ns)
    except EvidenceError:
        if not texts[1].strip():
            raise
        with contextlib.suppress(EvidenceError):
            return parse(knobs, texts[1], elapsed_ns)
        raise


def joined(each: Iterable[Mapping[str, float]]) -> dict[str, float]:
    """The figures of several commands as one: rates, counts and bytes added up, of latencies and times the largest."""
    figures: dict[str, float] = {}
    for found in each:
        for name, value in found.items():
            former = figures.get(name)
            if former is None:
                figures[name] = value
            else:
                figures[name] = former + value if name.endswith(SUMMED) else max(former, value)
    return figures


SOURCE = "command"


def reported_readings(phase: Phase, host: str) -> tuple[Reading, ...]:
    """L0 of an external command: the bytes that it reported itself, where it did."""
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
