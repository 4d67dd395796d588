"""The server behind a target: its processes, its data files, and the network path of its clients."""

from __future__ import annotations

import contextlib
import itertools
import posixpath
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from assay.catalogue import Host
from assay.errors import AssayError, TrialError
from assay.frozen import dataclass
from assay.records import Server, ServerNode

MOST_FILES = 1024
"""Most data files of a server; with more, there is no evidence, because dirty data may be in the rest."""
DEEPEST = 8
"""Directory levels below a data directory."""
LOOPBACK = "lo"
LINK_LOCAL = ("fe8", "fe9", "fea", "feb")
"""How addresses begin that each interface may lead to (RFC 4291)."""
RATES = ("ceil", "rate", "bandwidth", "maxrate")
"""What shapers call their rate: htb and hfsc, tbf and netem, cake, fq (of each connection)."""
WITHOUT_CLASSES = frozenset(
    {"noqueue", "pfifo", "bfifo", "pfifo_fast", "fq", "fq_codel", "fq_pie", "codel", "cake", "pie", "red", "ingress", "clsact"}
)
"""Queueing disciplines that have no classes with rates of their own."""
WITH_WAYS = frozenset({"ingress", "clsact"})
"""Those that have filters on what comes in and goes out."""
CONTROLLERS = frozenset(
    {
        *("blkio", "cgroup", "cpu", "cpuacct", "cpuset", "devices", "freezer", "hugetlb", "io", "irq", "memory", "misc"),
        *("net_cls", "net_prio", "notify_on_release", "perf_event", "pids", "rdma", "tasks"),
    }
)
"""With what the names of the files in a control group begin."""


def pids(host: Host, nodes: Iterable[ServerNode]) -> tuple[int, ...]:
    """Return the running processes of a server's nodes: from pid files and control groups, with all their children.

    Groups below a named group belong to it.
    """
    found: dict[int, None] = {}
    waiting = [pid for node in nodes for pid in _named(host, node) if pid]
    while waiting:
        pid = waiting.pop(0)
        if pid not in found and host.exists(f"/proc/{pid}"):
            found[pid] = None
            waiting += _children(host, pid)
    return tuple(found)


def named(host: Host, nodes: Iterable[ServerNode]) -> tuple[int, ...]:
    """Return the processes that pid files and control groups name, also those that /proc does not show."""
    return tuple(dict.fromkeys(pid for node in nodes for pid in _named(host, node) if pid))


def _named(host: Host, node: ServerNode) -> Iterator[int]:
    if node.pid_file:
        yield _pid_of(host, node.pid_file)
    if node.cgroup:
        yield from in_group(host, node.cgroup)


def in_group(host: Host, group: str, depth: int = DEEPEST) -> Iterator[int]:
    """Yield the processes of a control group and of the groups below it."""
    yield from (int(word) for word in _text(host, posixpath.join(group, "cgroup.procs")).split() if word.isdigit())
    for name in host.list(group) if depth else ():
        if name.partition(".")[0] not in CONTROLLERS:
            yield from in_group(host, posixpath.join(group, name), depth - 1)


def _pid_of(host: Host, path: str) -> int:
    word = (_text(host, path).split() or [""])[0]
    return int(word) if word.isdigit() else 0


def _children(host: Host, pid: int | str) -> list[int]:
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


def data_files(host: Host, nodes: Iterable[ServerNode]) -> tuple[str, ...]:
    """Return the existing data files of a server's nodes, each once; one more than MOST_FILES if there are too many."""
    every = dict.fromkeys(path for node in nodes for path in node.data)
    if host.far:
        return _found(host, tuple(every))
    return tuple(itertools.islice((file for path in every for file in _files(host, path, DEEPEST)), MOST_FILES + 1))


def _found(host: Host, paths: Sequence[str]) -> tuple[str, ...]:
    """The same by one command: each directory that is listed would be a trip."""
    if not paths:
        return ()
    argv = ("find", *paths, "-maxdepth", str(DEEPEST), "-type", "f", "-print0")
    found = host.run(argv, check=False).stdout.split("\0")
    return tuple(filter(None, found[: MOST_FILES + 2]))[: MOST_FILES + 1]


def _files(host: Host, path: str, depth: int) -> Iterator[str]:
    """Yield the files at or below a path; an empty directory is yielded too, which is harmless."""
    names = host.list(path) if depth else ()
    if not names and host.exists(path):
        yield path
    for name in names:
        yield from _files(host, posixpath.join(path, name), depth - 1)


