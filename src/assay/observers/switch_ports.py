"""Counts what the ports of a switch, or of another device behind SNMP, let through: bytes, packets, discards, errors.

Source: IF-MIB (RFC 2863), the 64-bit counters where there are any, once a second and at the edges. Received is what came into
the port from the cable. A counter of 32 bits may wrap between two looks. Devices refresh their counters every 1 to 10 s:
`refresh_ns` is how often, and a rate is no finer than that.
"""

from __future__ import annotations

import functools
import itertools
import statistics
from collections.abc import Iterator, Mapping, Sequence

from assay.catalogue import SNMP, Evidence, Host, Observer, Source, needs_system
from assay.errors import EvidenceError
from assay.evidence.snapshots import Counters, Origin, counter, gauge
from assay.frozen import dataclass
from assay.records import Series, Snapshot, Subject

UPTIME = "1.3.6.1.2.1.1.3.0"
TABLE, LONG_TABLE = "1.3.6.1.2.1.2.2.1", "1.3.6.1.2.1.31.1.1.1"
NAME, DESCRIPTION, STATUS = f"{LONG_TABLE}.1", f"{TABLE}.2", f"{TABLE}.8"
UP = "1"
WIDE = {
    "rx_bytes": (f"{LONG_TABLE}.6",),
    "rx_packets": (f"{LONG_TABLE}.7", f"{LONG_TABLE}.8", f"{LONG_TABLE}.9"),
    "tx_bytes": (f"{LONG_TABLE}.10",),
    "tx_packets": (f"{LONG_TABLE}.11", f"{LONG_TABLE}.12", f"{LONG_TABLE}.13"),
}
"""Metric -> columns of 64-bit counters, which are added up (packets to one, to several, to all)."""
NARROW = {"rx_bytes": f"{TABLE}.10", "rx_packets": f"{TABLE}.11", "tx_bytes": f"{TABLE}.16", "tx_packets": f"{TABLE}.17"}
"""The same in 32 bits, for devices without the others."""
FAULTS = {"rx_drops": f"{TABLE}.13", "rx_errors": f"{TABLE}.14", "tx_drops": f"{TABLE}.19", "tx_errors": f"{TABLE}.20"}
SPEED, DISCONTINUITY = f"{LONG_TABLE}.15", f"{LONG_TABLE}.19"
"""ifHighSpeed, in Mbit/s; when the counters last began anew."""
COLUMNS = (*itertools.chain(*WIDE.values()), *NARROW.values(), *FAULTS.values(), SPEED, DISCONTINUITY)
WRAP = 1 << 32
HOUR_TICKS = 360_000
METRICS = (*WIDE, *FAULTS)
FEWEST_CHANGES = 3
Values = Mapping[str, int]


@dataclass(frozen=True, kw_only=True)
class Ports:
    """Which ports of a device are read."""

    names: Mapping[str, str]
    """Index -> name."""
    mistake: str = ""


@functools.lru_cache(maxsize=256)
def ports(host: Host) -> Ports:
    """Find the ports that the host is asked for, by ifName or ifDescr; without names all that are up. Asked once a host."""
    rows = values(host.run(("walk", NAME, DESCRIPTION, STATUS)).stdout)
    names = column(rows, DESCRIPTION) | column(rows, NAME)
    alike = [column(rows, NAME), column(rows, DESCRIPTION)]
    wanted: Sequence[str] = getattr(host, "ports", ())
    found = {index: name for name in wanted for table in alike for index, known in table.items() if known == name}
    lacking = sorted(set(wanted) - set(found.values()))
    up = {index: names[index] for index, status in column(rows, STATUS).items() if status == UP and index in names}
    return Ports(names=found if wanted else up, mistake=f"no port {', '.join(lacking)} on this device" if lacking else "")


def read(host: Host, _subject: Subject) -> Mapping[str, object]:
    """Return the names of the ports, and lines of OID and value."""
    known = ports(host)
    oids = [f"{name}.{index}" for index in known.names for name in COLUMNS]
    return {"names": dict(known.names), "mistake": known.mistake, "values": host.run(("get", UPTIME, *oids)).stdout}


def parse(host_name: str, phase: str, snapshots: Sequence[Snapshot], _subject: Subject) -> Evidence:
    """Return series of each port. Raises EvidenceError where the device began its counters anew."""
    origin = Origin(host=host_name, phase=phase, source="switch_ports:IF-MIB", layer="network")
    looks = [(one.at_ns, numbers(values(str(one.raw["values"])))) for one in snapshots]
    began_anew(looks, UPTIME, "the device")
    names = snapshots[0].raw["names"] if snapshots else {}
    assert isinstance(names, Mapping)
    series = [one for index, name in names.items() for one in port_series(origin, str(name), str(index), looks)]
    mistake = str(snapshots[0].raw["mistake"]) if snapshots else ""
    had = {f"{one.layer}.{one.metric}" for one in series}
    missing = {key: mistake or "not reported by this device" for key in OBSERVER.gives if key not in had}
    return Evidence(series=tuple(series), missing=missing)


