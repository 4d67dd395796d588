"""Counts traffic of the server's network interfaces, and TCP retransmissions in its network namespace.

Sources: /proc/PID/net/dev, snmp and netstat of the first process of the target's server, if the target has `server.address`: a
server behind a local socket or a mount has no network. Clients on the same host reach a server in the lab's own namespace through
the loopback, so `lo` is its interface; in another namespace, or for clients of other hosts, all interfaces except `lo` count.
Received bytes are the direction `read`, sent bytes `write`, headers included (rung L4). Traffic of other processes is included.

Where those are the interfaces of the host itself, the bytes of the lab's own connections by ssh are a series beside it: the
kernel's count of each (TCP_INFO on this side), without headers, so never too much.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from assay.catalogue import Evidence, Host, Observer, Source, Watch, lab_bytes, needs_file
from assay.evidence.served import LAB_BYTES
from assay.evidence.snapshots import (
    Origin,
    counter,
    interface_ways,
    interfaces,
    paired_numbers,
    readings,
    text_of,
    texts,
    why_not,
)
from assay.evidence.sources import SERVER
from assay.machine.server import LOOPBACK, network_of, pids, shares_network
from assay.records import Reading, Rung, Series, ServerNode, Snapshot, Subject

TCP = {"sent_segments": "OutSegs", "retransmitted_segments": "RetransSegs", "accepted_connections": "PassiveOpens"}
NEEDLESS = {"needless_segments": "TCPDSACKRecv"}
"""Segments retransmitted although they had arrived, as reported by the receiver (RFC 2883): acknowledged late, not lost."""
IN_SEGMENTS = {"needless_segments": "TCPDSACKRecvSegs"}
"""The same of newer kernels: one report may be about many segments that went as one."""
KEYS = ("L4.read", "L4.write")
LAB = "lab"
EVIDENCE = (*KEYS, *(f"server.{metric}" for metric in (*TCP, *NEEDLESS)))
FILES = ("dev", "snmp")
EXTENDED = "netstat"
MORE = "more"
"""Where the texts of further network namespaces are, of nodes that are in one of their own."""
HEADS = {"snmp": "Tcp:", EXTENDED: "TcpExt:"}


def read(host: Host, subject: Subject) -> Mapping[str, object]:
    """Return the three texts of each namespace of the server, and whether it is the lab's own; empty without a running server."""
    first, *more = [space(host, pid) for pid in spaces(host, subject.server)] or [{}]
    lab = {LAB: lab_bytes(host)} if first and not subject.reaches else {}
    return {**first, **lab, MORE: more} if more else {**first, **lab}


def spaces(host: Host, nodes: Sequence[ServerNode]) -> tuple[int, ...]:
    """Return a process of each network namespace of the nodes that clients reach by an address."""
    running = [pids(host, (node,)) for node in nodes if node.address]
    return tuple({network_of(host, found[0]): found[0] for found in reversed(running) if found}.values())[::-1]


def space(host: Host, pid: int) -> dict[str, object]:
    """Return the texts of a process's network namespace."""
    found = texts(host.read, (f"/proc/{pid}/net/{name}" for name in (*FILES, EXTENDED)))
    return {"own": shares_network(host, pid), **dict(zip((*FILES, EXTENDED), found.values(), strict=True))}


