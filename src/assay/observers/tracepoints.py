"""Counts kernel events with bpftrace: pages of data files entering memory, block requests, flushes and syncs.

Runs beside each phase, only if an experiment names it: `observers = ["*", "tracepoints"]`. Sources: kernel tracepoints (filemap,
block, writeback, syscalls, sched), without kprobes and without a debugger; counted in the kernel and printed on request.
`bpftrace` needs root. It mounts tracefs in its own mount namespace, so nothing must be mounted. Syncs by io_uring are
not counted: they are no system calls. Lost events are counted (E02).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import accumulate
from typing import Any

from assay.catalogue import Beside, Evidence, Host, Observer, Source
from assay.errors import EvidenceError
from assay.evidence.snapshots import Origin, Points, counter
from assay.evidence.sources import TRACING
from assay.machine import bpftrace, stack
from assay.records import ABSOLUTE, Snapshot, Subject

MOST_FILES = 4096
MOST_PROCESSES = 128
"""Limit of the comparison in every traced system call."""
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


def argv_of(host: Host, subject: Subject) -> tuple[str, ...]:
    """Return the command that traces a subject. Raises EvidenceError for too many processes."""
    if len(subject.pids) > MOST_PROCESSES:
        raise EvidenceError(f"the load has {len(subject.pids)} processes; tracepoints support at most {MOST_PROCESSES}")
    return bpftrace.argv("\n".join(probes(host, subject)))


def probes(host: Host, subject: Subject) -> Iterator[str]:
    """Yield the bpftrace program: it filters by numbers and counts in maps."""
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
    yield bpftrace.print_probe(MAPS)


def numbers(host: Host, subject: Subject) -> dict[str, int]:
    """Return device -> kernel number; after queueing, a partition's requests have its disk's number."""
    return {device: bpftrace.kernel_number(stack.device_number(host, device)) for device in subject.devices}


def file_systems(host: Host, subject: Subject) -> dict[str, int]:
    """Return the file system number of each file and of the directory; files need not exist yet."""
    files = (*subject.paths[:MOST_FILES], *subject.backing_files)
    known = {path: stack.mount_of(host, path).device_number for path in dict.fromkeys(map(parent, files))}
    if subject.directory is not None:
        known[subject.directory] = stack.mount_of(host, subject.directory).device_number
    every = {path: known[parent(path)] for path in files} | {path: known[path] for path in filter(None, (subject.directory,))}
    return {path: bpftrace.kernel_number(number) for path, number in every.items()}


def parent(path: str) -> str:
    """Return the directory of a path."""
    return path.rpartition("/")[0] or "/"


def read(host: Host, subject: Subject) -> Mapping[str, object]:
    """Return the inodes of existing files, and the kernel numbers of file systems and devices."""
    paths = (*subject.paths[:MOST_FILES], *subject.backing_files)
    listing = host.run(["stat", "--printf=%i %n\\0", "--", *paths], check=False).stdout if paths else ""
    rows = (row.partition(" ")[::2] for row in listing.split("\0") if row)
    return {
        "inodes": {path: int(inode) for inode, path in rows},
        "file_systems": file_systems(host, subject),
        "devices": numbers(host, subject),
    }


def parse(host_name: str, phase: str, snapshots: Sequence[Snapshot], subject: Subject) -> Evidence:
    """Return counters at the edges, from 0 at the first. Raises EvidenceError if one falls."""
    origin = Origin(host=host_name, phase=phase, source="tracepoints:bpftrace", layer="tracepoints")
    seen = [(snapshot.at_ns, snapshot.raw) for snapshot in snapshots if isinstance(snapshot.raw.get("maps"), Mapping)]
    if not seen:
        return Evidence()
    rows = [*page_rows(seen, subject), *device_rows(seen, subject), *process_rows(seen)]
    series = (counter(origin, about, name, METRICS[name], points) for about, name, points in rows)
    many = f"{len(subject.paths):,} data files (limit {MOST_FILES:,})"
    return Evidence(series=tuple(series), missing={"tracepoints.added_bytes": many} if are_too_many(subject) else {})


def are_too_many(subject: Subject) -> bool:
    """Return True for too many data files: a sum over some of them would look like the total."""
    return len(subject.paths) > MOST_FILES


def page_rows(seen: Seen, subject: Subject) -> Iterator[Row]:
    """Yield bytes of pages that entered memory: of each file under all its inodes, and of the whole file system."""
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
    """Return the bytes of the pages of the chosen inodes."""
    pages: int = sum(count for key, count in raw["maps"].get("added", {}).items() if chosen(key))
    return pages * int(raw["page_bytes"])


def device_rows(seen: Seen, subject: Subject) -> Iterator[Row]:
    """Yield requests of each device, and the requests of the load's own processes."""
    for device in subject.devices:
        number = seen[0][1]["devices"][device]

        def of(name: str, chosen: Callable[[str], bool], number: int = number) -> list[tuple[int, float]]:
            return [(at, total(raw["maps"].get(name, {}), number, chosen)) for at, raw in seen]

        about = f"device:{device}"
        yield about, "flushes", of("issued", lambda kind: kind.startswith("FF"))
        yield about, "fua_writes", of("issued", bpftrace.is_fua)
        yield about, "own_flushes", of("bios", bpftrace.is_flush)
        for name, letters in (("own_read_bytes", ("R", "FR")), ("own_write_bytes", ("W", "FW"))):
            sectors = of("sectors", partial(begins, letters))
            yield about, name, [(at, count * SECTOR_BYTES) for at, count in sectors]


