"""Lists the addresses to which the load's own sockets are connected, and the route of the kernel to each.

Sources: /proc/PID/fd of the load's processes and of all that they started; getpeername(2) of each socket (pidfd_getfd(2)), or
where that is refused /proc/PID/net/tcp, tcp6, udp and udp6 of each of their network namespaces. For each read of such a table the
kernel walks all its buckets (3 ms for 24 GiB of memory). So where a process has the same sockets as before, and peers are
known, they are asked again only after some seconds. `ip route get` and `ip link show` run once for each peer of a load, in
that namespace (nsenter) where it is not the lab's.
The route is asked for the socket's own address and interface. Where /proc/PID/net/nf_conntrack has a translation (NAT), it is
asked for the address that answers. A connection that begins and ends between two looks is not seen.
Listening sockets and unconnected datagram sockets have no peer.
Where no socket has a peer with an address, /proc/PID/net/unix tells whether one is a connection within the machine.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence

from assay.catalogue import Evidence, Host, Observer, SocketPeer, Source, needs_file
from assay.evidence.served import A_UNIX_SOCKET, INSIDE_FACT, PEERS_FACT
from assay.frozen import dataclass
from assay.machine.peers import NetworkSpace, inside, peers, sockets_of, spaces, translated, way_of
from assay.machine.server import family
from assay.records import Fact, FactClass, Snapshot, Subject, When

WAYS, UNIX = "ways", "unix"
OWN, APART = "own", "apart"
"""Whether the sockets are in the network namespace of the lab's own observers, whose interfaces they count."""
OUTWARD = ("physical", "unknown", "virtual", "loopback")
"""Kinds of interfaces, those that lead out of the machine first: a name server on the loopback is no peer of the load's data."""
MOST_PEERS = 16
TYPE, STATE, INODE, STREAM, CONNECTED = 4, 5, 6, "0001", "03"
"""Columns of /proc/net/unix, and what they have of a connection."""
REMEMBERED_NS, MOST_REMEMBERED = 4_000_000_000, 64


@dataclass(frozen=True, kw_only=True)
class KnownPeers:
    """The peers that the sockets of a network namespace had when they were asked."""

    at_ns: int
    sockets: frozenset[str]
    peers: tuple[tuple[SocketPeer, str | None], ...]
    """With who answers instead of each, where a translation of addresses says so."""


def read(host: Host, subject: Subject) -> Mapping[str, object]:
    """Return address -> [interface, kind, whose namespace] of the peers of all sockets of the load; empty without one."""
    found: dict[str, list[str]] = {}
    for space in spaces(host, family(host, subject.pids)):
        for to, real in _peers(host, space)[:MOST_PEERS]:
            path = way_of(host, subject.pids, space, to if real is None else SocketPeer(real))
            if path is None:
                continue
            told = [path.interface, path.kind, OWN if inside(host, space) is None else APART]
            words = to.peer if real is None else f"{to.peer} (NAT to {real})"
            found[words if found.get(words, told) == told else f"{words} from {to.own}"] = told
    if found:
        return {WAYS: found}
    return {UNIX: True} if any(_unix(host, pid) for pid in family(host, subject.pids)) else {}


def _unix(host: Host, pid: int) -> bool:
    """Return whether a process has a connected stream socket of the machine's own kind."""
    mine = set(sockets_of(host, pid))
    rows = (line.split() for line in host.read(f"/proc/{pid}/net/unix").splitlines()[1:]) if mine else ()
    return any(len(row) > INODE and row[TYPE] == STREAM and row[STATE] == CONNECTED and row[INODE] in mine for row in rows)


@functools.lru_cache(maxsize=16)
def _memory(_host: Host) -> dict[NetworkSpace, KnownPeers]:
    """Return what was read on a host before, by namespace and processes."""
    return {}


def _peers(host: Host, space: NetworkSpace) -> tuple[tuple[SocketPeer, str | None], ...]:
    """Return the peers of the sockets in a namespace, remembered for a while where the sockets are the same."""
    memory, now = _memory(host), host.monotonic_ns()
    sockets = frozenset(inode for pid in space.pids for inode in sockets_of(host, pid))
    known = memory.get(space)
    if known is not None and known.peers and known.sockets == sockets and now - known.at_ns < REMEMBERED_NS:
        return known.peers
    if len(memory) >= MOST_REMEMBERED:
        memory.clear()
    found = tuple((to, translated(host, space, to)) for to in peers(host, space, sockets))
    memory[space] = KnownPeers(at_ns=now, sockets=sockets, peers=found)
    return memory[space].peers


def parse(host_name: str, phase: str, snapshots: Sequence[Snapshot], _subject: Subject) -> Evidence:
    """Return the peers with their ways as a fact, and the way that leads out farthest as two more."""
    ways: dict[str, tuple[str, str, str]] = {}
    for one in snapshots:
        found = one.raw.get(WAYS)
        for peer, pair in found.items() if isinstance(found, Mapping) else ():
            if isinstance(pair, list | tuple) and len(pair) == len(("interface", "kind", OWN)) and str(pair[1]) in OUTWARD:
                ways[str(peer)] = (str(pair[0]), str(pair[1]), str(pair[2]))
    if not ways:
        unix = any(one.raw.get(UNIX) is True for one in snapshots)
        return Evidence(facts=(fact(host_name, f"{PEERS_FACT}{phase}", A_UNIX_SOCKET),) if unix else ())
    interface, kind, whose = min(ways.values(), key=lambda pair: OUTWARD.index(pair[1]))
    words = ", ".join(f"{peer} through {name} ({of})" for peer, (name, of, _) in ways.items())
    way = f"{INSIDE_FACT}{phase}"
    facts = {way: interface, f"{way}.kind": kind, f"{way}.space": whose, f"{PEERS_FACT}{phase}": words}
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
            way='a claim of a network path, or observers = ["*", "sockets"] in the experiment',
        ),
    ),
    cost="250 µs CPU per look (one connection), without `ip route get` (4 ms a peer, once)",
    available=needs_file("/proc/self/net/tcp", "sockets are invisible"),
    read=read,
    parse=parse,
    every_s=0.5,
    on_request=True,
)
