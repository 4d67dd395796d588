"""The ladder of operations of a directory load: what the clients asked for, what passed the wire, what the server counted.

All three are counts between the look after arming and the look after the last operation, by kind. What Assay itself asks in
that time is taken off: the looks at the server's monitor, where they pass the same wire. The observer takes its own looks off
the server's counters.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum

from assay.evidence import directory, ladder, served
from assay.frozen import dataclass
from assay.records import ABSOLUTE, Client, Observations, Phase, Run, Series

KINDS: Mapping[str, str] = {
    "search": "searches",
    "compare": "compares",
    "modify": "modifies",
    "add": "adds",
    "delete": "deletes",
    "rename": "renames",
    "bind": "binds",
}
"""What a server answers, as the load calls it -> its plural."""
WIRE, SERVER = "wire", directory.LAYER
"""The layers of the observers wire and directory_monitor."""
LOOK: Mapping[str, int] = {"bind": 1, "search": 1}
"""What one command of a look at the server's monitor asks for."""
ON_A_WIRE = re.compile(r"ldaps?://")
LACKING = ("capture_drops", "gaps", "evicted_connections")
"""Counts that make those of the wire lower bounds."""


class OperationGap(StrEnum):
    """How the three counts of a kind differ."""

    UNSENT = "unsent"
    """The clients count more than passed the wire."""
    LOST = "lost by the capture"
    """Both ends count more than passed the wire, or the capture says itself that it lacks something."""
    OTHERS = "other clients"
    """More passed the wire than the clients of the load asked for."""
    ELSEWHERE = "another way"
    """The server counts more than passed the wire."""
    UNCOUNTED = "not counted by the server"
    """Less than passed the wire."""


@dataclass(frozen=True, kw_only=True)
class OperationStep:
    """One kind of operation, by each of the three; None where nobody counted it."""

    operation: str
    client: int | None
    wire: int | None
    server: int | None
    own: int = 0
    """What Assay's looks at the monitor asked over the wire, which is taken off."""
    gaps: Mapping[OperationGap, int]
    """How the counts differ, and by how many; empty where all that are known are equal."""
    others: Mapping[str, int]
    """Address -> what came over the wire from it, where more passed than the load asked for."""


@dataclass(frozen=True, kw_only=True)
class OperationLadder:
    """All kinds that anybody counted in a phase."""

    steps: tuple[OperationStep, ...]
    captured: bool
    """Whether the wire was captured, and could be read."""
    lacking: int
    """Frames that the capture dropped, and holes in it."""
    encrypted_bytes: int
    """What passed in layers that nobody can read."""
    monitored: bool
    """Whether the server's own counters were read."""

    def step(self, operation: str) -> OperationStep | None:
        """One kind; None where nobody counted it."""
        return next((one for one in self.steps if one.operation == operation), None)

    def gap(self, which: OperationGap) -> Iterator[tuple[OperationStep, int]]:
        """Each kind that differs in this way, and by how many."""
        yield from ((one, one.gaps[which]) for one in self.steps if which in one.gaps)


def operations(run: Run, phase: Phase, observations: Observations) -> OperationLadder | None:
    """The ladder of a phase; None of one that asks nothing of a directory server, or where only the clients counted."""
    asked = client_counts(phase)
    wire = _rises(phase, observations, WIRE, ABSOLUTE)
    server = {kind: _server_rise(phase, observations, kind) for kind in KINDS}
    monitored = any(count is not None for count in server.values())
    if not phase.measured or (not wire and not (monitored and asked)):
        return None
    encrypted, lacking = wire.get("opaque_bytes", 0), sum(wire.get(name, 0) for name in LACKING)
    captured = bool(wire) and not encrypted and not _is_broken(phase, observations)
    own = _own(run, phase, observations) if captured else {}
    unsure = _unsure(phase)
    steps = []
    for kind in KINDS:
        passed = max(0, wire.get(kind, 0) - own.get(kind, 0)) if captured else None
        counts = (asked.get(kind), passed, server[kind])
        if any(counts):
            found = gaps(*counts, lacking=lacking, unsure=unsure.get(kind, 0))
            taken_off = (counts[0] or 0) + own.get(kind, 0)
            others = _others(phase, observations, kind, taken_off) if OperationGap.OTHERS in found else {}
            steps.append(
                OperationStep(
                    operation=kind,
                    client=counts[0],
                    wire=passed,
                    server=counts[2],
                    own=own.get(kind, 0),
                    gaps=found,
                    others=others,
                )
            )
    return OperationLadder(steps=tuple(steps), captured=captured, lacking=lacking, encrypted_bytes=encrypted, monitored=monitored)


def gaps(client: int | None, wire: int | None, server: int | None, *, lacking: int, unsure: int = 0) -> dict[OperationGap, int]:
    """How the counts of one kind differ; nothing without the wire. `unsure` of the client's may not have been sent."""
    if wire is None:
        return {}
    below_client, below_server = max(0, (client or 0) - unsure - wire), max(0, (server or 0) - wire)
    found: dict[OperationGap, int] = {}
    if below_client and (below_server or (lacking and server is None)):
        found[OperationGap.LOST] = max(below_client, below_server)
    elif below_client:
        found[OperationGap.UNSENT] = below_client
    elif below_server:
        found[OperationGap.LOST if lacking else OperationGap.ELSEWHERE] = below_server
    if client is not None and wire > client:
        found[OperationGap.OTHERS] = wire - client
    if server is not None and wire > server:
        found[OperationGap.UNCOUNTED] = wire - server
    return found


