"""Counts drops, reordering and errors of UDP and TCP in the network namespace of each end of a load.

Sources: /proc/PID/net/snmp, netstat and dev of one process of each namespace: the load's, all that it started, and those of a
named server. Counters of a namespace include all its programs. Targets without a server address are not looked at.
The fact `end_network.spaces.PHASE` says which processes are in which namespace.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from assay.catalogue import Evidence, Host, Observer, Source, needs_file
from assay.errors import EvidenceError
from assay.evidence.snapshots import INTERFACE_COLUMNS, Origin, counter, interfaces, number, texts
from assay.machine.peers import ends, is_over_network, spaces
from assay.records import Fact, FactClass, Series, Snapshot, Subject, When

LAYER = "end_network"
SPACES_FACT = f"{LAYER}.spaces."
"""Before the name of a phase: `net:[4026531840] 101 102; net:[4026532177] 103`."""
FILES = ("snmp", "netstat", "dev")
PIDS = "pids"
COUNTERS: Mapping[str, tuple[tuple[str, str], ...]] = {
    "udp_received": (("Udp:", "InDatagrams"),),
    "udp_sent": (("Udp:", "OutDatagrams"),),
    "udp_receive_buffer_errors": (("Udp:", "RcvbufErrors"), ("Udp6:", "RcvbufErrors")),
    "udp_send_buffer_errors": (("Udp:", "SndbufErrors"),),
    "udp_no_port": (("Udp:", "NoPorts"),),
    "tcp_sent_segments": (("Tcp:", "OutSegs"),),
    "tcp_retransmitted_segments": (("Tcp:", "RetransSegs"),),
    "tcp_dsacks": (("TcpExt:", "TCPDSACKRecv"),),
    "tcp_reorderings": (("TcpExt:", "TCPSACKReorder"), ("TcpExt:", "TCPTSReorder")),
    "tcp_out_of_order": (("TcpExt:", "TCPOFOQueue"),),
    "tcp_timeouts": (("TcpExt:", "TCPTimeouts"),),
    "tcp_receive_drops": (("TcpExt:", "TCPRcvQDrop"), ("TcpExt:", "TCPBacklogDrop"), ("TcpExt:", "RcvPruned")),
    "tcp_listen_overflows": (("TcpExt:", "ListenOverflows"),),
    "tcp_listen_drops": (("TcpExt:", "ListenDrops"), ("TcpExt:", "TCPReqQFullDrop")),
    "tcp_closed_windows": (("TcpExt:", "TCPToZeroWindowAdv"),),
}
"""Metric -> protocol and name of the counters that make it up; the first must be there."""
IN_SEGMENTS = {("TcpExt:", "TCPDSACKRecv"): ("TcpExt:", "TCPDSACKRecvSegs")}
"""Counters of reports -> those of the segments in them, which newer kernels have."""
DROPS = ("rx_drops", "tx_drops", "rx_errors", "tx_errors")
BYTES = ("rx_bytes", "tx_bytes")


def read(host: Host, subject: Subject) -> Mapping[str, object]:
    """Return, for each namespace of the ends, the texts of its counters and the processes in it."""
    if not is_over_network(subject):
        return {}
    found: dict[str, object] = {}
    for space in spaces(host, ends(host, subject)):
        read_texts = texts(host.read, (f"/proc/{space.pids[0]}/net/{name}" for name in FILES))
        found[space.name] = {PIDS: list(space.pids), **dict(zip(FILES, read_texts.values(), strict=True))}
    return found


def parse(host_name: str, phase: str, snapshots: Sequence[Snapshot], subject: Subject) -> Evidence:
    """Return the counters of each namespace over time. Raises EvidenceError on an unknown format or a falling counter."""
    if not is_over_network(subject):
        return Evidence()
    origin = Origin(host=host_name, phase=phase, source=f"{LAYER}:/proc/PID/net/{{snmp,netstat,dev}}", layer=LAYER)
    names = list(dict.fromkeys(name for one in snapshots for name in one.raw))
    series: list[Series] = []
    for name in names:
        looks = [(one.at_ns, found) for one in snapshots if isinstance(found := one.raw.get(name), Mapping)]
        series += [*of_protocols(origin, name, looks), *of_interfaces(origin, name, looks)]
    given = {one.metric for one in series}
    lacking = [] if not snapshots else [metric for metric in COUNTERS if metric not in given]
    reason = "no end of the load was there at any look" if not names else "/proc/PID/net: not read"
    fact = Fact(
        host=host_name,
        when=When.BEFORE,
        key=f"{SPACES_FACT}{phase}",
        value="; ".join(f"{name} {' '.join(map(str, processes_in(name, snapshots)))}" for name in names),
        fact_class=FactClass.IDENTITY,
    )
    missing = {f"{LAYER}.{metric}": reason for metric in lacking}
    return Evidence(series=tuple(series), facts=(fact,) if names else (), missing=missing)


def processes_in(space: str, snapshots: Sequence[Snapshot]) -> list[int]:
    """Return the processes that were seen in a namespace, each once."""
    found = (raw.get(PIDS) for one in snapshots if isinstance(raw := one.raw.get(space), Mapping))
    return list(dict.fromkeys(int(pid) for pids in found if isinstance(pids, list | tuple) for pid in pids))


def of_protocols(origin: Origin, space: str, looks: Sequence[tuple[int, Mapping[str, object]]]) -> Iterator[Series]:
    """Yield the counters of UDP and TCP that this kernel has."""
    rows = [(at, {**pairs(raw.get("snmp"), "snmp"), **pairs(raw.get("netstat"), "netstat")}) for at, raw in looks]
    for metric, parts in COUNTERS.items():
        points = [
            (at, sum(found.get(IN_SEGMENTS.get(part, part), found.get(part, 0)) for part in parts))
            for at, found in rows
            if parts[0] in found
        ]
        if points:
            yield counter(origin, space, metric, "count", points)


def pairs(text: object, where: str) -> dict[tuple[str, str], int]:
    """Parse pairs of lines, one of names and one of numbers, as (protocol, name) -> number; nothing of a text not read."""
    found: dict[tuple[str, str], int] = {}
    lines = text.splitlines() if isinstance(text, str) else []
    for names, numbers in zip(lines[::2], lines[1::2], strict=False):
        head, *words = names.split()
        other, *values = numbers.split()
        if head != other or len(words) != len(values):
            raise EvidenceError(f"found lines {head!r} and {other!r} in net/{where}; expected names, then as many numbers")
        found |= {(head, word): number(value, f"net/{where}") for word, value in zip(words, values, strict=True)}
    return found


def of_interfaces(origin: Origin, space: str, looks: Sequence[tuple[int, Mapping[str, object]]]) -> Iterator[Series]:
    """Yield bytes, drops and errors of the interfaces that had any, the loopback included."""
    rows = [(at, interfaces(text, "net/dev")) for at, raw in looks if isinstance(text := raw.get("dev"), str)]
    for name in rows[0][1] if rows else ():
        there = [(at, found[name]) for at, found in rows if name in found]
        for metric in (one for one in (*BYTES, *DROPS) if one in INTERFACE_COLUMNS):
            points = [(at, counters[metric]) for at, counters in there]
            if points[-1][1] > points[0][1]:
                yield counter(origin, f"{space}@{name}", metric, "count", points)


OBSERVER = Observer(
    name=LAYER,
    gives=(*(f"{LAYER}.{metric}" for metric in (*COUNTERS, *BYTES, *DROPS)), f"fact:{SPACES_FACT}*"),
    sources=(
        Source(
            keys="end_network.*",
            words="bytes, drops, reordering and errors in each end's network namespace",
            way="a target with a server address (observer end_network)",
        ),
        Source(
            keys="fact:end_network.*",
            words="the network namespaces of both ends",
            way="a target with a server address (observer end_network)",
        ),
    ),
    cost="200 µs CPU per look (one namespace)",
    available=needs_file("/proc/net/snmp", "network counters are invisible"),
    read=read,
    parse=parse,
    every_s=1.0,
)
