"""Asks to which addresses the load's own sockets are connected, and which way the kernel takes to each.

Sources: /proc/PID/fd of the load's processes and of all that they started; /proc/PID/net/tcp, tcp6, udp and udp6 of the first of
them, those of its network namespace; `ip route get` for each peer, in that namespace (nsenter) where it is not the lab's.
A connection that begins and ends between two looks is not seen. Listening sockets and unconnected datagram sockets have no peer.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterator, Mapping, Sequence

from assay.catalogue import Evidence, Host, Observer, Source, needs_file
from assay.evidence.served import INSIDE_FACT
from assay.machine.server import elsewhere, family, way
from assay.records import Fact, FactClass, Snapshot, Subject, When

WAYS = "ways"
TABLES = ("tcp", "tcp6", "udp", "udp6")
PEERS_FACT = "sockets.peers."
"""Before the name of a phase: `127.0.0.1 through lo (loopback)`."""
OUTWARD = ("physical", "virtual", "loopback")
"""Kinds of interfaces, those that lead out of the machine first: a name server on the loopback is no peer of the load's data."""
MOST_PEERS = 16
SOCKET = re.compile(r"socket:\[(\d+)\]$")
ROW = re.compile(r"\s*\d+: \S+ ([0-9A-F]+):([0-9A-F]{4}) [0-9A-F]{2} \S+ \S+ \S+ +\d+ +\d+ (\d+) ")


def read(host: Host, subject: Subject) -> Mapping[str, object]:
    """Return address -> [interface, kind] of the peers of all sockets of the load; empty without one."""
    pids = tuple(family(host, subject.pids))
    inodes = {inode for pid in pids for inode in sockets_of(host, pid)}
    if not inodes:
        return {}
    inside = elsewhere(host, pids)
    tables = [text for name in TABLES if (text := _text(host, f"/proc/{inside or 'self'}/net/{name}"))]
    peers = list(dict.fromkeys(peer for text in tables for peer in peers_in(text, inodes)))
    found = {peer: way(host, peer, inside) for peer in peers[:MOST_PEERS]}
    return {WAYS: {peer: [one.interface, one.kind] for peer, one in found.items() if one is not None}}


def sockets_of(host: Host, pid: int) -> Iterator[str]:
    """Yield the inodes of a process's sockets; none where it has ended or is not ours to look at."""
    try:
        names = host.list(f"/proc/{pid}/fd")
    except OSError:
        return
    for name in names:
        try:
            match = SOCKET.search(host.real_path(f"/proc/{pid}/fd/{name}"))
        except OSError:
            continue
        if match is not None:
            yield match[1]


def peers_in(table: str, inodes: set[str]) -> Iterator[str]:
    """Yield the peers of these sockets in a table of the kernel; none for sockets without one."""
    for line in table.splitlines()[1:]:
        match = ROW.match(line)
        if match is not None and match[3] in inodes and int(match[2], 16):
            yield address(match[1])


def address(digits: str) -> str:
    """Return the address that the kernel prints as words of 32 bits in the machine's order, lowest byte first."""
    words = [bytes.fromhex(digits[at : at + 8])[::-1] for at in range(0, len(digits), 8)]
    found = ipaddress.ip_address(b"".join(words))
    mapped = found.ipv4_mapped if isinstance(found, ipaddress.IPv6Address) else None
    return str(mapped or found)


def _text(host: Host, path: str) -> str:
    try:
        return host.read(path)
    except OSError:
        return ""


def parse(host_name: str, phase: str, snapshots: Sequence[Snapshot], _subject: Subject) -> Evidence:
    """Return the peers with their ways as a fact, and the way that leads out farthest as two more."""
    ways: dict[str, tuple[str, str]] = {}
    for one in snapshots:
        found = one.raw.get(WAYS)
        for peer, pair in found.items() if isinstance(found, Mapping) else ():
            if isinstance(pair, list | tuple) and len(pair) == len(("interface", "kind")) and str(pair[1]) in OUTWARD:
                ways[str(peer)] = (str(pair[0]), str(pair[1]))
    if not ways:
        return Evidence()
    interface, kind = min(ways.values(), key=lambda pair: OUTWARD.index(pair[1]))
    words = ", ".join(f"{peer} through {name} ({of})" for peer, (name, of) in ways.items())
    facts = {f"{INSIDE_FACT}{phase}": interface, f"{INSIDE_FACT}{phase}.kind": kind, f"{PEERS_FACT}{phase}": words}
    return Evidence(facts=tuple(fact(host_name, key, value) for key, value in facts.items()))


def fact(host: str, key: str, value: str) -> Fact:
    """Return what holds of this trial alone: a port and an interface of a namespace have another name in each."""
    return Fact(host=host, when=When.BEFORE, key=key, value=value, fact_class=FactClass.IDENTITY)


OBSERVER = Observer(
    name="sockets",
    gives=("fact:target.server.inside.*", "fact:sockets.peers.*"),
    sources=(
        Source(
            keys="fact:sockets.peers.*",
            words="the peers of the load's own sockets, and the way to each",
            way='observers = ["*", "sockets"] in the experiment; assay stat asks where a path is claimed',
        ),
    ),
    cost="420 µs CPU per look (one process with one connection), without the 1.5 ms of `ip route get` for each peer",
    available=needs_file("/proc/self/net/tcp", "sockets are invisible"),
    read=read,
    parse=parse,
    every_s=0.5,
    on_request=True,
)
