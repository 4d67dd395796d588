"""Counts reads, writes, discards and flushes of every block device in the stack.

Source: /proc/diskstats (or /sys/class/block/NAME/stat). The lowest visible device is rung L9, all devices above it are L8. The
counters include other processes' I/O: subtract the idle baseline. The kernel counts flushes for whole disks only, so a
partition's flushes are those of its disk; a `write through` device gets none. A request is counted on completion, so requests
in flight at an edge belong to the next span.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from assay.catalogue import Evidence, Host, Observer, Source, Watch
from assay.errors import EvidenceError
from assay.evidence.snapshots import Counters, Origin, RungCounter, counter, gauge, number, readings, text_of, texts
from assay.evidence.sources import DEVICE
from assay.machine.stack import disk_of
from assay.records import Direction, Reading, Rung, Series, Snapshot, Subject

DISKSTATS = "/proc/diskstats"
SECTOR_BYTES = 512
"""The unit of the kernel's counters, whatever the device's own sector is (Documentation/admin-guide/iostats.rst)."""
FIELDS = {
    "read_operations": 0,
    "read_bytes": 2,
    "read_ticks": 3,
    "write_operations": 4,
    "write_bytes": 6,
    "write_ticks": 7,
    "in_flight": 8,
    "io_ticks": 9,
    "discard_operations": 11,
    "discard_bytes": 13,
    "flushes": 15,
    "flush_ticks": 16,
}
"""Column of each figure after the device's name, bytes in sectors; discards since Linux 4.18, flushes since 5.5."""
OF_DISKS = ("flushes", "flush_ticks")
"""Columns that the kernel counts for whole disks only."""
DIRECTIONS = {
    Direction.READ: ("read_bytes", "read_operations"),
    Direction.WRITE: ("write_bytes", "write_operations"),
    Direction.DISCARD: ("discard_bytes", "discard_operations"),
    Direction.FLUSH: (None, "flushes"),
}
SERIES = {"read_bytes": "bytes", "write_bytes": "bytes"} | {
    "read_operations": "count",
    "write_operations": "count",
    "flushes": "count",
    "read_ticks": "ms",
    "write_ticks": "ms",
    "flush_ticks": "ms",
    "io_ticks": "ms",
}


def available(host: Host) -> str | None:
    """Return why block I/O counters are missing; None if they exist."""
    if host.exists(DISKSTATS) or host.list("/sys/class/block"):
        return None
    return "no block I/O counters: /proc/diskstats and /sys/class/block do not exist"


def read(host: Host, subject: Subject) -> Mapping[str, object]:
    """Return the text of the counters, and the disk of each partition."""
    found = texts(host.read, (DISKSTATS,))
    if not isinstance(found[DISKSTATS], str):
        found |= texts(host.read, (f"/sys/class/block/{device}/stat" for device in subject.devices))
    disks = host.list("/sys/block")
    found["disks"] = {device: disk_of(device, disks) for device in subject.devices}
    return found


def parse(host_name: str, phase: str, snapshots: Sequence[Snapshot], subject: Subject) -> Evidence:
    """Return rungs L8 and L9 in bytes and operations, and time series. Raises EvidenceError on an unknown format."""
    origin = Origin(host=host_name, phase=phase, source=f"block:{DISKSTATS}", layer="block")
    found_readings: list[Reading] = []
    series: list[Series] = []
    missing: dict[str, str] = {} if subject.devices else dict.fromkeys(OBSERVER.gives, "the target has no block device")
    for device in subject.devices:
        rung = Rung.LOWEST_DEVICE if device == subject.devices[-1] else Rung.UPPER_DEVICE
        seen = [(snapshot, found) for snapshot in snapshots if (found := counters_of(snapshot, device)) is not None]
        ways = [
            RungCounter(rung=rung, direction=each, bytes=size, operations=count) for each, (size, count) in DIRECTIONS.items()
        ]
        found_readings += readings(origin, f"device:{device}", seen, ways)
        series += series_of(origin, device, seen)
        missing |= absent(rung, device, snapshots, [found for _, found in seen])
    return Evidence(readings=tuple(found_readings), series=tuple(series), missing=missing)


