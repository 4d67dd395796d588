"""Reads the positions of the data files on a rotational disk.

Sources: FIEMAP of each data file, without the flag that flushes, and /sys/block/DEVICE/queue/rotational of the first device below
the file system. Non-rotational devices are skipped, because position does not matter there.
With more than 256 files, an evenly spaced sample is read.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from assay.catalogue import Evidence, Host, Observer, Source, needs_assay
from assay.evidence.snapshots import Origin, gauge
from assay.machine.stack import rotates
from assay.records import Series, Snapshot, Subject

MOST_FILES = 256
"""Limit of the time at each edge."""
METRICS = ("lowest_byte", "highest_byte")
FLASH = "no device below the file system is rotational"
Span = tuple[int, int]


def read(host: Host, subject: Subject) -> Mapping[str, object]:
    """Return whether the disk is rotational, and the positions of each file."""
    if host.syscalls is None or not any(rotates(host, device) for device in subject.devices[:1]):
        return {"rotates": False}
    return {"rotates": True, "files": {path: span_of(host.syscalls.placed, path) for path in sampled_files(subject)}}


def sampled_files(subject: Subject) -> tuple[str, ...]:
    """Return the data files, or an evenly spaced sample of them."""
    paths = sorted(set(subject.paths))
    if len(paths) > MOST_FILES:
        paths = [paths[index * len(paths) // MOST_FILES] for index in range(MOST_FILES)]
    return tuple(paths)


def span_of(call: Callable[[str], Span | None], path: str) -> list[int] | None:
    """Return the position of a file; None if it has none or the kernel refuses."""
    try:
        span = call(path)
    except OSError:
        return None
    return None if span is None else [*span]


def parse(host_name: str, phase: str, snapshots: Sequence[Snapshot], subject: Subject) -> Evidence:
    """Return the lowest and highest byte of all files at each look, in bytes from the start of the device."""
    turning = [snapshot for snapshot in snapshots if snapshot.raw.get("rotates") is True]
    if not turning or not subject.paths:
        reason = "the phase has no data files" if turning else FLASH
        return Evidence(missing={f"layout.{metric}": reason for metric in METRICS})
    seen = [(snapshot.at_ns, spans) for snapshot in turning if (spans := spans_of(snapshot))]
    if not seen:
        reason = "the file system reports no positions of files"
        return Evidence(missing={f"layout.{metric}": reason for metric in METRICS})
    origin = Origin(host=host_name, phase=phase, source="layout:FIEMAP", layer="layout")
    where = f"device:{subject.devices[0]}"
    lowest = gauge(origin, where, "lowest_byte", "bytes", [(at, min(low for low, _ in spans)) for at, spans in seen])
    highest = gauge(origin, where, "highest_byte", "bytes", [(at, max(high for _, high in spans)) for at, spans in seen])
    series: tuple[Series, ...] = (lowest, highest)
    return Evidence(series=series)


def spans_of(snapshot: Snapshot) -> list[Span]:
    """Return the positions of the files that have one."""
    files = snapshot.raw.get("files")
    found = files.values() if isinstance(files, Mapping) else ()
    return [(int(span[0]), int(span[1])) for span in found if isinstance(span, list | tuple) and len(span) == 2]


OBSERVER = Observer(
    name="layout",
    gives=tuple(f"layout.{metric}" for metric in METRICS),
    sources=(Source(keys="layout.*", words="FIEMAP: place of the data files on their device", way="a rotating disk, and root"),),
    cost="16 µs CPU per look (one file on a rotational disk); 0.4 µs CPU per look on other devices",
    available=needs_assay("FIEMAP needs Assay"),
    read=read,
    parse=parse,
)
