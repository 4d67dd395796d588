"""Watches the host's memory: what is free, dirty and being written, paging, and how many inodes and names are cached.

Sources: /proc/meminfo and /proc/vmstat; /proc/slabinfo (root only), /proc/sys/fs/inode-nr and dentry-state. The growth of
a file system's inode cache is how many inodes were read or made, so far as none were dropped meanwhile: an inode found in
memory adds nothing. SLUB counts objects of a processor's own slabs as in use, so a cache may stand some slabs too high.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from assay.catalogue import Evidence, Host, Observer
from assay.errors import EvidenceError
from assay.records import ABSOLUTE, Series, Snapshot, Subject
from assay.snapshots import Origin, counter, gauge, named_numbers, number, text_of, texts, why_not

MEMINFO = "/proc/meminfo"
VMSTAT = "/proc/vmstat"
SLABINFO = "/proc/slabinfo"
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
    "inode_cache_objects": SLABINFO,
    "inodes": INODES,
    "dentries": DENTRIES,
}
"""Metric -> the file that it comes from."""
INODE_CACHE = re.compile(r"^(\w+_inode|\w+_inode_cache)$")
"""Slab caches that hold inodes of a file system: ext4_inode_cache, xfs_inode, btrfs_inode, nfs_inode_cache, ..."""
NO_FILES = ("sock", "proc", "shmem", "debugfs", "tracefs", "mqueue", "lsm", "hugetlbfs", "bdev", "configfs", "rpc")
"""Inodes of pseudo file systems, and of the security modules, which are not what a metadata test reads."""


def available(host: Host) -> str | None:
    """None where the kernel says what its memory is used for."""
    return None if host.exists(MEMINFO) else "no /proc/meminfo: the host's memory is not visible"


def read(host: Host, _subject: Subject) -> Mapping[str, object]:
    """The texts; of /proc/slabinfo only the lines about inodes."""
    found = texts(host.read, dict.fromkeys(SOURCES.values()))
    slabs = found[SLABINFO]
    if isinstance(slabs, str):
        found[SLABINFO] = "\n".join(line for line in slabs.splitlines() if is_inode_cache(line.partition(" ")[0]))
    return found


def is_inode_cache(name: str) -> bool:
    """Whether a slab cache holds inodes of a real file system."""
    return bool(INODE_CACHE.match(name)) and not name.startswith(NO_FILES)


def parse(host_name: str, phase: str, snapshots: Sequence[Snapshot], _subject: Subject) -> Evidence:
    """Bytes and counts over time. Raises EvidenceError on text of another form or a counter that falls."""
    missing = {f"memory.{metric}": reason for metric, path in SOURCES.items() if (reason := why_not(snapshots, path))}
    return Evidence(
        series=(
            *named_series(Origin(host=host_name, phase=phase, source=f"memory:{MEMINFO}", layer="memory"), GAUGES, snapshots),
            *named_series(Origin(host=host_name, phase=phase, source=f"memory:{VMSTAT}", layer="memory"), COUNTERS, snapshots),
            *slab_series(Origin(host=host_name, phase=phase, source=f"memory:{SLABINFO}", layer="memory"), snapshots),
            *first_numbers(Origin(host=host_name, phase=phase, source=f"memory:{INODES}", layer="memory"), "inodes", snapshots),
            *first_numbers(
                Origin(host=host_name, phase=phase, source=f"memory:{DENTRIES}", layer="memory"), "dentries", snapshots
            ),
        ),
        missing=missing,
    )


def path_of(origin: Origin) -> str:
    """The file behind an origin."""
    return origin.source.partition(":")[2]


def named_series(origin: Origin, metrics: Mapping[str, str], snapshots: Sequence[Snapshot]) -> Iterator[Series]:
    """Series of a file of names and numbers; what this kernel does not have is left out."""
    path = path_of(origin)
    seen = [(snapshot.at_ns, named_numbers(text, path)) for snapshot in snapshots if (text := text_of(snapshot, path))]
    for metric, name in metrics.items():
        points = [(at, found[name]) for at, found in seen if name in found]
        if not points:
            continue
        if metrics is GAUGES:
            yield gauge(origin, ABSOLUTE, metric, "bytes", points)
        else:
            yield counter(origin, ABSOLUTE, metric, "count", points)


def slab_series(origin: Origin, snapshots: Sequence[Snapshot]) -> Iterator[Series]:
    """Cached inodes of each file system (`slab:ext4_inode_cache`) and of all together."""
    texts_seen = [(snapshot.at_ns, text_of(snapshot, SLABINFO)) for snapshot in snapshots]
    seen = [(at, slabs(text)) for at, text in texts_seen if text is not None]
    if not seen:
        return
    for name in sorted(set().union(*(found for _, found in seen))):
        points = [(at, found.get(name, 0)) for at, found in seen]
        if any(value for _, value in points):
            yield gauge(origin, f"slab:{name}", "inode_cache_objects", "count", points)
    yield gauge(origin, ABSOLUTE, "inode_cache_objects", "count", [(at, sum(found.values())) for at, found in seen])


def slabs(text: str) -> dict[str, int]:
    """Objects in use of each inode cache."""
    rows = [line.split() for line in text.splitlines() if is_inode_cache(line.partition(" ")[0])]
    if any(len(row) < 2 for row in rows):
        raise EvidenceError(f"found {text[:60]!r} in {SLABINFO}; expected a name and counts of objects")
    return {row[0]: number(row[1], SLABINFO) for row in rows}


def first_numbers(origin: Origin, metric: str, snapshots: Sequence[Snapshot]) -> Iterator[Series]:
    """The first number of a file over time: all that are allocated, in use or not."""
    path = path_of(origin)
    points = [(snapshot.at_ns, number(text.split()[0], path)) for snapshot in snapshots if (text := text_of(snapshot, path))]
    if points:
        yield gauge(origin, ABSOLUTE, metric, "count", points)


OBSERVER = Observer(
    name="memory",
    gives=tuple(f"memory.{metric}" for metric in SOURCES),
    cost="0.43 ms of CPU a look",
    available=available,
    read=read,
    parse=parse,
    every_s=1.0,
)
