"""Counts traffic of the network interfaces, TCP retransmissions, and drops in the receive queues.

Sources: /proc/net/dev (rung L3, headers included, as the driver counts them), /proc/net/snmp for TCP, and
/proc/net/softnet_stat. Received bytes are the direction `read`, sent bytes `write`. Without named interfaces all except the
loopback are read, and idle ones have no series. The counters are those of the observer's network namespace.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from assay.catalogue import Evidence, Host, Observer, Source, Watch, needs_file
from assay.errors import EvidenceError
from assay.evidence.snapshots import (
    INTERFACE_COLUMNS,
    Counters,
    Origin,
    counter,
    interface_ways,
    interfaces,
    paired_numbers,
    readings,
    text_of,
    texts,
    why_not,
)
from assay.records import ABSOLUTE, Reading, Rung, Series, Snapshot, Subject

DEV = "/proc/net/dev"
SNMP = "/proc/net/snmp"
SOFTNET = "/proc/net/softnet_stat"
KEYS = ("L3.read", "L3.write")
TCP = {"tcp_sent_segments": "OutSegs", "tcp_retransmitted_segments": "RetransSegs", "tcp_active_opens": "ActiveOpens"}
QUEUE = {"softnet_dropped": 1, "softnet_squeezed": 2}
"""Columns of softnet_stat: packets dropped by a full queue, polling rounds that ended with work left."""
LOOPBACK = {"loopback_bytes": "rx_bytes"}
"""Traffic between programs of this machine."""
SOURCES = {**dict.fromkeys((*INTERFACE_COLUMNS, *LOOPBACK), DEV), **dict.fromkeys(TCP, SNMP), **dict.fromkeys(QUEUE, SOFTNET)}


def read(host: Host, _subject: Subject) -> Mapping[str, object]:
    """Return the three texts."""
    return texts(host.read, (DEV, SNMP, SOFTNET))


def parse(host_name: str, phase: str, snapshots: Sequence[Snapshot], subject: Subject) -> Evidence:
    """Return rung L3 of each interface, TCP and queue counts of the host. Raises EvidenceError on an unknown format."""
    origin = Origin(host=host_name, phase=phase, source=f"network:{DEV}", layer="network")
    missing = {f"network.{metric}": reason for metric, path in SOURCES.items() if (reason := why_not(snapshots, path))}
    seen = [(snapshot, interfaces(text, DEV)) for snapshot in snapshots if (text := text_of(snapshot, DEV))]
    found_readings: list[Reading] = []
    series: list[Series] = []
    for name in subject.interfaces or interface_names(seen):
        rows = [(snapshot, found[name]) for snapshot, found in seen if name in found]
        if len(rows) < len(snapshots):
            reason = f"interface {name} missing in {DEV} at {len(snapshots) - len(rows)} of {len(snapshots)} looks"
            missing |= dict.fromkeys(KEYS, reason)
        found_readings += readings(origin, f"interface:{name}", rows, interface_ways(Rung.CLIENT_NIC))
        if subject.interfaces or any(counters != rows[0][1] for _, counters in rows):
            series += interface_series(origin, name, rows)
    inside = [(snapshot.at_ns, found["lo"]) for snapshot, found in seen if "lo" in found]
    for metric, column in LOOPBACK.items() if inside else ():
        series.append(counter(origin, ABSOLUTE, metric, "bytes", [(at, counters[column]) for at, counters in inside]))
    return Evidence(readings=tuple(found_readings), series=(*series, *host_series(origin, snapshots)), missing=missing)


def interface_names(seen: Sequence[tuple[Snapshot, Mapping[str, Counters]]]) -> tuple[str, ...]:
    """Return the interfaces of the first look, except the loopback."""
    return tuple(name for name in (seen[0][1] if seen else {}) if name != "lo")


def interface_series(origin: Origin, name: str, rows: Sequence[tuple[Snapshot, Counters]]) -> Iterator[Series]:
    """Yield bytes, packets, errors and drops of one interface over time."""
    for metric in INTERFACE_COLUMNS if rows else ():
        unit = "bytes" if metric.endswith("_bytes") else "count"
        yield counter(origin, f"interface:{name}", metric, unit, [(snapshot.at_ns, found[metric]) for snapshot, found in rows])


def host_series(origin: Origin, snapshots: Sequence[Snapshot]) -> Iterator[Series]:
    """Yield TCP segments sent and retransmitted, and drops of the receive queues, of the whole host."""
    tcp = [(one.at_ns, paired_numbers(text, "Tcp:", TCP, SNMP)) for one in snapshots if (text := text_of(one, SNMP))]
    queues = [(snapshot.at_ns, queue_counters(text)) for snapshot in snapshots if (text := text_of(snapshot, SOFTNET))]
    for metrics, seen in ((TCP, tcp), (QUEUE, queues)):
        for metric in metrics if seen else ():
            yield counter(origin, ABSOLUTE, metric, "count", [(at, found[metric]) for at, found in seen])


def queue_counters(text: str) -> dict[str, int]:
    """Sum the hexadecimal counters over the CPUs."""
    rows = [line.split() for line in text.splitlines()]
    try:
        return {metric: sum(int(row[column], 16) for row in rows) for metric, column in QUEUE.items()}
    except (ValueError, IndexError):
        raise EvidenceError(f"found {text[:60]!r} in {SOFTNET}; expected hexadecimal columns") from None


OBSERVER = Observer(
    name="network",
    gives=(*KEYS, *(f"network.{metric}" for metric in SOURCES)),
    sources=(
        Source(keys="L3.*", words="bytes of the network interfaces", way="/proc/net/dev of the load's network namespace"),
        Source(keys="network.*", words="TCP and interfaces of the host", way="/proc/net of the load's network namespace"),
    ),
    watch=Watch.ALWAYS,
    cost="24 µs CPU per look",
    available=needs_file(DEV, "interface counters are invisible"),
    read=read,
    parse=parse,
    every_s=1.0,
)
