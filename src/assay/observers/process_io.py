"""Counts the bytes of each process's system calls, and its storage I/O below the page cache.

Source: /proc/PID/io of every process of the subject, ended threads included. `rchar`, `wchar`, `syscr` and `syscw` are rung L1;
they stay 0 for io_uring, libaio and mmap and include pipes and libraries. `read_bytes` is rung L2: reads from the first block
device below, readahead included. `write_bytes` counts pages when they become dirty, not when they are written: it never proves
durability. `cancelled_write_bytes` are dirty pages that were discarded before they were written.
On the lab's own host also how many files, sockets and pipes each process and all that it started have open, and how many they may
(/proc/PID/fd, limits).
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from assay.catalogue import Evidence, Host, Observer, Source, needs_file
from assay.errors import EvidenceError
from assay.evidence.snapshots import (
    Counters,
    Origin,
    counter,
    gauge,
    named_numbers,
    process_ways,
    readings,
    text_of,
    texts,
    why_not,
)
from assay.evidence.sources import PROCESS
from assay.machine.server import family
from assay.records import Rung, Series, Snapshot, Subject

KEYS = ("L1.read", "L1.write", "L2.read", "L2.write")
WAYS = process_ways(Rung.SYSCALL, Rung.CLIENT_CACHE)
SERIES = ("read_bytes", "write_bytes", "cancelled_write_bytes")
FILES, OPEN, LIMIT = "open files", "open_files", "open_files_limit"
ROW = re.compile(r"^Max open files +(\d+) ", re.MULTILINE)


def read(host: Host, subject: Subject) -> Mapping[str, object]:
    """Return the text of /proc/PID/io of each process, and of its limits with the number of its open files."""
    found = dict(texts(host.read, (path_of(pid) for pid in subject.pids)))
    return found if host.far or not subject.pids else found | {FILES: _open_files(host, subject.pids)}


def _open_files(host: Host, pids: Iterable[int]) -> dict[str, list[int]]:
    """Return process -> how many files it has open, and how many it may; without those that are gone or have no limit."""
    found: dict[str, list[int]] = {}
    for pid in family(host, pids):
        with contextlib.suppress(OSError):
            limit = ROW.search(host.read(f"/proc/{pid}/limits"))
            if limit is not None:
                found[str(pid)] = [len(host.list(f"/proc/{pid}/fd")), int(limit[1])]
    return found


def parse(host_name: str, phase: str, snapshots: Sequence[Snapshot], subject: Subject) -> Evidence:
    """Return rungs L1 and L2 of each process and span in bytes and calls. Raises EvidenceError on an unknown format."""
    origin = Origin(host=host_name, phase=phase, source="process_io:/proc/PID/io", layer="process")
    refused = [reason for pid in subject.pids if (reason := why_not(snapshots, path_of(pid)))]
    if not subject.pids:
        refused = ["the load has no process"]
    looks = {pid: [(snapshot, found) for snapshot in snapshots if (found := counters_of(snapshot, pid))] for pid in subject.pids}
    return Evidence(
        readings=tuple(item for pid, seen in looks.items() for item in readings(origin, f"pid:{pid}", seen, WAYS)),
        series=(
            *(item for pid, seen in looks.items() for item in series_of(origin, pid, seen)),
            *open_files(origin, snapshots),
        ),
        missing=dict.fromkeys(KEYS, "; ".join(refused)) if refused else {},
    )


def path_of(pid: int) -> str:
    """Return the path of a process's I/O counters."""
    return f"/proc/{pid}/io"


def counters_of(snapshot: Snapshot, pid: int) -> Counters | None:
    """Return the counters of one process; None if unreadable. Raises EvidenceError if one is missing."""
    text = text_of(snapshot, path_of(pid))
    if text is None:
        return None
    found = named_numbers(text, path_of(pid))
    wanted = {name for way in WAYS for name in (way.bytes, way.operations) if name} | set(SERIES)
    if wanted - set(found):
        raise EvidenceError(f"found no {', '.join(sorted(wanted - set(found)))} in {path_of(pid)}; expected it there")
    return found


def series_of(origin: Origin, pid: int, seen: Sequence[tuple[Snapshot, Counters]]) -> Iterator[Series]:
    """Yield the bytes of one process over time."""
    for metric in SERIES if seen else ():
        yield counter(origin, f"pid:{pid}", metric, "bytes", [(snapshot.at_ns, found[metric]) for snapshot, found in seen])


def open_files(origin: Origin, snapshots: Sequence[Snapshot]) -> Iterator[Series]:
    """Yield how many files each process had open and may have, at each look that found it."""
    seen: dict[str, list[tuple[int, list[int]]]] = {}
    for one in snapshots:
        known = one.raw.get(FILES)
        for pid, pair in known.items() if isinstance(known, Mapping) else ():
            if isinstance(pair, list | tuple) and len(pair) == len((OPEN, LIMIT)):
                seen.setdefault(str(pid), []).append((one.at_ns, [*pair]))
    for pid, looks in seen.items():
        for at, metric in enumerate((OPEN, LIMIT)):
            yield gauge(origin, f"pid:{pid}", metric, "count", [(when, pair[at]) for when, pair in looks])


OBSERVER = Observer(
    name="process_io",
    gives=(*KEYS, *(f"process.{metric}" for metric in (*SERIES, OPEN, LIMIT))),
    sources=(
        Source(keys="L1.*", words="bytes of the processes' system calls", way=PROCESS),
        Source(keys="L2.read", words="process counters: bytes read from storage", way=PROCESS),
        Source(keys="L2.write", words="process counters: bytes dirtied or written", way=PROCESS),
        Source(keys="process.cancelled_write_bytes", words="process counters: bytes removed before write-back", way=PROCESS),
        Source(keys="process.*", words="process counters over time", way=PROCESS),
    ),
    cost="81 µs CPU per look (one process)",
    available=needs_file("/proc/self/io", "bytes of processes are invisible. Use a kernel with CONFIG_TASK_IO_ACCOUNTING."),
    read=read,
    parse=parse,
    every_s=1.0,
)
