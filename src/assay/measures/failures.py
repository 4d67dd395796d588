"""Operations that failed, and records that were read and are not what was written there."""

from __future__ import annotations

from assay.records import Phase

MISMATCH = "verify"
"""What an engine says of a record that is not what was written where it was read."""


def failed_share(phase: Phase, operation: str) -> float:
    """Failed operations over all of this operation; 0 where none was done."""
    mine = [total for client in phase.clients for total in client.operations if total.operation == operation]
    errors, count = sum(total.errors for total in mine), sum(total.count for total in mine)
    return errors / (errors + count) if errors + count else 0.0


def mismatched(phase: Phase, operation: str) -> int:
    """How many records of this operation were read and are not what was written there."""
    every = (error for client in phase.clients for error in client.errors)
    return sum(error.count for error in every if error.operation == operation and error.what == MISMATCH)