def counters_of(snapshot: Snapshot, device: str) -> Counters | None:
    """Return the counters of one device with the flushes of its disk; None if the device is missing."""
    disks = snapshot.raw.get("disks")
    disk = disks.get(device, device) if isinstance(disks, Mapping) else device
    own = columns(snapshot, device)
    if own is None or disk == device:
        return own
    whole = columns(snapshot, str(disk)) or {}
    parts = {name: value for name, value in own.items() if name not in OF_DISKS}
    return parts | {name: value for name, value in whole.items() if name in OF_DISKS}


def columns(snapshot: Snapshot, device: str) -> Counters | None:
    """Parse one line of /proc/diskstats, or the device's own stat file."""
    text = text_of(snapshot, DISKSTATS)
    words: list[str] | None = (text_of(snapshot, f"/sys/class/block/{device}/stat") or "").split() or None
    if text is not None:
        lines = (line.split() for line in text.splitlines())
        words = next((line[3:] for line in lines if line[2:3] == [device]), None)
    if words is None:
        return None
    if len(words) < 11:
        raise EvidenceError(f"found {len(words)} figures for {device} in {DISKSTATS}; expected at least 11")
    found = {name: number(words[at], f"{DISKSTATS} of {device}") for name, at in FIELDS.items() if at < len(words)}
    return {name: value * SECTOR_BYTES if name.endswith("_bytes") else value for name, value in found.items()}


def series_of(origin: Origin, device: str, seen: Sequence[tuple[Snapshot, Counters]]) -> Iterator[Series]:
    """Yield bytes, operations, busy time and requests in flight of one device over time."""
    subject = f"device:{device}"
    if not seen:
        return
    for metric, unit in SERIES.items():
        if all(metric in found for _, found in seen):
            yield counter(origin, subject, metric, unit, [(snapshot.at_ns, found[metric]) for snapshot, found in seen])
    yield gauge(origin, subject, "in_flight", "count", [(snapshot.at_ns, found["in_flight"]) for snapshot, found in seen])


def absent(rung: Rung, device: str, snapshots: Sequence[Snapshot], seen: Sequence[Counters]) -> dict[str, str]:
    """Return the missing evidence of one device, with the reasons."""
    if len(seen) < len(snapshots):
        reason = f"device {device} missing in {DISKSTATS} at {len(snapshots) - len(seen)} of {len(snapshots)} looks"
        return {f"{rung}.{direction}": reason for direction in DIRECTIONS}
    reason = f"this kernel has no such counter for {device}"
    lacking = (key for key, (_, name) in DIRECTIONS.items() if any(name not in found for found in seen))
    return {f"{rung}.{direction}": reason for direction in lacking}


OBSERVER = Observer(
    name="block",
    gives=(
        *(f"{rung}.{direction}" for rung in (Rung.UPPER_DEVICE, Rung.LOWEST_DEVICE) for direction in DIRECTIONS),
        *(f"block.{metric}" for metric in (*SERIES, "in_flight")),
    ),
    sources=(
        Source(keys="L8.flush", words="completed flushes of the upper devices", way=f"Linux 5.5, and {DEVICE}"),
        Source(keys="L9.flush", words="completed flushes of the lowest device", way=f"Linux 5.5, and {DEVICE}"),
        Source(keys="L8.*", words="I/O of the devices above the lowest one", way=DEVICE),
        Source(keys="L9.*", words="I/O of the lowest visible device", way=DEVICE),
        Source(keys="block.*", words="device counters over time", way=DEVICE),
    ),
    watch=Watch.ALWAYS,
    cost="11 µs CPU per look (one device)",
    available=available,
    read=read,
    parse=parse,
    every_s=1.0,
)
