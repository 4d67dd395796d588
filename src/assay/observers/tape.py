"""Counts the commands of a host's tape drives, and gives the position of the load's own tape.

Source: /sys/class/scsi_tape/NAME/stats (Linux 4.2), for every drive. Of drives that the target or an argument names, mt(1) tells
the position at the edges of a phase: marks before it, records after the last mark. Asking moves no tape. The counters under the
clock leave out what mt itself sends to the drive.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from assay.catalogue import Evidence, Host, Observer, Source, Watch
from assay.evidence.snapshots import Counters, Origin, RungCounter, counter, gauge, number, readings, text_of, texts
from assay.machine import tape
from assay.records import Direction, Edge, Reading, Rung, Series, Snapshot, Subject

SERIES = {
    "read_cnt": ("read_operations", "count"),
    "read_byte_cnt": ("read_bytes", "bytes"),
    "read_ns": ("read_ns", "ns"),
    "write_cnt": ("write_operations", "count"),
    "write_byte_cnt": ("write_bytes", "bytes"),
    "write_ns": ("write_ns", "ns"),
    "other_cnt": ("other_operations", "count"),
    "io_ns": ("io_ns", "ns"),
    "resid_cnt": ("residuals", "count"),
}
"""The kernel's counter -> metric and unit."""
POSITION = ("file_number", "block_number")
WAYS = tuple(
    RungCounter(rung=Rung.LOWEST_DEVICE, direction=way, bytes=f"{way}_byte_cnt", operations=f"{way}_cnt")
    for way in (Direction.READ, Direction.WRITE)
)
BEFORE, AFTER, STATUS = "before", "after", "status"
"""Counters before mt was asked, and after; what mt printed, by drive."""
COUNTED_FROM = (Edge.QUIET, Edge.ARMED)
"""Edges at which the counters after mt count: the time that they begin is without what mt sent."""


def read(host: Host, subject: Subject) -> Mapping[str, object]:
    """Return the counters of every drive, and the status of those that the load uses between two readings of them."""
    every = tape.drives(host)
    found: dict[str, object] = {BEFORE: _counters(host, every)}
    own = [drive for drive in subject.tapes if drive in every]
    if own:
        found[STATUS] = {drive: tape.status_text(host, drive) for drive in own}
        found[AFTER] = _counters(host, own)
    return found


def _counters(host: Host, drives: Sequence[str]) -> Mapping[str, object]:
    return {drive: texts(host.read, (f"{tape.CLASS}/{drive}/stats/{name}" for name in tape.COUNTERS)) for drive in drives}


def parse(host_name: str, phase: str, snapshots: Sequence[Snapshot], subject: Subject) -> Evidence:
    """Return counters and positions over time, and rung L9 of the load's own drives. Raises EvidenceError."""
    origin = Origin(host=host_name, phase=phase, source=f"tape:{tape.CLASS}", layer="tape")
    found: list[Reading] = []
    series: list[Series] = []
    missing: dict[str, str] = {}
    for drive in dict.fromkeys(name for snapshot in snapshots for name in _part(snapshot, BEFORE)):
        seen = [(snapshot, counters) for snapshot in snapshots if (counters := counters_of(snapshot, drive)) is not None]
        if len(seen) < len(snapshots):
            missing |= dict.fromkeys(COUNTED, f"drive {drive} has no counters at {len(snapshots) - len(seen)} looks")
            continue
        if drive in subject.tapes:
            found += readings(origin, f"device:{drive}", seen, WAYS)
        series += series_of(origin, drive, seen)
    for drive in subject.tapes:
        points, reason = positions(snapshots, drive)
        series += [
            gauge(origin, f"device:{drive}", metric, "count", [(at, float(each[index])) for at, each in points])
            for index, metric in enumerate(POSITION)
            if points
        ]
        missing |= {f"tape.{metric}": reason for metric in POSITION} if reason else {}
    return Evidence(readings=tuple(found), series=tuple(series), missing=missing)


def _part(snapshot: Snapshot, name: str) -> Mapping[str, object]:
    found = snapshot.raw.get(name)
    return found if isinstance(found, Mapping) else {}


def counters_of(snapshot: Snapshot, drive: str) -> Counters | None:
    """Return the counters of a drive at one look, without what mt sent under the clock; None where it was not there."""
    late = _part(snapshot, AFTER) if snapshot.edge in COUNTED_FROM else {}
    found = late.get(drive, _part(snapshot, BEFORE).get(drive))
    if not isinstance(found, Mapping):
        return None
    here = Snapshot(edge=snapshot.edge, at_ns=snapshot.at_ns, took_ns=snapshot.took_ns, raw=found)
    paths = {name: f"{tape.CLASS}/{drive}/stats/{name}" for name in tape.COUNTERS}
    every = {name: text_of(here, path) for name, path in paths.items()}
    if any(text is None for text in every.values()):
        return None
    return {name: number((text or "").strip(), paths[name]) for name, text in every.items()}


def series_of(origin: Origin, drive: str, seen: Sequence[tuple[Snapshot, Counters]]) -> Iterator[Series]:
    """Yield the counters of one drive over time."""
    for name, (metric, unit) in SERIES.items():
        yield counter(origin, f"device:{drive}", metric, unit, [(snapshot.at_ns, found[name]) for snapshot, found in seen])
    points = [(snapshot.at_ns, float(found["in_flight"])) for snapshot, found in seen]
    yield gauge(origin, f"device:{drive}", "in_flight", "count", points)


def positions(snapshots: Sequence[Snapshot], drive: str) -> tuple[list[tuple[int, tuple[int, int]]], str]:
    """Return marks and records at each look that knows them, and why another look does not."""
    points: list[tuple[int, tuple[int, int]]] = []
    reason = ""
    for snapshot in snapshots:
        text = _part(snapshot, STATUS).get(drive)
        known = tape.status(text) if isinstance(text, str) else None
        if known is None:
            why = text.get("error") if isinstance(text, Mapping) else "not asked"
            reason = reason or f"{tape.MT} of {drive}: {why}"
        elif min(known.file, known.block) < 0:
            reason = reason or f"the driver does not know where the tape in {drive} is"
        else:
            points.append((snapshot.at_ns, (known.file, known.block)))
    return points, reason


COUNTED = tuple(f"tape.{metric}" for metric, _ in SERIES.values())
OBSERVER = Observer(
    name="tape",
    gives=(
        *(f"{Rung.LOWEST_DEVICE}.{way.direction}" for way in WAYS),
        *COUNTED,
        "tape.in_flight",
        *(f"tape.{metric}" for metric in POSITION),
    ),
    sources=(
        Source(keys="tape.*", words="commands, bytes and times of a tape drive", way="Linux 4.2 and the module st"),
        Source(
            keys="tape.*_number",
            words="the position of the tape",
            way="mt (Debian: mt-st), and a drive that no program holds open at the end",
        ),
    ),
    watch=Watch.ALWAYS,
    cost="114 µs CPU per look (one drive); 9 µs without a drive",
    available=lambda host: None,  # a host without one lacks nothing
    read=read,
    parse=parse,
)
