"""Records the network settings of each end of a load: kernel settings of its namespace, MTU and offloads of its interfaces.

Sources: /proc/sys/net in the namespace of each end (nsenter where it is not the lab's); `ip route get` for the peers of the ends'
own sockets, which leads to their interfaces; `ip -j link show` and `ethtool -k` for these. Without a connected socket the
interfaces are those of a namespace other than the lab's. Ends are numbered by their network namespace, the load's first.
A socket's own buffers and congestion control are in the result of the engine `net`.
"""

from __future__ import annotations

import contextlib
import functools
import json
import re
from collections.abc import Iterator, Mapping, Sequence

from assay.catalogue import Evidence, Host, Observer, Source, needs_file
from assay.errors import AssayError
from assay.machine.peers import NetworkSpace, ends, inside, is_over_network, peers, spaces
from assay.machine.server import LOOPBACK, way
from assay.records import Fact, FactClass, Snapshot, Subject, When

SYSCTL = "/proc/sys/"
SETTINGS = (
    *(f"net/core/{name}" for name in ("rmem_max", "rmem_default", "wmem_max", "wmem_default", "netdev_max_backlog")),
    *(f"net/core/{name}" for name in ("default_qdisc", "netdev_budget", "busy_poll", "busy_read")),
    *(f"net/ipv4/tcp_{name}" for name in ("rmem", "wmem", "mem", "congestion_control", "mtu_probing", "moderate_rcvbuf")),
    *(f"net/ipv4/tcp_{name}" for name in ("sack", "dsack", "timestamps", "window_scaling", "ecn", "recovery", "reordering")),
    *(f"net/ipv4/tcp_{name}" for name in ("slow_start_after_idle", "no_metrics_save", "notsent_lowat", "adv_win_scale")),
    "net/ipv4/udp_rmem_min",
    "net/mptcp/enabled",
)
NOISE = ("net.ipv4.tcp_mem",)
"""Set by the memory of the machine at its start."""
OFFLOADS = ("segmentation", "receive-offload", "checksumming", "scatter-gather")
SWITCH = re.compile(r"^\s*([a-z][a-z0-9-]+): (on|off)")
MOST = 4
"""Peers that are asked for, and interfaces, of each namespace."""


def read(host: Host, subject: Subject) -> Mapping[str, object]:
    """Return fact -> value of each end; empty for loads that reach no server by an address."""
    if not is_over_network(subject):
        return {}
    found: dict[str, object] = {}
    for number, space in enumerate(spaces(host, ends(host, subject))):
        pid = inside(host, space)
        enter = [] if pid is None else ["nsenter", "-t", str(pid), "-n"]
        of_end = {**kernel(host, enter, space.pids), **interfaces_of(host, space, pid, enter)}
        found |= {f"end.{number}.{key}": value for key, value in of_end.items()}
    return found


def kernel(host: Host, enter: Sequence[str], pids: tuple[int, ...]) -> dict[str, str]:
    """Return the settings of a network namespace, those that this kernel has."""
    if enter:
        lines = _output(host, (*enter, "grep", "-s", "", *(f"{SYSCTL}{name}" for name in SETTINGS)), pids).splitlines()
        pairs = (line.partition(":")[::2] for line in lines)
        return {_key(path.removeprefix(SYSCTL)): " ".join(text.split()) for path, text in pairs}
    found = {}
    for name in SETTINGS:
        with contextlib.suppress(OSError):
            found[_key(name)] = " ".join(host.read(f"{SYSCTL}{name}").split())
    return found


def _key(name: str) -> str:
    return f"sysctl.{name.replace('/', '.')}"


def interfaces_of(host: Host, space: NetworkSpace, pid: int | None, enter: Sequence[str]) -> dict[str, str]:
    """Return name, MTU and offloads of the interfaces that lead to the peers of the ends in a namespace.

    Of a namespace other than the lab's without a connected socket all interfaces but the loopback count.
    """
    ways = (way(host, to.peer, pid, own=to.own, device=to.device) for to in peers(host, space)[:MOST])
    names = dict.fromkeys(one.interface for one in ways if one is not None)
    if not names and pid is not None:
        text = host.read(f"/proc/{pid}/net/dev") if host.exists(f"/proc/{pid}/net/dev") else ""
        every = (line.partition(":")[0].strip() for line in text.splitlines()[2:])
        names = dict.fromkeys([name for name in every if name != LOOPBACK][:MOST])
    found = {"interfaces": " ".join(names)} if names else {}
    for place, name in enumerate(names):
        with contextlib.suppress(ValueError, LookupError, TypeError):
            shown = json.loads(_output(host, (*enter, "ip", "-j", "link", "show", "dev", name), space.pids))[0]
            found |= {f"interface.{place}.{key}": str(shown[key]) for key in ("mtu", "qdisc", "txqlen") if key in shown}
        switches = _output(host, (*enter, "ethtool", "-k", name), space.pids).splitlines()
        found |= {f"interface.{place}.offload.{key}": value for key, value in offloads(switches)}
    return found


def offloads(lines: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield the offloads that change how many packets a byte stream is, each `on` or `off`."""
    for line in lines:
        match = SWITCH.match(line)
        if match is not None and any(word in match[1] for word in OFFLOADS):
            yield match[1], match[2]


@functools.lru_cache(maxsize=64)
def _output(host: Host, argv: tuple[str, ...], _pids: tuple[int, ...]) -> str:
    """What a command prints, asked once for the same processes: the first look with a value counts."""
    with contextlib.suppress(AssayError, OSError):
        return host.run(argv, check=False).stdout
    return ""


def parse(host_name: str, _phase: str, snapshots: Sequence[Snapshot], subject: Subject) -> Evidence:
    """Return each fact as the first look that has it tells it."""
    found: dict[str, str] = {}
    for one in snapshots:
        found = {**{key: str(value) for key, value in one.raw.items()}, **found}
    facts = (
        Fact(host=host_name, when=When.BEFORE, key=key, value=value, fact_class=class_of(key))
        for key, value in sorted(found.items())
    )
    lacking = is_over_network(subject) and not found
    missing = {"fact:end.*": "no end of the load was there at any look"} if lacking else {}
    return Evidence(facts=tuple(facts), missing=missing)


def class_of(key: str) -> FactClass:
    """Return the class of a fact: names of interfaces differ from trial to trial, sizes of memory from machine to machine."""
    if key.endswith(".interfaces"):
        return FactClass.IDENTITY
    return FactClass.NOISE if key.endswith(NOISE) else FactClass.PERFORMANCE


OBSERVER = Observer(
    name="end_settings",
    gives=("fact:end.*",),
    sources=(
        Source(
            keys="fact:end.*",
            words="network settings of both ends",
            way="a target with a server address; `ip`, and `ethtool` for offloads (observer end_settings)",
        ),
    ),
    cost="700 µs CPU per look (one namespace, no connected socket); `ip` and `ethtool` run once for each end",
    available=needs_file("/proc/sys/net/core", "network settings are invisible"),
    read=read,
    parse=parse,
    alone=True,
)
