"""A target's knobs about the server behind it: its first node on the target's host, and further nodes, each on a host.

A node is one process tree with its data: a cluster of several, on one machine or on many, has one table for each.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping

from assay.catalogue import Host, Knob, KnobKind
from assay.machine import server
from assay.records import Server, ServerNode, Value

FIRST, NODES = "server.", "server.nodes."
"""What the names of the knobs of the first node begin with, and those of all others."""
HOST, PID_FILE, CGROUP, DATA, ADDRESS, REQUESTS = "host", "pid_file", "cgroup", "data", "address", "requests"
PROCESSES = (PID_FILE, CGROUP)
FILLED = (*PROCESSES, DATA, ADDRESS, REQUESTS)
"""Knobs in which placeholders are replaced."""
Filled = Callable[[str], tuple[str, ...]]
"""The words of a knob, with its placeholders replaced."""

KINDS = {PID_FILE: KnobKind.TEXT, CGROUP: KnobKind.TEXT, DATA: KnobKind.TEXTS, ADDRESS: KnobKind.TEXT, REQUESTS: KnobKind.TEXTS}
HELP = {
    PID_FILE: "file with the PID of the server behind the directory",
    CGROUP: "control group of the server's processes, below /sys/fs/cgroup",
    DATA: "the server's data files, or directories that contain them",
    ADDRESS: "IP address at which clients reach the server, or a file that contains it",
    REQUESTS: "command that prints the number of requests that the server has answered",
}


def _knob(prefix: str, name: str, text: str) -> Knob:
    return Knob(name=f"{prefix}{name}", kind=KINDS[name], default=() if KINDS[name] is KnobKind.TEXTS else None, help=text)


KNOBS = (
    *(_knob(FIRST, name, text) for name, text in HELP.items()),
    Knob(name=f"{NODES}*.{HOST}", kind=KnobKind.TEXT, help="host of a further node of the server; default: the target's host"),
    *(_knob(f"{NODES}*.", name, f"the same of a further node: {text}") for name, text in HELP.items()),
)


def tables(knobs: Mapping[str, Value]) -> tuple[str, ...]:
    """Return the prefix of each node of which a knob is set: that of the first one, and those of the others in order."""
    further = (name.removeprefix(NODES).partition(".")[0] for name in knobs if name.startswith(NODES))
    first = (FIRST,) if any(knobs.get(f"{FIRST}{name}") for name in FILLED) else ()
    return (*first, *(f"{NODES}{name}." for name in dict.fromkeys(further)))


def names_host(knob: str) -> bool:
    """Return whether a knob names the host of a further node."""
    return re.fullmatch(rf"{re.escape(NODES)}[^.]+\.{HOST}", knob) is not None


def hosts(knobs: Mapping[str, Value]) -> tuple[str, ...]:
    """Return the hosts that the further nodes name."""
    return tuple(dict.fromkeys(str(value) for name, value in knobs.items() if names_host(name)))


def names(knobs: Mapping[str, Value]) -> tuple[str, ...]:
    """Return the knobs that may have placeholders."""
    return tuple(f"{prefix}{name}" for prefix in tables(knobs) for name in FILLED)


def mistakes(knobs: Mapping[str, Value]) -> Iterator[str]:
    """Yield what is wrong: a node without processes."""
    for prefix in tables(knobs):
        if not any(knobs.get(f"{prefix}{name}") for name in PROCESSES):
            either = " or ".join(f"{prefix}{name}" for name in PROCESSES)
            yield f"found a server without processes; expected {either}, which identify it"


def declared(host: Host, knobs: Mapping[str, Value], filled: Filled) -> Server | None:
    """Return the server that the knobs name, if any; `host` is the target's. Raises TrialError if an address cannot be read."""
    nodes = tuple(_node(host, prefix, knobs, filled) for prefix in tables(knobs))
    return Server(nodes=nodes) if nodes else None


def _node(host: Host, prefix: str, knobs: Mapping[str, Value], filled: Filled) -> ServerNode:
    pid_file, cgroup, address = ("".join(filled(f"{prefix}{name}")) or None for name in (PID_FILE, CGROUP, ADDRESS))
    return ServerNode(
        host=str(knobs.get(f"{prefix}{HOST}") or host.name),
        pid_file=pid_file,
        cgroup=cgroup,
        data=filled(f"{prefix}{DATA}"),
        address=server.address(host, address) if address else None,
        requests=filled(f"{prefix}{REQUESTS}"),
    )
