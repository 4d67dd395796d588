"""Operations that failed, and records that were read and are not what was written there."""

from __future__ import annotations

import os
from collections.abc import Iterator

from assay.records import EngineError, ErrorSpace, Phase

MISMATCH = "verify"
"""What an engine says of a record that is not what was written where it was read."""


def failed_share(phase: Phase, operation: str) -> float:
    """Failed operations over all of this operation, without records that are not what was written; 0 where none was done."""
    mine = [total for client in phase.clients for total in client.operations if total.operation == operation]
    errors = max(0, sum(total.errors for total in mine) - mismatched(phase, operation))
    count = sum(total.count for total in mine)
    return errors / (errors + count) if errors + count else 0.0


def reported_share(phase: Phase, operation: str) -> float | None:
    """Failed operations over all as an external tool tells them; None where it does not."""
    errors, count = (phase.values.get(f"{operation}.{figure}") for figure in ("errors", "count"))
    if errors is None or count is None:
        return None
    return errors / (errors + count) if errors + count else 0.0


def reason(error: EngineError) -> str:
    """What an error code means."""
    if error.what == MISMATCH:
        return "a record differs from the written data"
    return os.strerror(error.code) if error.space is ErrorSpace.ERRNO else f"{error.space} {error.code}"


def every(phase: Phase) -> Iterator[EngineError]:
    """In which ways calls failed, at all clients; a record that is not what was written is none of them."""
    return (error for client in phase.clients for error in client.errors if error.what != MISMATCH)


def mismatched(phase: Phase, operation: str) -> int:
    """How many records of this operation were read and are not what was written there."""
    every = (error for client in phase.clients for error in client.errors)
    return sum(error.count for error in every if error.operation == operation and error.what == MISMATCH)
