"""The sockets of processes: who is at the other end, and which processes are the ends of a network load."""

from __future__ import annotations

import functools
import re
from collections.abc import Collection, Iterable, Iterator

from assay.catalogue import Host, SocketPeer
from assay.frozen import dataclass
from assay.machine import fuse
from assay.machine.server import ServerInterface, family, network_of, pids, way
from assay.records import Subject

TABLES = ("tcp", "tcp6", "udp", "udp6")
BY_KERNEL = frozenset(("nfs", "nfs4", "cifs", "smb3", "9p", "ceph", "afs", "lustre", "beegfs", "orangefs", "gfs2", "ocfs2"))
"""File systems whose connections are the kernel's: no process has their sockets."""
MOST_WAYS = 256
TRACKED, MOST_TRACKED = "/proc/sys/net/netfilter/nf_conntrack_count", 5_000
"""So many connections are looked through: each is a line of 200 characters."""
SOCKET = re.compile(r"socket:\[(\d+)\]$")
ROW = re.compile(r"\s*\d+: ([0-9A-F]+):\S+ ([0-9A-F]+):([0-9A-F]{4}) [0-9A-F]{2} \S+ \S+ \S+ +\d+ +\d+ (\d+) ")
TRACKED_END = re.compile(r"\b(?:src|dst|sport|dport)=(\S+)")
"""Of an entry of connection tracking: both ends as the connection has them, then as the answers have them, each end a word."""


def is_over_network(subject: Subject) -> bool:
    """Return True if the load reaches a server by an address, or this host has such a server."""
    return bool(subject.reaches) or any(node.address for node in subject.server)


def ends(host: Host, subject: Subject, servers: Iterable[int] | None = None) -> tuple[int, ...]:
    """Return the processes of both ends on this host: the load's with all that they started, then those of a named server.

    `servers`: those of the server, where they are known.
    """
    load = family(host, subject.pids) if subject.pids else ()
    return tuple(dict.fromkeys((*load, *(pids(host, subject.server) if servers is None else servers))))


def clients(host: Host, subject: Subject) -> tuple[int, ...]:
    """Return the processes of the load with all that they started, and the programs of the mounts that it works on."""
    paths = [one for one in subject.endpoints if one.startswith("/")]
    return tuple(dict.fromkeys((*family(host, subject.pids), *(fuse.programs_of(host, paths) if paths else ()))))


@dataclass(frozen=True, kw_only=True)
class NetworkSpace:
    """The processes of the ends in one network namespace."""

    name: str
    """`net:[4026531840]`."""
    pids: tuple[int, ...]


def spaces(host: Host, processes: Iterable[int]) -> tuple[NetworkSpace, ...]:
    """Return the network namespaces of processes, in the order of their first process; ended processes are left out."""
    found: dict[str, list[int]] = {}
    for pid in processes:
        if name := network_of(host, pid):
            found.setdefault(name, []).append(pid)
    return tuple(NetworkSpace(name=name, pids=tuple(each)) for name, each in found.items())


def peers(host: Host, space: NetworkSpace, sockets: Collection[str] | None = None) -> tuple[SocketPeer, ...]:
    """Return where the connected sockets of the processes in a namespace lead; `sockets`: as already read."""
    inodes = {inode for pid in space.pids for inode in sockets_of(host, pid)} if sockets is None else set(sockets)
    if not inodes:
        return ()
    found = _peers_of_sockets(host, space.pids)
    if found is not None:
        return found
    tables = [text for name in TABLES if (text := _text(host, f"/proc/{space.pids[0]}/net/{name}"))]
    return tuple(dict.fromkeys(peer for text in tables for peer in peers_in(text, inodes)))


def _peers_of_sockets(host: Host, processes: Iterable[int]) -> tuple[SocketPeer, ...] | None:
    """Return the peers as the sockets themselves name them; None where they cannot be asked.

    The tables are those of all connections: the kernel searches the place of each possible one, which takes milliseconds.
    """
    if host.far or host.syscalls is None:
        return None
    found: list[SocketPeer] = []
    for pid in processes:
        try:
            found += host.syscalls.socket_peers(pid)
        except (ProcessLookupError, FileNotFoundError):  # it has ended
            continue
        except OSError:
            return None
    return tuple(dict.fromkeys(found))


@functools.lru_cache(maxsize=16)
def _ways(_host: Host) -> dict[tuple[tuple[int, ...], str, SocketPeer], ServerInterface]:
    """Return the ways that were found on a host before, by load, namespace and ends."""
    return {}


def way_of(host: Host, load: tuple[int, ...], space: NetworkSpace, to: SocketPeer) -> ServerInterface | None:
    """Return the way from a namespace to an address, asked once for a load: it takes two commands, and clients come and go."""
    known, key = _ways(host), (load, space.name, to)
    if key not in known:
        found = way(host, to.peer, inside(host, space), own=to.own, device=to.device)
        if found is None:
            return None
        if len(known) >= MOST_WAYS:
            known.clear()
        known[key] = found
    return known[key]


def inside(host: Host, space: NetworkSpace) -> int | None:
    """Return a process by which a namespace is entered; None for the lab's own."""
    return None if space.name == network_of(host, "self") else space.pids[0]


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


def answering(host: Host, space: NetworkSpace) -> dict[tuple[str, int, str, int], tuple[str, int]]:
    """Return who answers each tracked connection of a namespace: address and port of both ends -> those of the one that answers.

    Nobody is known where there are very many, and to users who may not read the table (root may).
    """
    if inside(host, space) is None and int(_text(host, TRACKED).strip() or 0) > MOST_TRACKED:
        return {}
    every = (TRACKED_END.findall(line) for line in _text(host, f"/proc/{space.pids[0]}/net/nf_conntrack").splitlines())
    return {
        (_canonical(words[0]), int(words[2]), _canonical(words[1]), int(words[3])): (_canonical(words[4]), int(words[6]))
        for words in every
        if len(words) == 2 * len(("src", "dst", "sport", "dport")) and all(words[at].isdecimal() for at in (2, 3, 6, 7))
    }


def translated(host: Host, space: NetworkSpace, to: SocketPeer) -> str | None:
    """Return who answers instead of a peer, by the connection tracking of the namespace (NAT); None without a translation.

    A redirection outside of the namespace, at a router, is not seen there.
    """
    known = answering(host, space)
    found = {real for (own, _, peer, _), (real, _) in known.items() if (own, peer) == (to.own, to.peer)}
    return found.pop() if len(found) == 1 and to.peer not in found else None


def _canonical(text: str) -> str:
    import ipaddress  # only where connections are tracked

    return str(ipaddress.ip_address(text)) if ":" in text else text


def peers_in(table: str, inodes: set[str]) -> Iterator[SocketPeer]:
    """Yield the peers of these sockets in a table of the kernel; none for sockets without one."""
    for line in table.splitlines()[1:]:
        match = ROW.match(line)
        if match is not None and match[4] in inodes and int(match[3], 16):
            yield SocketPeer(peer=address(match[2]), own=address(match[1]))


def address(digits: str) -> str:
    """Return the address that the kernel prints as words of 32 bits in the machine's order, lowest byte first."""
    import ipaddress  # only where the tables have to be read

    words = [bytes.fromhex(digits[at : at + 8])[::-1] for at in range(0, len(digits), 8)]
    found = ipaddress.ip_address(b"".join(words))
    mapped = found.ipv4_mapped if isinstance(found, ipaddress.IPv6Address) else None
    return str(mapped or found)


def _text(host: Host, path: str) -> str:
    try:
        return host.read(path)
    except OSError:
        return ""