def parse(host_name: str, phase: str, snapshots: Sequence[Snapshot], subject: Subject) -> Evidence:
    """Return rung L4 of each interface, TCP segments of the namespace. Raises EvidenceError on an unknown format."""
    if not subject.server:
        return Evidence()
    if not any(node.address for node in subject.server):
        return Evidence(missing=dict.fromkeys(EVIDENCE, "the target names no server address. Set server.address."))
    seen = [snapshot for snapshot in snapshots if all(text_of(snapshot, name) for name in FILES)]
    if len(seen) < len(snapshots) or not seen:
        reason = f"no process of the server at {len(snapshots) - len(seen)} of {len(snapshots)} looks"
        return Evidence(missing=dict.fromkeys(EVIDENCE, reason))
    origin = Origin(host=host_name, phase=phase, source="server_network:/proc/PID/net/dev", layer="server")
    found, series = list[Reading](), list[Series]()
    unseen = why_not(seen, EXTENDED)
    for number, part in enumerate(by_space(seen), start=1):
        mark = "" if number == 1 else f"@{number}"
        found += readings_of(origin, part, mark, at_home=bool(subject.reaches))
        series += series_of(origin, part, ("snmp", mark), TCP)
        whole = all(IN_SEGMENTS["needless_segments"] in (text_of(one, EXTENDED) or "").split() for one in part)
        series += () if unseen else series_of(origin, part, (EXTENDED, mark), IN_SEGMENTS if whole else NEEDLESS)
    series += of_the_lab(origin, seen)
    missing = {f"server.{metric}": unseen for metric in NEEDLESS} if unseen else {}
    return Evidence(readings=tuple(found), series=tuple(series), missing=missing)


def by_space(seen: Sequence[Snapshot]) -> Iterator[list[Snapshot]]:
    """Yield the looks at each namespace; of those beside the first only where every look has them."""
    yield [*seen]
    others = [more if isinstance(more := one.raw.get(MORE), list | tuple) else () for one in seen]
    for parts in zip(*others, strict=False):
        yield [replace(one, raw=part) for one, part in zip(seen, parts, strict=True)]


def readings_of(origin: Origin, seen: Sequence[Snapshot], mark: str, *, at_home: bool) -> Iterator[Reading]:
    """Yield the traffic of each interface that clients use, in each direction and span; `mark` names a further namespace.

    `at_home`: there are clients on this host, which reach a server in the lab's own namespace through the loopback.
    """
    looks = [(snapshot, interfaces(text_of(snapshot, "dev") or "", "net/dev")) for snapshot in seen]
    for name in sorted({name for _, found in looks for name in found}):
        rows = [
            (one, found[name])
            for one, found in looks
            if name in found and (name == LOOPBACK) is (at_home and one.raw.get("own") is True)
        ]
        yield from readings(origin, f"interface:{name}{mark}", rows, interface_ways(Rung.SERVER_NIC))


def of_the_lab(origin: Origin, seen: Sequence[Snapshot]) -> Iterator[Series]:
    """Yield what the lab's own connections moved over the interfaces of the host, at the begin of each look and after it."""
    own = any(part.raw.get("own") is True for parts in by_space(seen) for part in parts[:1])
    points = [
        (at_ns, float(moved))
        for one in seen
        if isinstance(both := one.raw.get(LAB), list | tuple)
        for at_ns, moved in zip((one.at_ns, one.at_ns + max(1, one.took_ns)), both, strict=True)
    ]
    if own and points and points[-1][1] > 0:
        yield counter(origin, "server", LAB_BYTES, "B", points)


def series_of(origin: Origin, seen: Sequence[Snapshot], part: tuple[str, str], names: Mapping[str, str]) -> Iterator[Series]:
    """Yield the TCP counters of one file since the first look: segments sent and retransmitted, accepted connections."""
    file, mark = part
    points = [
        (snapshot.at_ns, paired_numbers(text_of(snapshot, file) or "", HEADS[file], names, f"net/{file}")) for snapshot in seen
    ]
    for metric in names:
        yield counter(origin, f"server{mark}", metric, "count", [(at, found[metric]) for at, found in points])


OBSERVER = Observer(
    name="server_network",
    gives=(*EVIDENCE, "server.lab_bytes"),
    sources=(
        Source(keys="L4.*", words="bytes of the server's network interfaces", way=SERVER),
        Source(keys="server.lab_bytes", words="bytes of the lab's own connections to the server's host", way=SERVER),
    ),
    watch=Watch.SERVER,
    cost="94 µs CPU per look",
    available=needs_file("/proc/net/dev", "interface counters are invisible"),
    read=read,
    parse=parse,
)
