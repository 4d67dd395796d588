"""What directory servers answered in a run, over its clients: operations, entries, wrong answers, result codes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from assay.frozen import dataclass
from assay.records import Phase, Run

LAYOUT = "add"
"""What the phases that are not measured do: they create own entries."""


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


def counted(run: Run) -> DirectoryCount | None:
    """Return the sums over all clients; None of a run without a load on a directory server."""
    ends = [(phase, client.directory) for phase in run.phases for client in phase.clients if client.directory is not None]
    if not ends:
        return None
    measured = [end for phase, end in ends if phase.measured]
    answers = [one for end in measured for one in end.operations.values()]
    codes: Counter[str] = Counter()
    own: Counter[str] = Counter()
    for one in answers:
        codes.update(one.codes)
    for _, end in ends:
        own.update(end.own)
    for phase in run.phases:
        own.update({} if phase.measured else {LAYOUT: sum(done(phase).values())})
    return DirectoryCount(
        ops=sum(sum(done(phase).values()) for phase in run.phases if phase.measured),
        entries=sum(one.entries for one in answers),
        wrong=sum(sum(one.wrong.values()) for one in answers) + sum(end.unasked for end in measured),
        result_codes=dict(sorted(codes.items())),
        own_operations=dict(sorted(own.items())),
    )


def done(phase: Phase) -> Counter[str]:
    """Return the completed operations of the mix by name: neither first entries nor binds within another operation."""
    found: Counter[str] = Counter()
    for client in phase.clients:
        if client.directory is not None:
            mixed = client.directory.operations
            found.update({one.operation: one.count for one in client.operations if one.operation in mixed})
    return found
