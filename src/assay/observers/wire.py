"""Counts the LDAP operations between clients and a directory server in the frames that pass, while they pass.

Runs beside each phase, only if an experiment names it: `observers = ["*", "wire"]`. `assay-engine dissect` reads the interface
that leads to the server, and gives its counts at the edges of each phase. It stays in memory: no frame, value or name is kept.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from assay.catalogue import Beside, Evidence, Host, Observer, Process, Source
from assay.errors import EvidenceError
from assay.evidence.operations import KINDS, WIRE
from assay.evidence.snapshots import Origin, Points, counter
from assay.machine import engine_file
from assay.machine.server import way
from assay.records import ABSOLUTE, Snapshot, Subject

URL = re.compile(r"(ldaps?)://(?:\[([^\]]+)\]|([^:/\[]+))(?::(\d+))?/?")
PORTS: Mapping[str, int] = {"ldap": 389, "ldaps": 636}
COUNTS = "counts"
WHOLE = ("entries", "connections", "frames", "opaque_bytes")
LOSSES = ("capture_drops", "gaps", "gap_bytes", "cut_bytes", "malformed", "evicted_connections")
"""Counts of what the capture lacks."""
KINDS_SEEN = (*KINDS, "extended", "abandon", "unbind")
MOST_CLIENTS = 32
"""Addresses that have series of their own; the rest is in the totals."""


def argv_of(host: Host, subject: Subject) -> tuple[str, ...]:
    """Return the command that reads the interface to the target's server. Raises EvidenceError where there is none."""
    doors = {pair for text in subject.endpoints if (pair := door(text)) is not None}
    if not doors:
        found = ", ".join(dict.fromkeys(subject.endpoints)) or "no client on this host"
        raise EvidenceError(f"found {found}; expected clients that use ldap://HOST or ldaps://HOST: a local socket has no wire")
    interfaces = {name for address, _ in doors for name in interfaces_to(host, address)}
    if len(interfaces) != 1:
        found = ", ".join(sorted(interfaces)) or "none"
        raise EvidenceError(f"found interfaces to the server: {found}; expected one")
    options = {"interface": interfaces.pop(), "ports": sorted({port for _, port in doors})}
    return engine_file.argv_of(host, "dissect", options)


def door(url: str) -> tuple[str, int] | None:
    """Return host and port of a URL; None for what has no network."""
    match = URL.fullmatch(url)
    return None if match is None else (match[2] or match[3], int(match[4] or PORTS[match[1]]))


def interfaces_to(host: Host, name: str) -> Iterator[str]:
    """Yield the interfaces that lead to a name or an address."""
    for line in host.run(["getent", "ahosts", name], check=False).stdout.splitlines():
        if (path := way(host, line.split()[0])) is not None:
            yield path.interface


def read(host: Host, subject: Subject) -> Mapping[str, object]:  # noqa: ARG001 - all of it comes from the program beside
    """Return nothing more than what the program counted."""
    return {}


def counted(_host: Host, process: Process) -> Mapping[str, object]:
    """Return the counts of all frames that have passed until now. Raises EvidenceError without an answer."""
    found = engine_file.counts_of(process, "the capture ended early")
    for one in found.get("refused", ()):
        raise EvidenceError(f"interface {one.get('interface')}: {one.get('reason', one['kind'].replace('_', ' '))}")
    return {COUNTS: found}


def parse(host_name: str, phase: str, snapshots: Sequence[Snapshot], subject: Subject) -> Evidence:  # noqa: ARG001
    """Return counters from 0 at the first look: operations by kind, of all and of each client, and what the capture lacks."""
    origin = Origin(host=host_name, phase=phase, source="wire:dissect", layer=WIRE)
    looks: list[tuple[int, Mapping[str, Any]]] = [
        (one.at_ns, found) for one in snapshots if isinstance(found := one.raw.get(COUNTS), Mapping)
    ]
    if not looks:
        return Evidence()
    try:
        rows: list[tuple[str, str, Points]] = [
            (ABSOLUTE, name, [(at, int(found[name])) for at, found in looks]) for name in (*WHOLE, *LOSSES)
        ]
        rows += [(ABSOLUTE, kind, [(at, _of(found["operations"], kind)) for at, found in looks]) for kind in KINDS_SEEN]
        rows += _clients(looks)
    except (KeyError, TypeError, ValueError, AttributeError):
        raise EvidenceError(f"found {str(looks[-1][1])[:60]!r}; expected the counts of assay-engine dissect") from None
    return Evidence(series=tuple(counter(origin, about, name, unit_of(name), points) for about, name, points in rows))


def _of(operations: Mapping[str, Mapping[str, int]], kind: str) -> int:
    return int(operations.get(kind, {}).get("requests", 0))


def _clients(looks: Sequence[tuple[int, Mapping[str, Any]]]) -> Iterator[tuple[str, str, Points]]:
    """Yield the operations of each address, by kind: those of the busiest ones."""
    by_look: list[tuple[int, dict[str, dict[str, int]]]] = [
        (at, {str(one["client"]): one["requests"] for one in found["clients"]}) for at, found in looks
    ]
    last = by_look[-1][1]
    busiest = sorted(last, key=lambda address: -sum(last[address].values()))[:MOST_CLIENTS]
    for address in busiest:
        for kind in last[address]:
            points = [(at, float(found.get(address, {}).get(kind, 0))) for at, found in by_look]
            yield f"client:{address}", kind, points


def unit_of(name: str) -> str:
    """Return the unit of a count by the end of its name."""
    return "bytes" if name.endswith("_bytes") else "count"


def obstacle(host: Host) -> str | None:
    """Return why no interface can be read; None if one can."""
    return None if host.is_root() else "capturing needs root (CAP_NET_RAW). Run as root."


OBSERVER = Observer(
    name="wire",
    gives=tuple(f"{WIRE}.{name}" for name in (*KINDS_SEEN, *WHOLE, *LOSSES)),
    sources=(
        Source(
            keys="wire.*",
            words="LDAP operations that passed the interface to the server",
            way='root, observers = ["*", "wire"], and a target whose clients use ldap:// without TLS',
        ),
    ),
    cost="0.5 ms CPU per look, and 1 to 2.4 µs of CPU time for each operation under the clock",
    available=obstacle,
    read=read,
    parse=parse,
    beside=Beside(argv=argv_of, read=counted),
    on_request=True,
)
