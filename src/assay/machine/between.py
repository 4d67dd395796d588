"""Programs that serve a server's clients, all on one machine: a proxy before it, one on the same port, or another server.

A proxy is proved by two connections: one of its sockets is the other end of a client's, another the other end of one of the
server's. A program beside the server is the other end of a client's connection to the port that the server listens on
(SO_REUSEPORT, or a listening socket that both have). Another server in its place is the other end of a client's connection,
has none to the server, and no client has any. A connection to the server that no process holds is the kernel's (NFS, nbd): it may
be the load's.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from assay.catalogue import Host
from assay.machine.peers import address, answering, sockets_of, spaces

ROW = re.compile(r"\s*\d+: ([0-9A-F]+:[0-9A-F]{4}) ([0-9A-F]+:[0-9A-F]{4}) (01|0A) \S+ \S+ \S+ +\d+ +\d+ (\d+) ")
TABLES = ("tcp", "tcp6")
MAPPED = "0000000000000000FFFF0000"
"""Before an IPv4 address in the table of IPv6."""
MOST_REMEMBERED = 64
MOST_TRIES = 9
"""Looks that find clients and no connection of theirs to the server."""
FEWEST_TRIES = 3
"""Looks that find sockets of the load in no table: of MPTCP, UDP or this machine."""
MOST_ENDS = 32
NOBODYS = "0"
"""The inode of a socket that was not accepted yet."""


UNIX_FLAGS, UNIX_TYPE, UNIX_STATE, UNIX_INODE, UNIX_PATH = 3, 4, 5, 6, 7
UNIX_LISTENS, UNIX_STREAM, UNIX_CONNECTED = "00010000", "0001", "03"
"""Columns of /proc/net/unix, and what a listening and a connected stream have there; an accepted one has the listener's path."""


class Connection(NamedTuple):
    """Both ends of a TCP connection as the kernel prints them; `listens`: nobody is at the other one yet."""

    local: str
    remote: str
    listens: bool = False


class Others(NamedTuple):
    """Programs that work for a server's clients and are no part of it: `haproxy (4711)`; empty where there is none."""

    between: str = ""
    """Before the server, connected to it."""
    beside: str = ""
    """On the server's own port."""
    instead: str = ""
    """At the other end of the clients' connections, where the server has none of them and the program none to the server."""
    direct: str = ""
    """A connection of a client's whose other end is the server."""


Tables = dict[tuple[str, str], dict[str, Connection]]
"""(network namespace, table) -> inode of a socket -> its connection."""


@functools.lru_cache(maxsize=16)
def _found(_host: Host) -> dict[tuple[tuple[str, ...], tuple[int, ...]], tuple[Others, int]]:
    """Return what was found on a host before, and after how many tries, by the clients' endpoints and the server."""
    return {}


def others(host: Host, load: tuple[int, ...], server: tuple[int, ...], endpoints: tuple[str, ...]) -> Others:
    """Return the programs that serve these clients beside the server's processes.

    They are looked for once for each server and the endpoints of its clients, until connections of both were seen: the tables of
    the kernel take milliseconds. A connection that the server has not accepted yet is nobody's.
    """
    known, key = _found(host), (endpoints, server[:1])
    found, tries = known.get(key, (Others(), 0))
    if tries >= MOST_TRIES:
        return found
    tables: Tables = {}
    clients = {one for one in _sockets(host, load, tables) if not one.listens}
    if not clients:
        known[key] = found, tries + bool(tables) * MOST_TRIES // FEWEST_TRIES
        return found
    own = _sockets(host, server, tables)
    served, doors = {one.remote for one in own if not one.listens}, {one.local for one in own if one.listens}
    taken = {one.remote for rows in tables.values() for inode, one in rows.items() if inode != NOBODYS and not one.listens}
    left = {one.local for one in clients if one.local in taken - served and is_through(one.remote, doors)}
    if len(known) >= MOST_REMEMBERED:
        known.clear()
    direct = served & {one.local for one in clients}
    elsewhere = set() if direct else {one.local for one in clients} - left
    found = _who(host, elsewhere, left, (served, {*load, *server}), tables)._replace(direct=next(iter(direct), ""))
    if found.instead and _by_unix(host, server, has_doors=bool(doors)):
        found = found._replace(instead="")
    known[key] = found, MOST_TRIES if served or left else tries + 1
    return found


@functools.lru_cache(maxsize=16)
def _ends(_host: Host) -> dict[tuple[int, ...], tuple[tuple[str, ...], int]]:
    """Return the addresses that were found for processes of a host before, and after how many tries."""
    return {}


def doors(host: Host, server: tuple[int, ...]) -> tuple[str, ...]:
    """Return where a server listens, `10.0.0.5:80`; looked for until something was found."""
    return _remembered(host, server[:1], server, lambda one: printed(one.local) if one.listens else "")


