"""A program between clients and their server, all on one machine: a proxy, whose work is in no account of the server.

It is proved by two connections: one of its sockets is the other end of a client's, another the other end of one of the server's.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from assay.catalogue import Host
from assay.machine.peers import sockets_of, spaces

ESTABLISHED = re.compile(r"\s*\d+: ([0-9A-F]+:[0-9A-F]{4}) ([0-9A-F]+:[0-9A-F]{4}) 01 \S+ \S+ \S+ +\d+ +\d+ (\d+) ")
TABLES = ("tcp", "tcp6")
MAPPED = "0000000000000000FFFF0000"
"""Before an IPv4 address in the table of IPv6."""
MOST_REMEMBERED = 64


class Connection(NamedTuple):
    """Both ends of a TCP connection as the kernel prints them."""

    local: str
    remote: str


Tables = dict[tuple[str, str], dict[str, Connection]]
"""(network namespace, table) -> inode of a socket -> its connection."""


@functools.lru_cache(maxsize=16)
def _found(_host: Host) -> dict[tuple[tuple[str, ...], tuple[int, ...]], str]:
    """Return what was found on a host before, by the clients' endpoints and the server; empty words where nobody is between."""
    return {}


def between(host: Host, load: tuple[int, ...], server: tuple[int, ...], endpoints: tuple[str, ...]) -> str:
    """Return `haproxy (4711)` for a program between these processes; empty where there is none, or no connection to see.

    It is looked for once for each server and the endpoints of its clients, until connections of both were seen: the tables of the
    kernel take milliseconds. A connection that the server has not accepted yet is nobody's.
    """
    known, key = _found(host), (endpoints, server[:1])
    if key not in known:
        tables: Tables = {}
        clients = {one.local for one in _established(host, load, tables)}
        served = {one.remote for one in _established(host, server, tables)} if clients else set()
        if not served:
            return ""
        if len(known) >= MOST_REMEMBERED:
            known.clear()
        known[key] = "" if clients & served else _who(host, clients, served, {*load, *server}, tables)
    return known[key]


def _who(host: Host, clients: set[str], served: set[str], ends: set[int], tables: Tables) -> str:
    """Return the program at the other end of a load's connections that is a client of the server itself; `ends` are both."""
    for pid in (int(name) for name in host.list("/proc") if name.isdigit() and int(name) not in ends):
        own = _established(host, (pid,), tables)
        if {one.remote for one in own} & clients and {one.local for one in own} & served:
            return f"{host.read(f'/proc/{pid}/comm').strip()} ({pid})"
    return ""


def _established(host: Host, processes: Iterable[int], tables: Tables) -> set[Connection]:
    """Return the TCP connections of processes; those that have ended have none. `tables`: what was read before.

    A table takes the kernel milliseconds: that of IPv6 is read only where that of IPv4 has no connection of theirs.
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
    """Yield the TCP connections of a table by the inodes of their sockets."""
    try:
        text = host.read(path)
    except OSError:
        return
    for line in text.splitlines()[1:]:
        if match := ESTABLISHED.match(line):
            yield match[3], Connection(match[1].removeprefix(MAPPED), match[2].removeprefix(MAPPED))
