"""Programs that serve a server's clients, too, all on one machine: a proxy before it, or one that listens on the same port.

A proxy is proved by two connections: one of its sockets is the other end of a client's, another the other end of one of the
server's. A program beside the server is the other end of a client's connection to the port that the server listens on
(SO_REUSEPORT, or a listening socket that both have).
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from assay.catalogue import Host
from assay.machine.peers import sockets_of, spaces

ROW = re.compile(r"\s*\d+: ([0-9A-F]+:[0-9A-F]{4}) ([0-9A-F]+:[0-9A-F]{4}) (01|0A) \S+ \S+ \S+ +\d+ +\d+ (\d+) ")
TABLES = ("tcp", "tcp6")
MAPPED = "0000000000000000FFFF0000"
"""Before an IPv4 address in the table of IPv6."""
MOST_REMEMBERED = 64
MOST_TRIES = 9
"""Looks that find clients and no connection of theirs to the server."""
FEWEST_TRIES = 3
"""Looks that find sockets of the load in no table: of MPTCP, UDP or this machine."""
NOBODYS = "0"
"""The inode of a socket that was not accepted yet."""


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
    if not served and not left:
        known[key] = found, tries + 1
        return found
    direct = served & {one.local for one in clients}
    elsewhere = set() if direct else {one.local for one in clients} - left
    found = _who(host, elsewhere, left, (served, {*load, *server}), tables)
    known[key] = found, MOST_TRIES
    return found


def is_through(end: str, doors: set[str]) -> bool:
    """Return whether an address is one that is listened on, or its port is on all addresses."""
    port = end.rpartition(":")[2]
    return end in doors or any(door.rpartition(":")[2] == port and not door.rpartition(":")[0].strip("0") for door in doors)


def _who(host: Host, elsewhere: set[str], left: set[str], known: tuple[set[str], set[int]], tables: Tables) -> Others:
    """Return who is at the other ends of a load's connections: `elsewhere` to other ports than the server's, `left` to its own.

    `known`: the other ends of the server's connections, and the processes of both.
    """
    served, ends = known
    between = beside = ""
    for pid in (int(name) for name in host.list("/proc") if (elsewhere or left) and name.isdigit() and int(name) not in ends):
        own = _sockets(host, (pid,), tables)
        remote = {one.remote for one in own}
        if not between and remote & elsewhere and {one.local for one in own} & served:
            between = _name(host, pid)
        if not beside and remote & left:
            beside = _name(host, pid)
    return Others(between=between, beside=beside)


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