def reached(host: Host, load: tuple[int, ...]) -> tuple[str, ...]:
    """Return the other ends of a load's connections, `10.0.0.5:80`; looked for until something was found.

    Of a connection whose addresses are translated on this host (NAT) it is the end that answers.
    """
    tracked = functools.cache(lambda: [answering(host, space) for space in spaces(host, load)])

    def end_of(one: Connection) -> str:
        ends = (*_parts(one.local), *_parts(one.remote))
        return "" if one.listens else _printed(*next((known[ends] for known in tracked() if ends in known), ends[2:]))

    return _remembered(host, load, load, end_of)


def _remembered(
    host: Host, key: tuple[int, ...], processes: tuple[int, ...], end_of: Callable[[Connection], str]
) -> tuple[str, ...]:
    """Return what is found in the sockets of these processes; `end_of` prints an end, or nothing."""
    known = _ends(host)
    found, tries = known.get(key, ((), 0))
    if found or tries >= MOST_TRIES:
        return found
    if len(known) >= MOST_REMEMBERED:
        known.clear()
    ends = sorted({end for one in _sockets(host, processes, {}) if (end := end_of(one))})
    known[key] = tuple(ends[:MOST_ENDS]), tries + 1
    return known[key][0]


def printed(end: str) -> str:
    """Return `10.0.0.5:80` of what the kernel prints."""
    return _printed(*_parts(end))


def _printed(words: str, port: int) -> str:
    return f"{f'[{words}]' if ':' in words else words}:{port}"


def _parts(end: str) -> tuple[str, int]:
    digits, _, port = end.rpartition(":")
    return address(digits), int(port, 16)


def is_through(end: str, doors: set[str]) -> bool:
    """Return whether an address is one that is listened on, or its port is on all addresses."""
    port = end.rpartition(":")[2]
    return end in doors or any(door.rpartition(":")[2] == port and not door.rpartition(":")[0].strip("0") for door in doors)


def _who(host: Host, elsewhere: set[str], left: set[str], known: tuple[set[str], set[int]], tables: Tables) -> Others:
    """Return who is at the other ends of a load's connections: `elsewhere` to other ports than the server's, `left` to its own.

    `known`: the other ends of the server's connections, and the processes of both.
    """
    served, ends = known
    between = beside = instead = ""
    held: set[str] = set()
    for pid in (int(name) for name in host.list("/proc") if (elsewhere or left) and name.isdigit()):
        own = _sockets(host, (pid,), tables)
        held |= {one.local for one in own}
        if pid in ends:
            continue
        remote = {one.remote for one in own}
        to_server = bool({one.local for one in own} & served)
        if not between and remote & elsewhere and to_server:
            between = _name(host, pid)
        if not instead and remote & elsewhere and not to_server:
            instead = _name(host, pid)
        if not beside and remote & left:
            beside = _name(host, pid)
    by_kernel = {one.local for rows in tables.values() for one in rows.values() if one.local in served} - held
    return Others(between=between, beside=beside, instead="" if between or beside or by_kernel else instead)


def _by_unix(host: Host, server: tuple[int, ...], *, has_doors: bool) -> bool:
    """Return whether a proxy may reach the server by a Unix socket: it has accepted one, or listens on nothing else."""
    mine = {inode for pid in server for inode in sockets_of(host, pid)}
    try:
        rows = [line.split() for line in host.read(f"/proc/{server[0]}/net/unix").splitlines()[1:]] if server else []
    except OSError:
        return False
    own = [row for row in rows if len(row) > UNIX_PATH and row[UNIX_INODE] in mine and row[UNIX_TYPE] == UNIX_STREAM]
    listens = any(row[UNIX_FLAGS] == UNIX_LISTENS for row in own)
    accepted = any(row[UNIX_FLAGS] != UNIX_LISTENS and row[UNIX_STATE] == UNIX_CONNECTED for row in own)
    return accepted or (listens and not has_doors)


def _name(host: Host, pid: int) -> str:
    return f"{host.read(f'/proc/{pid}/comm').strip()} ({pid})"


def _sockets(host: Host, processes: Iterable[int], tables: Tables) -> set[Connection]:
    """Return the TCP sockets of processes; those that have ended have none. `tables`: what was read before.

    A table takes the kernel milliseconds: that of IPv6 is read only where that of IPv4 has no socket of theirs.
    """
    found: set[Connection] = set()
    for space in spaces(host, processes):
        mine = {inode for pid in space.pids for inode in sockets_of(host, pid)}
        for name in TABLES if mine else ():
            if (space.name, name) not in tables:
                tables[space.name, name] = dict(_rows(host, f"/proc/{space.pids[0]}/net/{name}"))
            own = {one for inode in mine if (one := tables[space.name, name].get(inode)) is not None}
            found |= own
            if own:
                break
    return found


def _rows(host: Host, path: str) -> Iterator[tuple[str, Connection]]:
    """Yield the TCP sockets of a table, connected or listening, by their inodes."""
    try:
        text = host.read(path)
    except OSError:
        return
    for line in text.splitlines()[1:]:
        if match := ROW.match(line):
            ends = (match[1].removeprefix(MAPPED), match[2].removeprefix(MAPPED))
            yield match[4], Connection(*ends, listens=match[3] == "0A")
