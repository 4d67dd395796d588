"""What the load reports itself: the figures that an external command prints, failed operations, records that differ."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterable, Iterator, Mapping

from assay.errors import EvidenceError
from assay.records import ABSOLUTE, EngineError, ErrorSpace, Phase, Reading, Rung, Value

Parse = Callable[[Mapping[str, Value], str, int], Mapping[str, float]]
Texts = tuple[str, str]
"""Standard output and standard error."""
SUMMED = ("_per_s", "_per_s_half", ".bytes", ".count", ".errors", ".attempts", ".answered", ".doubtful")
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


MISMATCH = "verify"
"""What an engine says of a record that is not what was written where it was read."""


def failed_share(phase: Phase, operation: str) -> float:
    """Failed operations over all of this operation, without records that are not what was written; 0 where none was done."""
    mine = [total for client in phase.clients for total in client.operations if total.operation == operation]
    errors = max(0, sum(total.errors for total in mine) - mismatched(phase, operation))
    count = sum(total.count for total in mine)
    every = phase.values.get(f"{operation}.attempts", errors + count)
    return min(1.0, errors / every) if every else 0.0


def reported_share(phase: Phase, operation: str) -> float | None:
    """Failed operations over all as an external tool tells them; None where it does not.

    All are its `attempts`, where its count has the failed ones in it, else both together.
    """
    errors, count, attempts = (phase.values.get(f"{operation}.{figure}") for figure in ("errors", "count", "attempts"))
    if errors is None or (count is None and attempts is None):
        return None
    every = attempts if attempts is not None else errors + (count or 0.0)
    return min(1.0, errors / every) if every else 0.0


def error_reason(error: EngineError) -> str:
    """What an error code means."""
    if error.what == MISMATCH:
        return "a record differs from the written data"
    if error.space is ErrorSpace.LDAP and error.what is not None:
        return f"{error.what} ({error.code})" if error.code and " " not in error.what else error.what
    return os.strerror(error.code) if error.space is ErrorSpace.ERRNO else f"{error.space} {error.code}"


def call_errors(phase: Phase) -> Iterator[EngineError]:
    """In which ways calls failed, at all clients; a record that is not what was written is none of them."""
    return (error for client in phase.clients for error in client.errors if error.what != MISMATCH)


def mismatched(phase: Phase, operation: str) -> int:
    """How many records of this operation were read and are not what was written there."""
    every = (error for client in phase.clients for error in client.errors)
    return sum(error.count for error in every if error.operation == operation and error.what == MISMATCH)