def shares_network(host: Host, pid: int) -> bool:
    """Return True if a process is in the lab's own network namespace."""
    return network_of(host, "self") == network_of(host, pid)


def network_of(host: Host, pid: int | str) -> str:
    """Return the identity of a process's network namespace; empty where it has ended or is not ours to look at."""
    try:
        return posixpath.basename(host.real_path(f"/proc/{pid}/ns/net"))
    except OSError:
        return ""


def elsewhere(host: Host, pids: Iterable[int]) -> int | None:
    """Return one of these processes or their descendants whose network namespace is not the lab's; None without one."""
    own = network_of(host, "self")
    return next((pid for pid in family(host, pids) if network_of(host, pid) not in ("", own, "net")), None)


def family(host: Host, pids: Iterable[int]) -> Iterator[int]:
    """Yield these processes and all their descendants, parents first; without any those that the lab itself started."""
    waiting, seen = [*pids] or _children(host, "self"), set[int]()
    while waiting:
        pid = waiting.pop(0)
        if pid in seen:
            continue
        seen.add(pid)
        yield pid
        waiting += _children(host, pid)


@dataclass(frozen=True, kw_only=True)
class ServerInterface:
    """The interface through which a host, or one of its network namespaces, reaches an address."""

    interface: str
    kind: str
    """`loopback`, `physical` (with a device, also a virtual machine's), `virtual` (veth, bridge, bond, tunnel) or `unknown`.

    `unknown`: virtual, and the address is none of this machine's namespaces that can be seen.
    """
    router: str | None = None
    """The address of the first router on the way; None where the interface's own network has the address."""


def way(
    host: Host, address: str, pid: int | None = None, namespace: str | None = None, *, own: str = "", device: str = ""
) -> ServerInterface | None:
    """Return the way to an address from the lab's network namespace, a process's, or a file's; None without a route.

    The kernel is asked, rules of policy routing included, also those about a socket's `own` address. One that is bound to a
    `device` leaves by it. A link-local address without one (or `fe80::1%eth0`) has no way. A machine's own address always leads
    to `lo`.
    """
    address, _, scope = address.partition("%")
    device = device or scope
    if not device and address.lower().startswith(LINK_LOCAL):
        return None
    inside = _inside_of(pid) if namespace is None else ["nsenter", f"--net={namespace}", "--"]
    socket = [*(("from", own) if own else ()), *(("oif", device) if device else ())]
    route = _output(host, [*inside, "ip", "route", "get", address, *socket])
    match, router = re.search(r"\bdev (\S+)", route), re.search(r"\bvia (?:inet6? )?(\S+)", route)
    if match is None:
        return None
    found = _kind_inside(host, inside, match[1]) if inside else kind(host, match[1])
    leaves = found == "virtual" and not host.far and not is_here(host, address)
    return ServerInterface(interface=match[1], kind="unknown" if leaves else found, router=router[1] if router else None)


def is_here(host: Host, address: str) -> bool:
    """Return whether an address is one of this machine, in whichever of its network namespaces that has a process we see."""
    tables = {network_of(host, pid): pid for pid in host.list("/proc") if pid.isdigit()}
    return any(is_own_address(host, pid, address) for name, pid in tables.items() if name)


def is_own_address(host: Host, pid: str, address: str) -> bool:
    """Return whether the network namespace of a process has an address."""
    return address in _own_addresses(host, pid)


def _own_addresses(host: Host, pid: str) -> set[str]:
    """Return the addresses of a process's network namespace."""
    import ipaddress  # most ways lead through a device

    local = set(re.findall(r"\|-- ([0-9.]+)\n\s+/32 host LOCAL", _text(host, f"/proc/{pid}/net/fib_trie")))
    for line in _text(host, f"/proc/{pid}/net/if_inet6").splitlines():
        local.add(str(ipaddress.IPv6Address(int(line.split()[0], 16))))
    return local


def _inside_of(pid: int | None) -> list[str]:
    return [] if pid is None else ["nsenter", "-t", str(pid), "-n"]


def _output(host: Host, argv: list[str]) -> str:
    with contextlib.suppress(AssayError, OSError):
        return host.run(argv, check=False).stdout
    return ""


def kind(host: Host, interface: str) -> str:
    """Return the kind of an interface of the lab's network namespace."""
    if interface == LOOPBACK:
        return "loopback"
    return "physical" if host.exists(f"/sys/class/net/{interface}/device") else "virtual"


