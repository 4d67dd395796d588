"""Counts what the kernel itself saw: pages brought into memory of each data file, requests, flushes and syncs (bpftrace).

Runs beside each phase, only where an experiment names it: `observers = ["*", "tracepoints"]`. Sources: tracepoints of the kernel
(filemap, block, writeback, syscalls, sched), which need neither kprobes nor a debugger in the processes; they are counted in the
kernel and printed when a look asks. `bpftrace` wants root and sees tracefs in a mount namespace of its own, so that nothing has
to be mounted. Of io_uring the syncs are not seen: they are no system calls. What was lost is counted too (E02).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import accumulate
from typing import Any

from assay.catalogue import Beside, Evidence, Host, Observer
from assay.errors import EvidenceError
from assay.evidence.snapshots import Origin, Points, counter
from assay.machine import bpftrace, stack
from assay.records import ABSOLUTE, Snapshot, Subject

MOST_FILES = 4096
MOST_PROCESSES = 128
"""More would make the comparison that every system call passes too long."""
SECTOR_BYTES = 512
MAPS = ("added", "all", "issued", "bios", "sectors", "syncs", "pauses", "paused")
SYNCS = ("fsync", "fdatasync", "syncfs", "sync", "msync", "sync_file_range")
METRICS = {
    "added_bytes": "bytes",
    "own_read_bytes": "bytes",
    "own_write_bytes": "bytes",
    "own_flushes": "count",
    "flushes": "count",
    "fua_writes": "count",
    "sync_calls": "count",
    "dirty_pauses": "count",
    "dirty_pause_ms": "ms",
    "lost_events": "count",
}
Seen = Sequence[tuple[int, Mapping[str, Any]]]
Row = tuple[str, str, Points]


def program(host: Host, subject: Subject) -> tuple[str, ...]:
    """The command that watches a subject. Raises EvidenceError where there are too many processes."""
    if len(subject.pids) > MOST_PROCESSES:
        raise EvidenceError(f"found {len(subject.pids)} processes; tracepoints can tell at most {MOST_PROCESSES} apart")
    return bpftrace.argv("\n".join(probes(host, subject)))


def probes(host: Host, subject: Subject) -> Iterator[str]:
    """The program in bpftrace's language: filters are numbers, everything is counted in maps."""
    files = bpftrace.among("args->s_dev", file_systems(host, subject).values())
    devices = bpftrace.among("args->dev", numbers(host, subject).values())
    ours = f"({bpftrace.among('pid', subject.pids)} || @kin[pid])"
    yield f"tracepoint:sched:sched_process_fork /{ours}/ {{ @kin[args->child_pid] = 1; }}"
    yield f"tracepoint:filemap:mm_filemap_add_to_page_cache /{files}/"
    yield "{ @added[args->s_dev, args->i_ino] = sum(1 << args->order); @all = sum(1 << args->order); }"
    yield f"tracepoint:block:block_rq_issue /{devices}/ {{ @issued[args->dev, args->rwbs] = count(); }}"
    yield f"tracepoint:block:block_bio_queue /({devices}) && {ours}/"
    yield "{ @bios[args->dev, args->rwbs] = count(); @sectors[args->dev, args->rwbs] = sum(args->nr_sector); }"
    yield ", ".join(f"tracepoint:syscalls:sys_enter_{name}" for name in SYNCS) + f" /{ours}/ {{ @syncs[0] = count(); }}"
    yield f"tracepoint:writeback:balance_dirty_pages /{ours} && args->pause > 0/"
    yield "{ @pauses[0] = count(); @paused[0] = sum(args->pause); }"
    yield bpftrace.asked(MAPS)


def numbers(host: Host, subject: Subject) -> dict[str, int]:
    """Device -> number as the kernel keeps it; a partition's requests have its disk's number after the bio was queued."""
    return {device: bpftrace.kernel_number(stack.device_number(host, device)) for device in subject.devices}


def file_systems(host: Host, subject: Subject) -> dict[str, int]:
    """The number of the file system of each file and of the directory; a file need not be there yet, its directory is."""
    files = (*subject.paths[:MOST_FILES], *subject.backing_files)
    known = {path: stack.mount_of(host, path).device_number for path in dict.fromkeys(map(parent, files))}
    if subject.directory is not None:
        known[subject.directory] = stack.mount_of(host, subject.directory).device_number
    every = {path: known[parent(path)] for path in files} | {path: known[path] for path in filter(None, (subject.directory,))}
    return {path: bpftrace.kernel_number(number) for path, number in every.items()}


def parent(path: str) -> str:
    """The directory of a path."""
    return path.rpartition("/")[0] or "/"


def read(host: Host, subject: Subject) -> Mapping[str, object]:
    """The inode of each file that is there, and the numbers by which the kernel names file systems and devices."""
    paths = (*subject.paths[:MOST_FILES], *subject.backing_files)
    said = host.run(["stat", "--printf=%i %n\\0", "--", *paths], check=False).stdout if paths else ""
    rows = (row.partition(" ")[::2] for row in said.split("\0") if row)
    return {
        "inodes": {path: int(inode) for inode, path in rows},
        "file_systems": file_systems(host, subject),
        "devices": numbers(host, subject),
    }


