"""What a part carries, and which share of it a load uses.

Random writes cost a layout several operations of its disks: 2 in mirrors, 4 with one parity, 6 with two (read old data and
parity, write new ones): Patterson, Gibson, Katz, "A case for redundant arrays of inexpensive disks", SIGMOD 1988; two
parities likewise. With a disk lost, what is spread evenly waits for the mirror that is left alone, so mirrors read half; a read
of what was on the lost disk is one of all that its parity needs, so of n disks with p parities and f lost the random reads of
n / (1 + f (n - p) / (n - f)) are left, half of them with one parity: Holland, Gibson, "Parity declustering for continuous
operation in redundant disk arrays", ASPLOS 1992.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from assay.sizing.chain import Layout, Load, Part

PARITY: Mapping[Layout, int] = {Layout.RAID5: 1, Layout.RAID6: 2}
"""Disks' worth of parity."""
WRITES: Mapping[Layout, int] = {Layout.RAID10: 2, Layout.RAID5: 4, Layout.RAID6: 6}
"""Operations of the disks for a random write."""
LEAST_DISKS: Mapping[Layout, int] = {Layout.RAID0: 2, Layout.RAID10: 2, Layout.RAID5: 3, Layout.RAID6: 4}


@dataclass(frozen=True, kw_only=True)
class Limit:
    """What a part carries a second; 0 where nothing is left of it, None where it sets no limit."""

    read_bytes_per_s: float
    write_bytes_per_s: float
    shared: bool
    """Whether reads and writes take from one capacity."""
    read_ops_per_s: float | None
    write_ops_per_s: float | None
    is_disk: bool

    def used(self, load: Load) -> float:
        """The share of the part that a load takes (0..); infinite where nothing is left and something is asked.

        Disks move heads or move data: random operations take their time by number, sequential ones by bytes. On a wire all
        are bytes.
        """
        if self.is_disk:
            return sum(
                (
                    _share(load.read_bytes_per_s, self.read_bytes_per_s),
                    _share(load.write_bytes_per_s, self.write_bytes_per_s),
                    _share(load.read_ops_per_s, self.read_ops_per_s),
                    _share(load.write_ops_per_s, self.write_ops_per_s),
                )
            )
        each = _share(load.reading, self.read_bytes_per_s), _share(load.writing, self.write_bytes_per_s)
        by_bytes = sum(each) if self.shared else max(each)
        by_number = _share(load.read_ops_per_s, self.read_ops_per_s) + _share(load.write_ops_per_s, self.write_ops_per_s)
        return max(by_bytes, by_number)


def _share(asked: float, limit: float | None) -> float:
    if not asked or limit is None:
        return 0.0
    return asked / limit if limit else float("inf")


@dataclass(frozen=True, kw_only=True)
class Units:
    """How many units' worth of a part is the user's, in bytes and in random operations."""

    read: float = 0.0
    write: float = 0.0
    random_read: float = 0.0
    random_write: float = 0.0


def nominal(part: Part, failed: int = 0) -> Limit:
    """What the part should carry by its speed, with some of its units failed."""
    speed, units = part.speed, at_work(part, failed)
    return Limit(
        read_bytes_per_s=units.read * speed.bytes_per_s,
        write_bytes_per_s=units.write * speed.bytes_per_s,
        shared=speed.shared,
        read_ops_per_s=None if speed.read_ops_per_s is None else units.random_read * speed.read_ops_per_s,
        write_ops_per_s=None if speed.write_ops_per_s is None else units.random_write * speed.write_ops_per_s,
        is_disk=speed.is_disk,
    )


def at_work(part: Part, failed: int) -> Units:
    """What is left of the units; a disk that stood by counts only when it is rebuilt, any other unit at once."""
    full = part.speed.count - part.standby
    if not survives(part, failed):
        return Units()
    if part.layout is Layout.RAID10:
        readers = full / 2 if failed else full
        return Units(read=readers, write=full / 2, random_read=readers, random_write=full / WRITES[part.layout])
    if part.layout in PARITY:
        return of_parity(full, PARITY[part.layout], failed, WRITES[part.layout])
    active = max(0, min(full, part.speed.count - failed))
    return Units(read=active, write=active, random_read=active, random_write=active)


def of_parity(full: int, parity: int, failed: int, writes: int) -> Units:
    """The same of disks with parity: whole stripes in sequence, single reads and writes at random."""
    left = full - failed
    whole = left * (full - parity) / full
    return Units(
        read=whole,
        write=whole,
        random_read=full / (1 + failed * (full - parity) / left),
        random_write=left / writes,
    )


def survives(part: Part, failed: int) -> bool:
    """Whether anything is left with so many units failed: a stripe without copies is not."""
    if failed == 0:
        return True
    if part.speed.is_disk and part.layout in (Layout.NONE, Layout.RAID0):
        return False
    bearable = {Layout.RAID10: 1, Layout.RAID5: 1, Layout.RAID6: 2}.get(part.layout, part.speed.count - 1)
    return failed <= bearable


def limit(part: Part, failed: int = 0) -> Limit:
    """What counts: what was measured of it where that is told, reduced as the nominal limit is by a failure."""
    whole, left = nominal(part), nominal(part, failed)
    told = part.measured
    return Limit(
        read_bytes_per_s=_told(told.read_bytes_per_s, left.read_bytes_per_s, whole.read_bytes_per_s),
        write_bytes_per_s=_told(told.write_bytes_per_s, left.write_bytes_per_s, whole.write_bytes_per_s),
        shared=whole.shared,
        read_ops_per_s=_told_ops(told.ops_per_s, left.read_ops_per_s, whole.read_ops_per_s),
        write_ops_per_s=_told_ops(told.ops_per_s, left.write_ops_per_s, whole.read_ops_per_s),
        is_disk=whole.is_disk,
    )


def _told(measured: float | None, left: float, whole: float) -> float:
    return left if measured is None else min(measured, whole) * (left / whole if whole else 0.0)


def _told_ops(measured: float | None, left: float | None, whole: float | None) -> float | None:
    """A measured number of operations is one of reads; writes keep their ratio to them."""
    if measured is None:
        return left
    if left is None or not whole:
        return measured
    return measured * left / whole
