"""What the clients and a directory server say of one phase: operations by type, entries, operations that needed storage."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from assay.evidence import ladder, served
from assay.records import Direction, DirectoryAnswers, Observations, Phase, Run

LAYER = "directory"
TYPE = {"rename": "modrdn", "import": "add", "first_entry": "search"}
"""An operation of a load -> the type that the server counts it as, where the two have other names."""
TYPES = ("bind", "search", "compare", "add", "modify", "delete", "modrdn", "extended", "abandon")
"""What a server counts by type; an unbind costs next to nothing, and not every server counts it."""
ENTRIES, BIND = "entries", "bind"
LOOKUPS = ("search", "compare")
CHANGES = ("add", "modify", "delete", "modrdn")
PLURALS = {
    **{one: f"{one}s" for one in ("bind", "compare", "add", "delete", "abandon")},
    "search": "searches",
    "modify": "modifies",
    "modrdn": "renames",
    "extended": "extended operations",
    ENTRIES: "entries",
}


def software(run: Run) -> str | None:
    """The directory server of the target, if its counters by type are known; None of every other target."""
    server = served.server(run)
    return next((node.software for node in server.nodes if node.software), None) if server else None


def type_of(operation: str) -> str | None:
    """The type that a server counts an operation as; None of an operation of no directory."""
    found = TYPE.get(operation, operation)
    return found if found in TYPES else None


def monitored(phase: Phase, observations: Observations) -> dict[str, float]:
    """Type (and `entries`) -> how often the server did it in the clock, without Assay's own looks; empty where nobody counted."""
    found: dict[str, float] = {}
    for name in (*TYPES, ENTRIES):
        series = [one for one in observations.over_time(phase.name, LAYER, name) if one.value]
        if (risen := ladder.rises(series, phase.start_ns, phase.end_ns)) is not None:
            found[name] = risen
    return found


def answers(phase: Phase, operation: str) -> tuple[DirectoryAnswers, ...]:
    """The engine's account of the answers to one operation, one for each client; empty of other loads."""
    ends = (client.directory for client in phase.clients)
    return tuple(end.operations[operation] for end in ends if end is not None and operation in end.operations)


def sent(phase: Phase) -> Counter[str]:
    """Type -> requests of the clients in the clock, and entries that came; of an external command the requests it reports."""
    found: Counter[str] = Counter()
    for client in phase.clients:
        end = client.directory
        if end is None:
            continue
        for name, one in end.operations.items():
            found[type_of(one.kind or name) or name] += one.requests
            found[ENTRIES] += one.entries
        if BIND not in end.operations:  # a bind before each operation is in the clock, and no operation of the mix
            found[BIND] += sum(total.count + total.errors for total in client.operations if total.operation == BIND)
    return found or _reported(phase)


def answered(phase: Phase) -> Counter[str]:
    """Type -> requests whose answer came with a result code, and the entries that came: the server did these for certain."""
    found: Counter[str] = Counter()
    for client in phase.clients:
        for name, one in (client.directory.operations if client.directory else {}).items():
            found[type_of(one.kind or name) or name] += sum(one.codes.values())
            found[ENTRIES] += one.entries
    return found or _reported(phase)


def _reported(phase: Phase) -> Counter[str]:
    found: Counter[str] = Counter()
    for name, value in phase.values.items():
        operation, _, figure = name.rpartition(".")
        if figure == "count" and (kind := type_of(operation)) is not None:
            found[kind] += round(value)
    return found


def done(phase: Phase, observations: Observations, operation: str) -> float | None:
    """How often it was done: as the clients say, else as the server counted its type (of a bare command all lookups)."""
    own, kind, counted = served.reported_operations(phase, operation), type_of(operation), monitored(phase, observations)
    return own or sum(counted.get(name, 0.0) for name in ((kind,) if kind else LOOKUPS)) or None


def storage_waits(phase: Phase, observations: Observations, page_bytes: float) -> float | None:
    """The most operations that can have needed storage, each at least one page and one request; None without counters.

    The pages are those of the server's processes (L6), the requests those of its devices (L8, else L9) with everybody's.
    """
    read = served.storage_io(phase, observations, Direction.READ)
    if read is None:
        return None
    device = ladder.highest_device(phase, observations, Direction.READ)
    pages = read.raw_bytes / page_bytes
    return pages if device is None else min(pages, device.raw_operations)


def in_words(counts: Mapping[str, float]) -> str:
    """`300 binds, 1 search`, most frequent first."""
    every = sorted(((name, count) for name, count in counts.items() if round(count)), key=lambda one: -one[1])
    return ", ".join(f"{round(count):,} {name if round(count) == 1 else PLURALS.get(name, name)}" for name, count in every)
