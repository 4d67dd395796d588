"""What the trace of a directory server says of each kind of operation: counts, read from the maps of the program.

Whatever a thread does between the begin and the end of an operation belongs to that operation; the rest is told apart. Counted
are operations with their time, system calls on files, flushes, requests to the block devices of the server's files by the thread
that submits them, and page faults. Write-back and journals submit from threads of the kernel: they belong to no operation.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from assay.frozen import dataclass, field
from assay.machine import bpftrace
from assay.machine.bpftrace import TOTAL
from assay.machine.dsio_server import KINDS

MAPS = ("ended", "codes", "entries", "reads", "writes", "flushes", "bios", "apart", "faults", "unseen")
SECTOR_BYTES = 512


@dataclass(frozen=True, kw_only=True)
class IoCounts:
    """What operations of one kind did, or threads outside of any operation."""

    count: int = 0
    """Operations that ended."""
    time_ns: int = 0
    reads: int = 0
    """System calls that read a file; what is read through a mapping is in the requests to devices."""
    read_bytes: int = 0
    writes: int = 0
    write_bytes: int = 0
    flushes: int = 0
    """Calls that return when data is on stable media: fsync and its like, and writes to files opened with O_DSYNC."""
    flush_ns: int = 0
    device_reads: int = 0
    device_read_bytes: int = 0
    device_writes: int = 0
    device_write_bytes: int = 0
    device_flushes: int = 0
    """Requests that flush a device's cache or pass it; those with data are among the writes, too."""
    page_faults: int = 0
    entries: int = 0
    codes: Mapping[str, int] = field(default_factory=dict)
    """Result code -> operations."""

    def since(self, before: IoCounts) -> IoCounts:
        """Return what was added since an earlier look."""
        return combined(self, before, lambda now, then: now - then)

    def plus(self, other: IoCounts) -> IoCounts:
        """Return the sum of both."""
        return combined(self, other, lambda one, two: one + two)


COUNTED = tuple(name for name in IoCounts.__annotations__ if name != "codes")


def combined(one: IoCounts, two: IoCounts, how: Callable[[int, int], int]) -> IoCounts:
    """Return counts made of two, field by field."""
    codes = {code: how(one.codes.get(code, 0), two.codes.get(code, 0)) for code in dict.fromkeys((*one.codes, *two.codes))}
    numbers = {name: how(getattr(one, name), getattr(two, name)) for name in COUNTED}
    return IoCounts(**numbers, codes={code: number for code, number in codes.items() if number})


@dataclass(frozen=True, kw_only=True)
class DirectoryIo:
    """What was counted of a server: its operations by kind, its threads outside of them, and other threads on its devices."""

    operations: Mapping[str, IoCounts]
    outside: IoCounts
    others: Mapping[str, IoCounts]
    """Name of a thread of the kernel or of another process -> its requests to the same devices."""
    unseen: tuple[str, ...] = ()
    """Kinds of operations that are not seen, or not all of them."""
    lost: int = 0
    """Events that bpftrace lost since the look before: then every count is a lower bound."""

    def since(self, before: DirectoryIo) -> DirectoryIo:
        """Return what was added since an earlier look."""
        return DirectoryIo(
            operations=differences(self.operations, before.operations),
            outside=self.outside.since(before.outside),
            others=differences(self.others, before.others),
            unseen=self.unseen,
            lost=self.lost,
        )


def differences(now: Mapping[str, IoCounts], before: Mapping[str, IoCounts]) -> dict[str, IoCounts]:
    """Return what was added to each since an earlier look, without those that nothing was added to."""
    found = {name: counts.since(before.get(name, IoCounts())) for name, counts in now.items()}
    return {name: counts for name, counts in found.items() if counts != IoCounts()}


def counted(raw: Mapping[str, object]) -> DirectoryIo:
    """Return what an answer of bpftrace says."""
    maps = raw["maps"]
    assert isinstance(maps, Mapping)
    found = {0: dict[str, int](), **{number: {} for number in range(1, len(KINDS) + 1)}}
    for name, (count, total) in FIELDS.items():
        for key, value in maps.get(name, {}).items():
            found[int(key)][count] = value
        for key, value in maps.get(f"{name}{TOTAL}", {}).items():
            found[int(key)][total] = value
    for key, value in maps.get("bios", {}).items():
        number, kind, has_data = key.split(",")
        put(found[int(number)], kind, int(has_data), value, maps[f"bios{TOTAL}"][key])
    others: dict[str, dict[str, int]] = {}
    for key, value in maps.get("apart", {}).items():
        thread, kind, has_data = key.rsplit(",", 2)
        put(others.setdefault(thread, {}), kind, int(has_data), value, maps[f"apart{TOTAL}"][key])
    codes: dict[int, dict[str, int]] = {}
    for key, value in maps.get("codes", {}).items():
        number, code = key.split(",")
        codes.setdefault(int(number), {})[code] = value
    made = {number: IoCounts(**fields, codes=codes.get(number, {})) for number, fields in found.items()}
    return DirectoryIo(
        operations={kind: made[number] for number, kind in enumerate(KINDS, 1) if made[number] != IoCounts()},
        outside=made[0],
        others={thread: IoCounts(**fields) for thread, fields in sorted(others.items())},  # type: ignore[arg-type]
        unseen=tuple(KINDS[int(key) - 1] for key in sorted(maps.get("unseen", {}), key=int)),
        lost=int(str(raw.get("lost", 0))),
    )


FIELDS = {
    "ended": ("count", "time_ns"),
    "reads": ("reads", "read_bytes"),
    "writes": ("writes", "write_bytes"),
    "flushes": ("flushes", "flush_ns"),
    "faults": ("page_faults", ""),
    "entries": ("entries", ""),
}
"""Map -> the field of its counts and of its sums."""


def put(fields: dict[str, int], kind: str, has_data: int, requests: int, sectors: int) -> None:
    """Add requests of one kind to the counts of who sent them."""
    direction = {"R": "read", "W": "write"}.get(kind.removeprefix("F")[:1])
    rows = (
        [(f"device_{direction}s", requests), (f"device_{direction}_bytes", sectors * SECTOR_BYTES)]
        if direction and has_data
        else []
    )
    rows += [("device_flushes", requests)] if bpftrace.is_flush(kind) else []
    for name, amount in rows:
        fields[name] = fields.get(name, 0) + amount
