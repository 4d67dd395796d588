"""Looks at what the threads of the load and of its server do, at random moments: run, or wait in which system call for what.

Runs beside each phase: `assay-engine states` reads /proc/PID/task/TID/syscall and schedstat of every thread of the processes and
of all below them. Each moment belongs, in equal parts, to the threads that run or wait for a device, and where there are none to
those whose wait says most: a shell that waits for its child says nothing. It stays in memory: no name of a file is kept.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from assay.catalogue import OWN_CPU_NS, Beside, Evidence, Host, Observer, Process, Source, Watch
from assay.errors import EvidenceError
from assay.evidence.snapshots import Origin, Points, counter
from assay.evidence.time_ladder import ALIVE_NS, CLOSED, CONNECTIONS, LAYER, LOAD, SERVER, SQUARES, SUMS, TIMES, WHOLE
from assay.machine import engine_file, server
from assay.records import Series, Snapshot, Subject

COUNTS = "states"
MOST_ROWS = 24
"""Of more pairs of process and state those that had most time."""


def available(host: Host) -> str | None:
    """Return why no thread can be looked at, with the remedy; None if they can."""
    if not host.exists("/proc/self/syscall"):
        return "/proc/PID/syscall does not exist. Use a kernel with CONFIG_HAVE_ARCH_TRACEHOOK."
    return None


def argv_of(host: Host, subject: Subject) -> tuple[str, ...]:
    """Return the command that looks at the load and its server. Raises EvidenceError where there is no process."""
    load = tuple(pid for pid in subject.pids if pid not in subject.serving)
    servers = subject.serving + (server.pids(host, subject.server) or server.named(host, subject.server))
    roots = {LOAD: load} if load else {}
    roots |= {SERVER: servers} if subject.server or subject.serving else {}
    if not any(roots.values()):
        raise EvidenceError("no process of the load or of its server is on this host")
    return engine_file.argv_of(host, "states", {"roots": roots})


def read(host: Host, subject: Subject) -> Mapping[str, object]:  # noqa: ARG001 - all of it comes from the program beside
    """Return nothing more than what the program saw."""
    return {}


def counted(_host: Host, process: Process) -> Mapping[str, object]:
    """Return the sums of all looks until now. Raises EvidenceError without an answer."""
    found = engine_file.counts_of(process, "the program that looks at threads ended early")
    if "refused" in found:
        raise EvidenceError(found["refused"])
    return {COUNTS: found["groups"], OWN_CPU_NS: found["cost_ns"]}


def parse(host_name: str, phase: str, snapshots: Sequence[Snapshot], subject: Subject) -> Evidence:  # noqa: ARG001
    """Return the sums of looks of each process and state, over time."""
    origin = Origin(host=host_name, phase=phase, source="thread_states:/proc/PID/task/TID/syscall", layer=LAYER)
    looks: list[tuple[int, Mapping[str, Any]]] = [
        (one.at_ns, found) for one in snapshots if isinstance(found := one.raw.get(COUNTS), Mapping)
    ]
    try:
        series = tuple(one for name in (LOAD, SERVER) for one in _of_group(origin, name, looks))
    except (KeyError, TypeError, ValueError, AttributeError):
        raise EvidenceError(f"found {str(looks[-1][1])[:60]!r}; expected the sums of assay-engine states") from None
    last = looks[-1][1].get(LOAD) if looks else None
    closed = {"time.share": CLOSED}
    return Evidence(series=series, missing=closed if last and last["denied"] and not last["rows"] else {})


def _of_group(origin: Origin, group: str, looks: Sequence[tuple[int, Mapping[str, Any]]]) -> Iterator[Series]:
    """Yield the sums of one group: of all looks, of its connections, of each process and state, and its processes' CPU time."""
    mine = [(at, found[group]) for at, found in looks if group in found]
    for metric in WHOLE if mine else ():
        unit = "ns" if metric == ALIVE_NS else "count"
        yield counter(origin, group, metric, unit, [(at, float(found[metric])) for at, found in mine])
    for metric, name in CONNECTIONS.items() if mine and mine[-1][1]["connections"]["looks"] else ():
        yield counter(origin, group, metric, "count", [(at, float(found["connections"][name])) for at, found in mine])
    tables = [(at, {(row["process"], row["kind"]): _flat(row) for row in found["rows"]}) for at, found in mine]
    last = tables[-1][1] if tables else {}
    for process, kind in sorted(last, key=lambda key: -(last[key]["share"] + last[key]["threads"]))[:MOST_ROWS]:
        for metric in SUMS:
            points: Points = [(at, float(rows.get((process, kind), {}).get(metric, 0.0))) for at, rows in tables]
            yield counter(origin, f"{group}:{process}:{kind}", metric, "count", points)
    for process in mine[-1][1]["times"] if mine else ():
        for metric in TIMES:
            points = [(at, float(found["times"].get(process, {}).get(metric, 0))) for at, found in mine]
            yield counter(origin, f"{group}:{process}", metric, "ns", points)


def _flat(row: Mapping[str, Any]) -> dict[str, float]:
    """The sums of a row by their names, those of the blocks apart."""
    names = ("share", "threads", "pieces")
    return {**{name: row[name] for name in names}, **dict(zip(SQUARES.values(), row["squares"], strict=True))}


OBSERVER = Observer(
    name="thread_states",
    gives=tuple(f"{LAYER}.{metric}" for metric in (*WHOLE, *CONNECTIONS, *SUMS, *TIMES)),
    sources=(
        Source(
            keys="time.*", words="what threads do, at random moments", way="/proc/PID/task/*/syscall (observer thread_states)"
        ),
    ),
    watch=Watch.ALWAYS,
    cost="92 µs CPU per look, and up to 0.3 % of a CPU for the looks at up to 8 threads",
    available=available,
    read=read,
    parse=parse,
    beside=Beside(argv=argv_of, read=counted, spare=engine_file.spare),
)
