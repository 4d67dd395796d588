"""Finds the route to the server of clients in a network namespace of their own.

Sources: /proc/PID/ns/net of the clients' processes and of all that they started. Where one differs from the lab's, `ip route get`
and `ip link show` run once in that namespace (nsenter) for the first `server.address`. The way from the lab's own namespace is a
fact of the target, which needs no observer. A process that lives between two looks is not seen.

Where the load's TCP connections end (/proc/PID/net/tcp) is a fact of a host without the server, once: also those of the programs
behind a FUSE mount. The kernel's own connections (NFS, SMB) belong to no process.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from assay.catalogue import Evidence, Host, Observer, SocketPeer, Source, Watch, needs_file
from assay.evidence.served import INSIDE_FACT, REACHED_FACT
from assay.evidence.sources import SERVER
from assay.machine import between
from assay.machine.peers import NetworkSpace, clients, way_of
from assay.machine.server import elsewhere, network_of
from assay.records import Fact, FactClass, Snapshot, Subject, When

ROUTE, REACHED = "route", "reached"


def read(host: Host, subject: Subject) -> Mapping[str, object]:
    """Return the interface and its kind as a client in another namespace sees them; empty where none is in another."""
    if not subject.reaches:
        return {}
    return {**_route(host, subject), **_reached(host, subject)}


def _reached(host: Host, subject: Subject) -> Mapping[str, object]:
    if subject.server or not subject.pids:
        return {}
    ends = between.reached(host, clients(host, subject))
    return {REACHED: list(ends)} if ends else {}


def _route(host: Host, subject: Subject) -> Mapping[str, object]:
    pid = elsewhere(host, subject.pids)
    if pid is None:
        return {}
    path = way_of(host, subject.pids, NetworkSpace(name=network_of(host, pid), pids=(pid,)), SocketPeer(subject.reaches[0]))
    return {} if path is None else {ROUTE: [path.interface, path.kind]}


def parse(host_name: str, phase: str, snapshots: Sequence[Snapshot], _subject: Subject) -> Evidence:
    """Return the first way that was seen, as two facts of the phase."""
    seen = (found for one in snapshots if isinstance(found := one.raw.get(ROUTE), list | tuple))
    first = next((tuple(map(str, found)) for found in seen if len(found) == len(("interface", "kind"))), ())
    keys = (f"{INSIDE_FACT}{phase}", f"{INSIDE_FACT}{phase}.kind")
    pairs = list(zip(keys, first, strict=False))
    reached = next((found for one in snapshots if isinstance(found := one.raw.get(REACHED), list)), None)
    pairs += [(f"{REACHED_FACT}{phase}", ", ".join(map(str, reached)))] if reached else []
    return Evidence(facts=tuple(fact(host_name, *pair) for pair in pairs))


def fact(host: str, key: str, value: str) -> Fact:
    """Return what holds of this trial alone: an interface of a namespace has another name in each."""
    return Fact(host=host, when=When.BEFORE, key=key, value=value, fact_class=FactClass.IDENTITY)


OBSERVER = Observer(
    name="server_route",
    gives=("fact:target.server.inside.*", "fact:target.server.reached.*"),
    sources=(
        Source(
            keys="fact:target.server.inside.*",
            words="the way to the server from the network namespace of its clients",
            way=SERVER,
        ),
        Source(keys="fact:target.server.reached.*", words="where the connections of the load end", way=SERVER),
    ),
    watch=Watch.SERVER,
    cost="2 µs CPU per look (one process in the lab's namespace)",
    available=needs_file("/proc/self/ns/net", "network namespaces are invisible"),
    read=read,
    parse=parse,
    every_s=1.0,
)