def port_series(origin: Origin, name: str, index: str, looks: Sequence[tuple[int, Values]]) -> Iterator[Series]:
    """Yield the counters of one port, its speed, and how often the device refreshes them."""
    subject = f"interface:{name}"
    began = [
        (at, {DISCONTINUITY: found[f"{DISCONTINUITY}.{index}"]}) for at, found in looks if f"{DISCONTINUITY}.{index}" in found
    ]
    if len({found[DISCONTINUITY] for _, found in began}) > 1:
        raise EvidenceError(f"found counters of port {name} that began anew (ifCounterDiscontinuityTime); expected them to go on")
    moved: set[int] = set()
    for metric in METRICS:
        points = unwrapped(*counts(metric, index, looks), f"{metric} of port {name}")
        if not points:
            continue
        unit = "bytes" if metric.endswith("_bytes") else "count"
        yield counter(origin, subject, metric, unit, points)
        moved |= {at for (_, before), (at, after) in itertools.pairwise(points) if metric in WIDE and after > before}
    speeds = [(at, found[f"{SPEED}.{index}"] * 1e6 / 8) for at, found in looks if found.get(f"{SPEED}.{index}")]
    if speeds:
        yield gauge(origin, subject, "speed_bytes_per_s", "bytes/s", speeds)
    interval = refresh_ns(sorted(moved))
    if interval is not None:
        yield gauge(origin, subject, "refresh_ns", "ns", [(looks[-1][0], interval)])


def counts(metric: str, index: str, looks: Sequence[tuple[int, Values]]) -> tuple[list[tuple[int, int]], bool]:
    """Return the counts of a port over time, and whether they have 32 bits."""
    columns = [f"{name}.{index}" for name in WIDE.get(metric, ())]
    if columns and any(columns[0] in found for _, found in looks):
        return [(at, sum(found.get(name, 0) for name in columns)) for at, found in looks if columns[0] in found], False
    narrow = f"{(NARROW | FAULTS)[metric]}.{index}"
    return [(at, found[narrow]) for at, found in looks if narrow in found], True


def unwrapped(points: Sequence[tuple[int, int]], has_32_bits: bool, what: str) -> list[tuple[int, int]]:  # noqa: FBT001
    """Return the counts with each wrap of 32 bits added. Raises EvidenceError where a counter of 64 bits falls."""
    found: list[tuple[int, int]] = []
    above = 0
    for (_, before), (at, after) in itertools.pairwise(((0, points[0][1]), *points) if points else ()):
        if after < before and not has_32_bits:
            raise EvidenceError(f"found {what} falling from {before} to {after}; expected it to rise")
        above += WRAP if after < before else 0
        found.append((at, after + above))
    return found


def began_anew(looks: Sequence[tuple[int, Values]], name: str, what: str) -> None:
    """Raise EvidenceError where the uptime falls; it wraps after 497 days itself."""
    times = [found[name] for _, found in looks if name in found]
    for before, after in itertools.pairwise(times):
        if after < before < WRAP - HOUR_TICKS:
            raise EvidenceError(
                f"found that {what} restarted (sysUpTime fell from {before} to {after}); expected its counters to go on"
            )


def refresh_ns(moved: Sequence[int]) -> int | None:
    """Return the usual time between two changes of a port's counters; None where there were too few."""
    gaps = [after - before for before, after in itertools.pairwise(moved)]
    return round(statistics.median(gaps)) if len(moved) >= FEWEST_CHANGES else None


def values(text: str) -> dict[str, str]:
    """Parse lines of OID and value."""
    return {name: value for name, _, value in (line.partition(" ") for line in text.splitlines())}


def numbers(found: Mapping[str, str]) -> Counters:
    """Return the values that are whole numbers."""
    return {name: int(value) for name, value in found.items() if value.isdecimal()}


def column(rows: Mapping[str, str], name: str) -> dict[str, str]:
    """Return index -> value of one column."""
    return {key.removeprefix(f"{name}."): value for key, value in rows.items() if key.startswith(f"{name}.")}


OBSERVER = Observer(
    name="switch_ports",
    gives=(*(f"network.{metric}" for metric in METRICS), "network.speed_bytes_per_s", "network.refresh_ns"),
    sources=(
        Source(keys="network.refresh_ns", words="how often a switch refreshes its counters", way="a host with via = snmp"),
        Source(keys="network.speed_bytes_per_s", words="speed of a switch port", way="a host with via = snmp"),
    ),
    cost="0.6 ms CPU per look (one port)",
    available=needs_system(SNMP),
    read=read,
    parse=parse,
    every_s=1.0,
    alone=True,
    systems=(SNMP,),
)
