"""What directory servers answered in a run, over its clients: operations, entries, wrong answers, result codes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from assay.frozen import dataclass
from assay.records import DirectoryAnswers, Phase, Run

LAYOUT = "add"
"""What the phases that are not measured do: they create own entries."""


@dataclass(frozen=True, kw_only=True)
class OperationAnswers:
    """The answers to one operation of the mix."""

    ops: int
    """Operations that were answered as they should be."""
    entries: int
    references: int
    bytes: int
    """Of whole answers; of an import, of the entries in its file."""
    misses: int
    wrong: int
    result_codes: Mapping[str, int]


@dataclass(frozen=True, kw_only=True)
class DirectoryCount:
    """The answers of a run's measured phases, and what Assay itself asked in all of them."""

    ops: int
    """Operations of the mix that were answered as they should be."""
    entries: int
    wrong: int
    """Answers that were understood and are not right, and answers to no request."""
    result_codes: Mapping[str, int]
    own_operations: Mapping[str, int]
    operations: Mapping[str, OperationAnswers]


def counted(run: Run) -> DirectoryCount | None:
    """Return the sums over all clients; None of a run without a load on a directory server."""
    ends = [(phase, client.directory) for phase in run.phases for client in phase.clients if client.directory is not None]
    if not ends:
        return None
    measured = [end for phase, end in ends if phase.measured]
    own: Counter[str] = Counter()
    for _, end in ends:
        own.update(end.own)
    for phase in run.phases:
        own.update({} if phase.measured else {LAYOUT: sum(done(phase).values())})
    each = {name: _answers(run, name) for name in sorted({name for end in measured for name in end.operations})}
    codes: Counter[str] = Counter()
    for one in each.values():
        codes.update(one.result_codes)
    return DirectoryCount(
        ops=sum(one.ops for one in each.values()),
        entries=sum(one.entries for one in each.values()),
        wrong=sum(one.wrong for one in each.values()) + sum(end.unasked for end in measured),
        result_codes=dict(sorted(codes.items())),
        own_operations={name: count for name, count in sorted(own.items()) if count},
        operations=each,
    )


def _answers(run: Run, name: str) -> OperationAnswers:
    clients = [client for phase in run.phases if phase.measured for client in phase.clients if client.directory is not None]
    found: list[DirectoryAnswers] = [end.operations[name] for one in clients if (end := one.directory) and name in end.operations]
    totals = [total for client in clients for total in client.operations if total.operation == name]
    codes: Counter[str] = Counter()
    for one in found:
        codes.update(one.codes)
    return OperationAnswers(
        ops=sum(total.count for total in totals),
        entries=sum(one.entries for one in found),
        references=sum(one.references for one in found),
        bytes=sum(total.bytes for total in totals),
        misses=sum(one.misses for one in found),
        wrong=sum(sum(one.wrong.values()) for one in found),
        result_codes=dict(sorted(codes.items())),
    )


def done(phase: Phase) -> Counter[str]:
    """Return the completed operations of the mix by name: neither first entries nor binds within another operation."""
    found: Counter[str] = Counter()
    for client in phase.clients:
        if client.directory is not None:
            mixed = client.directory.operations
            found.update({one.operation: one.count for one in client.operations if one.operation in mixed})
    return found


def is_part(phase: Phase, operation: str) -> bool:
    """Return True if an operation on a directory server is a part of another one: a first entry, a bind before each."""
    ends = [client.directory for client in phase.clients if client.directory is not None]
    return bool(ends) and all(operation not in end.operations for end in ends)