def amount(kind: str, count: int) -> str:
    """`1 search`, `15,000 searches`."""
    return f"{count:,} {kind if count == 1 else KINDS[kind]}"


def client_counts(phase: Phase) -> dict[str, int]:
    """What the clients say they asked for, by kind; of a command the counts that it prints.

    Clients of ours count all kinds, also those that they did not ask for.
    """
    found = dict.fromkeys(KINDS, 0) if any(client.directory for client in phase.clients) else {}
    for client in phase.clients:
        for kind, count in _of_client(client):
            found[kind] = found.get(kind, 0) + count
    printed = ((kind, phase.values.get(f"{kind}.count")) for kind in KINDS)
    return found | {kind: round(count) for kind, count in printed if count is not None}


def _of_client(client: Client) -> Iterator[tuple[str, int]]:
    if client.directory is None:
        return
    mixed = client.directory.operations
    yield from ((answers.kind or name, answers.requests) for name, answers in mixed.items())
    apart = (one for one in client.operations if one.operation in KINDS and one.operation not in mixed)
    yield from ((one.operation, one.count + one.errors) for one in apart)


def _unsure(phase: Phase) -> dict[str, int]:
    """Kind -> requests without an answer of clients that lost connections: the last ones may lie unsent in a full socket."""
    found: dict[str, int] = {}
    for client in phase.clients:
        end = client.directory
        if end is None or not end.lost:
            continue
        for name, answers in end.operations.items():
            kind = answers.kind or name
            found[kind] = found.get(kind, 0) + max(0, answers.requests - sum(answers.codes.values()))
    return found


def _rises(phase: Phase, observations: Observations, layer: str, subject: str) -> dict[str, int]:
    found: dict[str, int] = {}
    for series in observations.series:
        is_asked = (series.phase, series.layer, series.subject) == (phase.name, layer, subject)
        risen = ladder.rise(series, phase.start_ns, phase.end_ns) if is_asked else None
        if risen is not None:
            found[series.metric] = found.get(series.metric, 0) + round(risen)
    return found


def _is_broken(phase: Phase, observations: Observations) -> bool:
    """Whether a capture gave counts at one look and none at another: what rose between them is not known then."""
    hosts = {one.host for one in observations.over_time(phase.name, WIRE, "search", ABSOLUTE)}
    lacking = (one for one in observations.missing if (one.phase, one.key) == (phase.name, f"{WIRE}.search"))
    return any(one.host in hosts for one in lacking)


def _known_rise(phase: Phase, series: Series) -> int:
    return round(ladder.known_rise(series, phase.start_ns, phase.end_ns))


def _server_rise(phase: Phase, observations: Observations, kind: str) -> int | None:
    every = [*observations.over_time(phase.name, SERVER, directory.type_of(kind) or kind)]
    risen = ladder.rises(every, phase.start_ns, phase.end_ns)
    return None if risen is None else round(risen)


def _others(phase: Phase, observations: Observations, kind: str, known: int) -> dict[str, int]:
    """Address -> what came from it; of the busiest address, which is the load's, without what the load and Assay asked."""
    totals: dict[str, int] = {}
    found: dict[str, int] = {}
    for one in observations.series:
        address = one.subject.partition("client:")[2]
        if (one.phase, one.layer) == (phase.name, WIRE) and address and one.value:
            totals[address] = totals.get(address, 0) + _known_rise(phase, one)
            found[address] = found.get(address, 0) + (_known_rise(phase, one) if one.metric == kind else 0)
    load = max(totals, key=lambda address: totals[address], default="")
    return {address: rest for address, count in found.items() if (rest := count - known * (address == load)) > 0}


def _own(run: Run, phase: Phase, observations: Observations) -> dict[str, int]:
    """What the looks at the monitor between the two looks at the wire asked over that wire, by kind."""
    server = served.server(run)
    wire = next(observations.over_time(phase.name, WIRE, "search", ABSOLUTE), None)
    looks = next(observations.over_time(phase.name, SERVER, "search"), None)
    if server is None or wire is None or looks is None or looks.host != wire.host:
        return {}
    commands = sum(_passes_wire(argv) for node in server.nodes for argv in node.monitor)
    since, until = _between(phase, wire)
    count = commands * sum(since < at <= until for at in looks.at_ns)
    return {kind: times * count for kind, times in LOOK.items()} if count else {}


def _passes_wire(argv: Sequence[str]) -> bool:
    return any(ON_A_WIRE.match(word) for word in argv)


def _between(phase: Phase, series: Series) -> tuple[int, int]:
    """The times of the two looks that enclose the clock."""
    since = max((at for at in series.at_ns if at <= phase.start_ns), default=series.at_ns[0])
    return since, min((at for at in series.at_ns if at >= phase.end_ns), default=series.at_ns[-1])
