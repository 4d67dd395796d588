"""Measures the host's memory: available, dirty and writeback pages, paging, and cached inodes and names.

Sources: /proc/meminfo, /proc/vmstat, /proc/sys/fs/inode-nr and dentry-state. The growth of cached inodes is the number of inodes
read or created, if none are evicted: an inode already in memory adds nothing. The count covers the whole host. /proc/slabinfo
is not used: its active objects include freed ones, so a cold tree walk may not change it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from assay.catalogue import Evidence, Host, Observer, Source, Watch, needs_file
from assay.evidence.snapshots import Origin, counter, gauge, named_numbers, number, text_of, texts, why_not
from assay.records import ABSOLUTE, Series, Snapshot, Subject

MEMINFO = "/proc/meminfo"
VMSTAT = "/proc/vmstat"
INODES = "/proc/sys/fs/inode-nr"
DENTRIES = "/proc/sys/fs/dentry-state"
GAUGES = {
    "total_bytes": "MemTotal",
    "available_bytes": "MemAvailable",
    "dirty_bytes": "Dirty",
    "writeback_bytes": "Writeback",
    "cached_bytes": "Cached",
}
COUNTERS = {
    "major_faults": "pgmajfault",
    "swapped_in_pages": "pswpin",
    "swapped_out_pages": "pswpout",
    "refaulted_file_pages": "workingset_refault_file",
    "out_of_memory_kills": "oom_kill",
}
SOURCES = {
    **dict.fromkeys(GAUGES, MEMINFO),
    **dict.fromkeys(COUNTERS, VMSTAT),
    "inode_cache_objects": INODES,
    "dentries": DENTRIES,
}
"""Metric -> its file."""


def read(host: Host, _subject: Subject) -> Mapping[str, object]:
    """Return the four texts."""
    return texts(host.read, dict.fromkeys(SOURCES.values()))


def parse(host_name: str, phase: str, snapshots: Sequence[Snapshot], _subject: Subject) -> Evidence:
    """Return bytes and counts over time. Raises EvidenceError on an unknown format or a falling counter."""
    origins = {path: Origin(host=host_name, phase=phase, source=f"memory:{path}", layer="memory") for path in SOURCES.values()}
    return Evidence(
        series=(
            *named_series(origins[MEMINFO], MEMINFO, GAUGES, snapshots),
            *named_series(origins[VMSTAT], VMSTAT, COUNTERS, snapshots),
            *first_numbers(origins[INODES], INODES, "inode_cache_objects", snapshots),
            *first_numbers(origins[DENTRIES], DENTRIES, "dentries", snapshots),
        ),
        missing={f"memory.{metric}": reason for metric, path in SOURCES.items() if (reason := why_not(snapshots, path))},
    )


def named_series(origin: Origin, path: str, metrics: Mapping[str, str], snapshots: Sequence[Snapshot]) -> Iterator[Series]:
    """Yield the series of a file of names and numbers, without metrics that this kernel lacks."""
    seen = [(snapshot.at_ns, named_numbers(text, path)) for snapshot in snapshots if (text := text_of(snapshot, path))]
    for metric, name in metrics.items():
        points = [(at, found[name]) for at, found in seen if name in found]
        if not points:
            continue
        if metrics is GAUGES:
            yield gauge(origin, ABSOLUTE, metric, "bytes", points)
        else:
            yield counter(origin, ABSOLUTE, metric, "count", points)


def first_numbers(origin: Origin, path: str, metric: str, snapshots: Sequence[Snapshot]) -> Iterator[Series]:
    """Yield the first number of a file over time: all allocated objects, in use or not."""
    points = [(snapshot.at_ns, number(text.split()[0], path)) for snapshot in snapshots if (text := text_of(snapshot, path))]
    if points:
        yield gauge(origin, ABSOLUTE, metric, "count", points)


OBSERVER = Observer(
    name="memory",
    gives=tuple(f"memory.{metric}" for metric in SOURCES),
    sources=(
        Source(keys="memory.inode_cache_objects", words="inodes in memory", way="/proc/sys/fs/inode-nr of the host"),
        Source(keys="memory.*", words="memory counters of the host", way="/proc/meminfo and /proc/vmstat of the host"),
    ),
    watch=Watch.ALWAYS,
    cost="35 µs CPU per look",
    available=needs_file(MEMINFO, "the host's memory is invisible"),
    read=read,
    parse=parse,
    every_s=1.0,
)
