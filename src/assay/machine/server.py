"""The server behind a target, as a machine shows it: its processes, its data files, and which way its clients' bytes go."""

from __future__ import annotations

import contextlib
import itertools
import json
import posixpath
import re
from collections.abc import Iterator

from assay.catalogue import Host
from assay.errors import AssayError, TrialError
from assay.records import Server, ServerNode

MOST_FILES = 1024
"""Data files that are looked at; of more nothing is said, since what is dirty may be in the others."""
DEEPEST = 8
"""Directories below a data directory that are walked into."""
LOOPBACK = "lo"


def pids(host: Host, server: ServerNode) -> tuple[int, ...]:
    """The processes of a server that run now: the one in its pid file, those of its control group, and all their children."""
    named = [_pid_of(host, server.pid_file)] if server.pid_file else []
    if server.cgroup:
        named += [int(word) for word in _text(host, posixpath.join(server.cgroup, "cgroup.procs")).split() if word.isdigit()]
    found: dict[int, None] = {}
    waiting = [pid for pid in named if pid]
    while waiting:
        pid = waiting.pop(0)
        if pid not in found and host.exists(f"/proc/{pid}"):
            found[pid] = None
            waiting += _children(host, pid)
    return tuple(found)


def _pid_of(host: Host, path: str) -> int:
    word = (_text(host, path).split() or [""])[0]
    return int(word) if word.isdigit() else 0


def _children(host: Host, pid: int) -> list[int]:
    tasks = host.list(f"/proc/{pid}/task")
    return [int(word) for task in tasks for word in _text(host, f"/proc/{pid}/task/{task}/children").split()]


def _text(host: Host, path: str) -> str:
    try:
        return host.read(path)
    except OSError:
        return ""


def address(host: Host, told: str) -> str:
    """An address as it is told, or what the file holds that is told instead. Raises TrialError where that cannot be read."""
    if not told.startswith("/"):
        return told
    found = _text(host, told).strip()
    if not found:
        raise TrialError(f"found no address in {told}; expected the file in which prepare leaves it (server.address)")
    return found


def data_files(host: Host, server: ServerNode) -> tuple[str, ...]:
    """The server's data files that are there now; one more than MOST_FILES where there are too many."""
    every = (file for path in server.data for file in _files(host, path, DEEPEST))
    return tuple(itertools.islice(every, MOST_FILES + 1))


def _files(host: Host, path: str, depth: int) -> Iterator[str]:
    """The files at or below a path; an empty directory looks like a file that cannot be asked, which does no harm."""
    names = host.list(path) if depth else ()
    if not names and host.exists(path):
        yield path
    for name in names:
        yield from _files(host, posixpath.join(path, name), depth - 1)


def shares_network(host: Host, pid: int) -> bool:
    """Whether a process is in the network namespace of the lab itself."""
    own, other = (posixpath.basename(host.real_path(f"/proc/{who}/ns/net")) for who in ("self", pid))
    return own == other


def way(host: Host, server: ServerNode) -> str | None:
    """The interface of this host through which clients reach the server's address; None without one, or without a route."""
    return _route(host, server.address) if server.address else None


def _route(host: Host, address: str) -> str | None:
    """`ip route get`: a machine's own address is `local … dev lo`, whichever interface it belongs to."""
    with contextlib.suppress(AssayError):
        match = re.search(r"\bdev (\S+)", host.run(["ip", "route", "get", address], check=False).stdout)
        return match[1] if match else None
    return None


def kind(host: Host, interface: str) -> str:
    """`loopback`, `physical` (a device stands behind it, a virtual machine's too) or `virtual` (veth, bridge, tunnel)."""
    if interface == LOOPBACK:
        return "loopback"
    return "physical" if host.exists(f"/sys/class/net/{interface}/device") else "virtual"


def facts(host: Host, server: Server | None) -> tuple[tuple[str, str], ...]:
    """How its clients reach the server: the interface, its kind, and the least that a link or a shaper lets pass each way."""
    node = server.on(host.name) if server else None
    interface = way(host, node) if node else None
    if node is None or interface is None:
        return ()
    limits = [*_link(host, interface), *_shapers(host, ["tc"], interface)]
    running = pids(host, node)
    if running and not shares_network(host, running[0]):
        inside = ["nsenter", "-t", str(running[0]), "-n", "tc"]
        limits += [limit for name in _inside(host, running[0]) for limit in _shapers(host, inside, name)]
    found = [("server.route", interface), ("server.route_kind", kind(host, interface))]
    if limits:
        slowest = min(limits)
        found += [("server.limit_bytes_per_s", str(slowest[0])), ("server.limit", slowest[1])]
    return tuple(found)


def _inside(host: Host, pid: int) -> tuple[str, ...]:
    """The interfaces of a process's own network namespace, without its loopback."""
    names = (line.partition(":")[0].strip() for line in _text(host, f"/proc/{pid}/net/dev").splitlines()[2:])
    return tuple(name for name in names if name != LOOPBACK)


def _link(host: Host, interface: str) -> Iterator[tuple[int, str]]:
    """The negotiated speed of a link with a device behind it; a virtual one invents its own."""
    speed = _text(host, f"/sys/class/net/{interface}/speed").strip()
    if kind(host, interface) == "physical" and speed.isdigit() and int(speed):
        yield int(speed) * 125_000, f"link of {interface}, {speed} Mbit/s"


def _shapers(host: Host, tc: list[str], interface: str) -> Iterator[tuple[int, str]]:
    """Rates of the queueing disciplines and classes of an interface, in bytes/s."""
    for what in ("qdisc", "class"):
        said = ""
        with contextlib.suppress(AssayError):
            said = host.run([*tc, "-j", what, "show", "dev", interface], check=False).stdout
        for entry in _entries(said):
            options = entry.get("options")
            told = options if isinstance(options, dict) and options else entry
            rate = told.get("ceil") or told.get("rate")
            if isinstance(rate, int):
                shaper = entry.get("kind") or entry.get("class")
                yield rate, f"{shaper} on {interface}, {rate * 8 / 1e6:g} Mbit/s"


def _entries(text: str) -> list[dict[str, object]]:
    """The objects of a JSON list; none where it is something else."""
    with contextlib.suppress(ValueError):
        found = json.loads(text)
        return [entry for entry in found if isinstance(entry, dict)] if isinstance(found, list) else []
    return []
