"""The server behind a target: its processes, its data files, and the network path of its clients."""

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
"""Most data files of a server; with more, there is no evidence, because dirty data may be in the rest."""
DEEPEST = 8
"""Directory levels below a data directory."""
LOOPBACK = "lo"


def pids(host: Host, server: ServerNode) -> tuple[int, ...]:
    """Return the running processes of a server: from its pid file and control group, with all their children."""
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


def address(host: Host, text: str) -> str:
    """Return an address, or read it from a file if the text is a path. Raises TrialError if it cannot be read."""
    if not text.startswith("/"):
        return text
    found = _text(host, text).strip()
    if not found:
        raise TrialError(f"{text}: no address. `prepare` must write the server's address to this file (server.address).")
    return found


def data_files(host: Host, server: ServerNode) -> tuple[str, ...]:
    """Return the server's existing data files; one more than MOST_FILES if there are too many."""
    every = (file for path in server.data for file in _files(host, path, DEEPEST))
    return tuple(itertools.islice(every, MOST_FILES + 1))


def _files(host: Host, path: str, depth: int) -> Iterator[str]:
    """Yield the files at or below a path; an empty directory is yielded too, which is harmless."""
    names = host.list(path) if depth else ()
    if not names and host.exists(path):
        yield path
    for name in names:
        yield from _files(host, posixpath.join(path, name), depth - 1)


def shares_network(host: Host, pid: int) -> bool:
    """Return True if a process is in the lab's own network namespace."""
    own, other = (posixpath.basename(host.real_path(f"/proc/{who}/ns/net")) for who in ("self", pid))
    return own == other


def route(host: Host, server: ServerNode) -> str | None:
    """Return the interface through which clients reach the server; None without an address or a route."""
    return _interface_to(host, server.address) if server.address else None


def _interface_to(host: Host, address: str) -> str | None:
    """Ask `ip route get`; a machine's own address is always `local … dev lo`."""
    with contextlib.suppress(AssayError):
        match = re.search(r"\bdev (\S+)", host.run(["ip", "route", "get", address], check=False).stdout)
        return match[1] if match else None
    return None


def kind(host: Host, interface: str) -> str:
    """Return `loopback`, `physical` (with a device, also a virtual machine's) or `virtual` (veth, bridge, tunnel)."""
    if interface == LOOPBACK:
        return "loopback"
    return "physical" if host.exists(f"/sys/class/net/{interface}/device") else "virtual"


def facts(host: Host, server: Server | None) -> tuple[tuple[str, str], ...]:
    """Return the clients' path to the server: the interface, its kind, and the lowest rate of its links and shapers."""
    node = server.on(host.name) if server else None
    interface = route(host, node) if node else None
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
    """Return the interfaces of a process's network namespace, without the loopback."""
    names = (line.partition(":")[0].strip() for line in _text(host, f"/proc/{pid}/net/dev").splitlines()[2:])
    return tuple(name for name in names if name != LOOPBACK)


def _link(host: Host, interface: str) -> Iterator[tuple[int, str]]:
    """Yield the negotiated speed of a physical link; the speed of a virtual link is meaningless."""
    speed = _text(host, f"/sys/class/net/{interface}/speed").strip()
    if kind(host, interface) == "physical" and speed.isdigit() and int(speed):
        yield int(speed) * 125_000, f"link of {interface}, {speed} Mbit/s"


def _shapers(host: Host, tc: list[str], interface: str) -> Iterator[tuple[int, str]]:
    """Yield the rates of the queueing disciplines and classes of an interface in bytes/s."""
    for what in ("qdisc", "class"):
        output = ""
        with contextlib.suppress(AssayError):
            output = host.run([*tc, "-j", what, "show", "dev", interface], check=False).stdout
        for entry in _entries(output):
            options = entry.get("options")
            rates = options if isinstance(options, dict) and options else entry
            rate = rates.get("ceil") or rates.get("rate")
            if isinstance(rate, int):
                shaper = entry.get("kind") or entry.get("class")
                yield rate, f"{shaper} on {interface}, {rate * 8 / 1e6:g} Mbit/s"


def _entries(text: str) -> list[dict[str, object]]:
    """Return the objects of a JSON list; empty for anything else."""
    with contextlib.suppress(ValueError):
        found = json.loads(text)
        return [entry for entry in found if isinstance(entry, dict)] if isinstance(found, list) else []
    return []
