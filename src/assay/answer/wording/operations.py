"""The ladder of operations in words: a row for each kind of operation, and what must be known to read it."""

from __future__ import annotations

from collections.abc import Iterator

from assay.evidence.operations import OperationGap, OperationLadder, OperationStep, amount, operations
from assay.records import Observations, Run, sides

HEAD = ("phase", "operation", "L0 client", "wire", "server", "difference")
NUMBERS = (2, 3, 4)
"""Columns of figures."""
NONE = "-"


def ladders(run: Run, seen: Observations) -> dict[str, OperationLadder]:
    """Phase -> its ladder of operations; phases without one are left out."""
    whole = sides.whole(run, seen)
    each = ((phase.name, operations(run, phase, whole)) for phase in run.phases)
    return {name: one for name, one in each if one is not None}


def rows(found: dict[str, OperationLadder]) -> tuple[tuple[str, ...], ...]:
    """A row for each kind, in the order of HEAD."""
    return tuple(
        (phase, step.operation, *(_count(one) for one in (step.client, step.wire, step.server)), difference(step))
        for phase, ladder in found.items()
        for step in ladder.steps
    )


def _count(count: int | None) -> str:
    return NONE if count is None else f"{count:,}"


def difference(step: OperationStep) -> str:
    """`equal`, or who counts how many more, and why that may be."""
    known = [count for count in (step.client, step.wire, step.server) if count is not None]
    if len(known) > 1 and len(set(known)) == 1:
        return "equal"
    if step.wire is None and step.client is not None and step.server is not None:
        return f"server {step.server - step.client:+,}"
    return "; ".join(_gap(step, which, count) for which, count in step.gaps.items()) or NONE


def _gap(step: OperationStep, which: OperationGap, count: int) -> str:
    if which is OperationGap.OTHERS:
        origin = ", ".join(f"{number:,} from {address}" for address, number in step.others.items())
        return f"{count:,} of other clients on the wire{f' ({origin})' if origin else ''}"
    words = {
        OperationGap.UNSENT: "counted by the client, never on the wire",
        OperationGap.LOST: "lost by the capture, at least",
        OperationGap.ELSEWHERE: "of other clients by another way (ldapi)",
        OperationGap.UNCOUNTED: "on the wire, not counted by the server",
    }
    return f"{count:,} {words[which]}"


def notes(found: dict[str, OperationLadder]) -> Iterator[str]:
    """What must be known to read the rows, by phase."""
    for phase, ladder in found.items():
        own = [amount(step.operation, step.own) for step in ladder.steps if step.own]
        if own:
            yield f"{phase}: Assay's own looks over the wire are taken off ({', '.join(own)})."
        if ladder.lacking:
            yield f"{phase}: the capture lacks {ladder.lacking:,} frames or more, so the counts of the wire are lower bounds."
        if ladder.encrypted_bytes:
            yield f"{phase}: {ladder.encrypted_bytes:,} bytes on the wire were encrypted, so it has no counts."
