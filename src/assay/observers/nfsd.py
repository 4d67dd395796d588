"""Counts the bytes that a server of the kernel (knfsd) read and wrote for its clients, its requests, and delegations it gave.

Source: /proc/PID/net/rpc/nfsd of a process of the target's server: the counters of its network namespace alone; and the states
of its clients (NFSv4) in its own mount of nfsd's control files, since Linux 5.3. Its threads make
no system calls, so these stand for rung L5. A server in user space has no such requests, and then there is no evidence.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Mapping, Sequence

from assay.catalogue import Evidence, Host, Observer, Source, Watch
from assay.errors import EvidenceError
from assay.evidence.snapshots import Counters, Origin, RungCounter, counter, gauge, number, readings, text_of, texts
from assay.evidence.sources import SERVER
from assay.machine.server import pids
from assay.records import Direction, Rung, Snapshot, Subject

WAYS = (
    RungCounter(rung=Rung.SERVER_PROCESS, direction=Direction.READ, bytes="read_bytes", operations=None),
    RungCounter(rung=Rung.SERVER_PROCESS, direction=Direction.WRITE, bytes="write_bytes", operations=None),
)
PATH = "/proc/{}/net/rpc/nfsd"
CLIENTS = "/proc/{}/root/proc/fs/nfsd/clients"
STATES = "states"
DELEGATION = re.compile(r"^- \S+: \{ type: deleg\b", re.MULTILINE)


def read(host: Host, subject: Subject) -> Mapping[str, object]:
    """Return the counters of the namespace of the server's first process; empty without a server or without knfsd."""
    first = next(iter(pids(host, subject.server[:1])), None)
    if first is None:
        return {}
    clients = CLIENTS.format(first)
    states = texts(host.read, (posixpath.join(clients, name, STATES) for name in host.list(clients)))
    path = PATH.format(first)
    return {"nfsd": texts(host.read, (path,)).get(path), STATES: list(states.values())}


def parse(host_name: str, phase: str, snapshots: Sequence[Snapshot], _subject: Subject) -> Evidence:
    """Return rung L5 of a server that answered requests. Raises EvidenceError on an unknown format."""
    origin = Origin(host=host_name, phase=phase, source="nfsd:/proc/net/rpc/nfsd", layer="nfsd")
    looks = [(snapshot, found) for snapshot in snapshots if (found := counters_of(snapshot)) is not None]
    if not looks or not looks[-1][1]["requests"] or len(looks) < len(snapshots):
        return Evidence()
    points = [(snapshot.at_ns, float(found["requests"])) for snapshot, found in looks]
    held = [(snapshot.at_ns, float(delegations(snapshot))) for snapshot, _ in looks]
    return Evidence(
        readings=tuple(readings(origin, "server", looks, WAYS)),
        series=(
            counter(origin, "server", "requests", "count", points),
            gauge(origin, "server", "delegations", "count", held),
        ),
    )


def delegations(snapshot: Snapshot) -> int:
    """Count the delegations that the clients of NFSv4 have at one look; 0 where the kernel lists no states."""
    listed = snapshot.raw.get(STATES)
    every = listed if isinstance(listed, list | tuple) else ()
    return sum(len(DELEGATION.findall(text)) for text in every if isinstance(text, str))


def counters_of(snapshot: Snapshot) -> Counters | None:
    """Parse the lines `io` and `rpc` of one look; None where there is no such server."""
    text = text_of(snapshot, "nfsd")
    if text is None:
        return None
    lines = {words[0]: words[1:] for line in text.splitlines() if (words := line.split())}
    moved, asked = lines.get("io", []), lines.get("rpc", [])
    if len(moved) < len(WAYS) or not asked:
        raise EvidenceError(f"found no lines io and rpc in {text[:60]!r} of {PATH.format('PID')}; expected both")
    where = PATH.format("PID")
    return {
        "read_bytes": number(moved[0], where),
        "write_bytes": number(moved[1], where),
        "requests": number(asked[0], where),
    }


OBSERVER = Observer(
    name="nfsd",
    gives=(*(f"{way.rung}.{way.direction}" for way in WAYS), "nfsd.requests", "nfsd.delegations"),
    sources=(
        Source(keys="nfsd.*", words="requests that the kernel's NFS server answered, delegations that it gave", way=SERVER),
    ),
    watch=Watch.SERVER,
    cost="55 µs CPU per look",
    available=lambda host: None,  # a host without one lacks nothing
    read=read,
    parse=parse,
    every_s=1.0,
)