def parse(host_name: str, phase: str, snapshots: Sequence[Snapshot], subject: Subject) -> Evidence:
    """Counters at the edges, from 0 at the first. Raises EvidenceError where one falls."""
    origin = Origin(host=host_name, phase=phase, source="tracepoints:bpftrace", layer="tracepoints")
    seen = [(snapshot.at_ns, snapshot.raw) for snapshot in snapshots if isinstance(snapshot.raw.get("maps"), Mapping)]
    if not seen:
        return Evidence()
    rows = [*added(seen, subject), *moved(seen, subject), *called(seen)]
    series = (counter(origin, about, name, METRICS[name], points) for about, name, points in rows)
    many = f"{len(subject.paths):,} data files: at most {MOST_FILES:,} can be told apart"
    return Evidence(series=tuple(series), missing={"tracepoints.added_bytes": many} if are_too_many(subject) else {})


def are_too_many(subject: Subject) -> bool:
    """Whether there are more data files than are asked for their inodes: a sum over some of them would pass for that of all."""
    return len(subject.paths) > MOST_FILES


def added(seen: Seen, subject: Subject) -> Iterator[Row]:
    """Bytes of pages that came into memory, of each file under any inode that it had, and of all files of the file system."""
    files = [(f"path:{path}", path) for path in (() if are_too_many(subject) else subject.paths)]
    files += [(f"backing:{path}", path) for path in subject.backing_files]
    for about, path in files:
        keys = {f"{raw['file_systems'][path]},{raw['inodes'][path]}" for _, raw in seen if path in raw["inodes"]}
        yield about, "added_bytes", [(at, in_memory(raw, keys.__contains__)) for at, raw in seen]
    if subject.directory is not None:
        prefix = f"{seen[0][1]['file_systems'][subject.directory]},"
        points = [(at, in_memory(raw, lambda key: key.startswith(prefix))) for at, raw in seen]
        yield f"filesystem:{subject.directory}", "added_bytes", points


def in_memory(raw: Mapping[str, Any], chosen: Callable[[str], bool]) -> float:
    """Bytes of the pages of the chosen inodes."""
    pages: int = sum(count for key, count in raw["maps"].get("added", {}).items() if chosen(key))
    return pages * int(raw["page_bytes"])


def moved(seen: Seen, subject: Subject) -> Iterator[Row]:
    """Requests of each device, and what our own processes sent to it."""
    for device in subject.devices:
        number = seen[0][1]["devices"][device]

        def of(name: str, chosen: Callable[[str], bool], number: int = number) -> list[tuple[int, float]]:
            return [(at, total(raw["maps"].get(name, {}), number, chosen)) for at, raw in seen]

        about = f"device:{device}"
        yield about, "flushes", of("issued", lambda kind: kind.startswith("FF"))
        yield about, "fua_writes", of("issued", is_fua)
        yield about, "own_flushes", of("bios", lambda kind: kind.startswith("F") or is_fua(kind))
        for name, letters in (("own_read_bytes", ("R", "FR")), ("own_write_bytes", ("W", "FW"))):
            sectors = of("sectors", partial(begins, letters))
            yield about, name, [(at, count * SECTOR_BYTES) for at, count in sectors]


def begins(letters: tuple[str, ...], kind: str) -> bool:
    """Whether a request's letters begin so."""
    return kind.startswith(letters)


def called(seen: Seen) -> Iterator[Row]:
    """Syncs of our processes, how often they had to wait for write-back, and what was lost."""
    for name, map_name in (("sync_calls", "syncs"), ("dirty_pauses", "pauses"), ("dirty_pause_ms", "paused")):
        yield ABSOLUTE, name, [(at, sum(raw["maps"].get(map_name, {}).values())) for at, raw in seen]
    lost = accumulate(raw["lost"] for _, raw in seen)
    full = (sum(raw["maps"].get("all", {}).values()) - sum(raw["maps"].get("added", {}).values()) for _, raw in seen)
    yield ABSOLUTE, "lost_events", [(at, events + beyond) for (at, _), events, beyond in zip(seen, lost, full, strict=True)]


def is_fua(kind: str) -> bool:
    """Whether a request's letters (blk_fill_rwbs of the kernel) say that it is written past the cache: F after its operation."""
    return "F" in kind.removeprefix("F")[1:]


def total(counts: Mapping[str, int], number: int, chosen: Callable[[str], bool]) -> int:
    """The sum of a map's counts for one device and the chosen kinds of request."""
    rows = ((*key.partition(",")[::2], count) for key, count in counts.items())
    return sum(count for device, kind, count in rows if device == str(number) and chosen(kind))


OBSERVER = Observer(
    name="tracepoints",
    gives=tuple(f"tracepoints.{name}" for name in METRICS),
    cost="0.7 s of CPU a phase to start and 8.7 ms a look, outside the clock; its probes: see `assay selftest --observers`",
    available=bpftrace.obstacle,
    read=read,
    parse=parse,
    beside=Beside(argv=program, read=bpftrace.answer),
    on_request=True,
)