def begins(letters: tuple[str, ...], kind: str) -> bool:
    """Return True if a request's letters have this prefix."""
    return kind.startswith(letters)


def process_rows(seen: Seen) -> Iterator[Row]:
    """Yield syncs and writeback throttling of the load's processes, and lost events."""
    for name, map_name in (("sync_calls", "syncs"), ("dirty_pauses", "pauses"), ("dirty_pause_ms", "paused")):
        yield ABSOLUTE, name, [(at, sum(raw["maps"].get(map_name, {}).values())) for at, raw in seen]
    lost = accumulate(raw["lost"] for _, raw in seen)
    full = surely_lost([sum(raw["maps"].get("all", {}).values()) - sum(raw["maps"].get("added", {}).values()) for _, raw in seen])
    yield ABSOLUTE, "lost_events", [(at, events + beyond) for (at, _), events, beyond in zip(seen, lost, full, strict=True)]


def surely_lost(beyond: Sequence[int]) -> list[int]:
    """Return how many pages had no place by then: the least of what was seen then and later.

    Others may add a page between two maps that are printed, which is no loss and gone at the next look.
    """
    return [*accumulate(reversed(beyond), min)][::-1]


def total(counts: Mapping[str, int], number: int, chosen: Callable[[str], bool]) -> int:
    """Return the sum of a map's counts for one device and the chosen kinds of request."""
    rows = ((*key.partition(",")[::2], count) for key, count in counts.items())
    return sum(count for device, kind, count in rows if device == str(number) and chosen(kind))


OBSERVER = Observer(
    name="tracepoints",
    gives=tuple(f"tracepoints.{name}" for name in METRICS),
    sources=(
        Source(keys="tracepoints.added_bytes", words="tracepoints: pages that came into memory", way=TRACING),
        Source(keys="tracepoints.own_flushes", words="tracepoints: flushes sent by the load itself", way=TRACING),
        Source(keys="tracepoints.own_*", words="tracepoints: requests sent by the load itself", way=TRACING),
        Source(keys="tracepoints.dirty_*", words="tracepoints: pauses of the load for too much dirty data", way=TRACING),
        Source(keys="tracepoints.*", words="tracepoints: kernel events", way=TRACING),
    ),
    cost="9.5 ms CPU per look and 0.7 s CPU per phase to start, outside the clock; probes: see `assay selftest --observers`",
    available=bpftrace.obstacle,
    read=read,
    parse=parse,
    beside=Beside(argv=argv_of, read=bpftrace.counts),
    on_request=True,
)