def _kind_inside(host: Host, inside: list[str], interface: str) -> str:
    """Return the same of another namespace, whose interfaces are not in our /sys: a device has a parent."""
    if interface == LOOPBACK:
        return "loopback"
    shown = _entries(_output(host, [*inside, "ip", "-j", "-d", "link", "show", "dev", interface]))
    return "physical" if any("parentdev" in one for one in shown) else "virtual"


def facts(host: Host, server: Server | None, namespace: str | None = None) -> tuple[tuple[str, str], ...]:
    """Return the way from this host to a server: the interface, its kind, and the lowest rate of its links and shapers.

    On a host with a part of the server also the lowest rate of the server's own side, for clients of other hosts. With the
    namespace that all its clients are in: the way from there, for the lab's own routes lead elsewhere.
    """
    address = next((node.address for node in server.nodes if node.address), None) if server else None
    path = way(host, address, namespace=namespace) if address else None
    if server is None or path is None or address is None:
        return ()
    route = [("server.route", path.interface), ("server.route_kind", path.kind)]
    route += [("server.router", path.router)] if path.router is not None else []
    if namespace is not None:
        return tuple(route)
    own = [limit for node in server.on(host.name) for limit in _of_namespace(host, node)]
    limits = [*_link(host, path.interface), *_shapers(host, ["tc"], path.interface), *own]
    found = [*route, *_slowest("server.limit", limits)]
    if server.on(host.name):
        side = _holding(host, address)
        own += [*_link(host, side), *_shapers(host, ["tc"], side)] if side else []
        found += _slowest("server.own_limit", own)
    return tuple(found)


def _slowest(key: str, limits: list[tuple[int, str]]) -> list[tuple[str, str]]:
    if not limits:
        return []
    rate, name = min(limits)
    return [(f"{key}_bytes_per_s", str(rate)), (key, name)]


def _of_namespace(host: Host, node: ServerNode) -> Iterator[tuple[int, str]]:
    """Yield the rates of the shapers inside a node's network namespace, where it has one of its own."""
    running = pids(host, (node,))
    if running and not shares_network(host, running[0]):
        for name in _inside(host, running[0]):
            yield from _shapers(host, [*_inside_of(running[0]), "tc"], name)


def _holding(host: Host, address: str) -> str | None:
    """Return the interface of the lab's namespace that has an address of its own; None without one, and for the loopback."""
    shown = _entries(_output(host, ["ip", "-j", "address", "show", "to", address]))
    names = [str(one["ifname"]) for one in shown if "ifname" in one]
    return next((name for name in names if name != LOOPBACK), None)


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
    """Yield the rates of the queueing disciplines and classes of an interface in bytes/s, and of where filters redirect to."""
    queues = _shown(host, tc, "qdisc", interface)
    kinds = {str(one.get("kind")) for one in queues}
    yield from _rates(queues, interface)
    if not queues or kinds - WITHOUT_CLASSES:
        yield from _rates(_shown(host, tc, "class", interface), interface)
    if not queues or kinds & WITH_WAYS:
        yield from _redirected(host, tc, interface)


def _shown(host: Host, tc: list[str], what: str, interface: str) -> list[dict[str, object]]:
    return _entries(_output(host, [*tc, "-j", what, "show", "dev", interface]))


def _rates(entries: Iterable[Mapping[str, object]], interface: str) -> Iterator[tuple[int, str]]:
    for entry in entries:
        options = entry.get("options")
        rates = options if isinstance(options, dict) and options else entry
        rate = next((found for name in RATES if (found := rates.get(name))), None)
        rate = rate.get("rate") if isinstance(rate, dict) else rate  # of netem
        if isinstance(rate, int):
            shaper = entry.get("kind") or entry.get("class")
            yield rate, f"{shaper} on {interface}, {rate * 8 / 1e6:g} Mbit/s"


def _redirected(host: Host, tc: list[str], interface: str) -> Iterator[tuple[int, str]]:
    """Yield the rates of shapers on devices that what an interface receives or sends is redirected to (ifb)."""
    for way in ("ingress", "egress"):
        shown = _output(host, [*tc, "filter", "show", "dev", interface, way])
        for name in re.findall(r"mirred \(Egress Redirect to device (\S+?)\)", shown):
            queues = (_shown(host, tc, what, name) for what in ("qdisc", "class"))
            yield from (rate for one in queues for rate in _rates(one, name))


def _entries(text: str) -> list[dict[str, object]]:
    """Return the objects of a JSON list; empty for anything else."""
    import json  # processes of a family are looked for by whoever starts fast

    with contextlib.suppress(ValueError):
        found = json.loads(text)
        return [entry for entry in found if isinstance(entry, dict)] if isinstance(found, list) else []
    return []
