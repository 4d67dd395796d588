"""Counts files by band of age and size as they come by; touches nothing and keeps no file, but for open hard links."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from operator import attrgetter
from os import stat_result

from assay.survey.bands import AGE_BANDS, SIZE_BANDS
from assay.survey.filters import Clock, Keeper
from assay.survey.result import Distribution, FileSum

SECTOR = 512
"""Bytes of a block of `st_blocks`, whatever the file system's blocks are (stat(2))."""
WIDTH = len(SIZE_BANDS)


class Links:
    """Tells the first name of an inode from its others; forgets an inode when all its names have come."""

    def __init__(self) -> None:
        self._left: dict[tuple[int, int], int] = {}

    def first(self, status: stat_result) -> bool:
        """Whether no name of this inode came before."""
        inode = (status.st_dev, status.st_ino)
        left = self._left.get(inode)
        if left is None:
            self._left[inode] = status.st_nlink - 1
            return True
        if left > 1:
            self._left[inode] = left - 1
        else:
            del self._left[inode]
        return False


class Counting:
    """The counts of one survey: `see` every name of a regular file, then ask for the `size_distribution`.

    Ages are those at `now_ns` (since 1970) by the clock that is asked for; `keep` None keeps all.
    """

    def __init__(self, clock: Clock, now_ns: int, keep: Keeper | None) -> None:
        self._keep = keep
        self._when = attrgetter(f"st_{clock.value}_ns")
        self._now_ns = now_ns
        self._ends_ns = sorted(now_ns - band.least_ns for band in AGE_BANDS[1:])
        self._most = [band.most_bytes for band in SIZE_BANDS if band.most_bytes is not None]
        cells = len(AGE_BANDS) * WIDTH
        self._files, self._bytes, self._blocks = [0] * cells, [0] * cells, [0] * cells
        self._tree_files = self._tree_bytes = self._tree_blocks = 0
        self._further = self._sparse = self._later = 0
        self._kept_links, self._tree_links = Links(), Links()

    def see(self, name: str, status: stat_result) -> bool:
        """Count one name of a regular file; whether the filters keep it."""
        once = status.st_nlink < 2
        if self._keep is not None:
            if once or self._tree_links.first(status):
                self._tree_files += 1
                self._tree_bytes += status.st_size
                self._tree_blocks += status.st_blocks
            if not self._keep(name, status):
                return False
        if once or self._kept_links.first(status):
            self._add(self._when(status), status.st_size, status.st_blocks)
        else:
            self._further += 1
        return True

    def _add(self, time_ns: int, size: int, blocks: int) -> None:
        """One file into its cell; cells stand in the order of their times, the oldest first."""
        cell = bisect_left(self._ends_ns, time_ns) * WIDTH + bisect_left(self._most, size)
        self._files[cell] += 1
        self._bytes[cell] += size
        self._blocks[cell] += blocks
        if blocks * SECTOR < size:
            self._sparse += 1
        if time_ns > self._now_ns:
            self._later += 1

    def distribution(self) -> Distribution:
        """What has been counted so far."""
        rows = [self._row(first) for first in range(0, len(self._files), WIDTH)][::-1]
        ages = tuple(total(row) for row in rows)
        kept = total(ages)
        tree = FileSum(files=self._tree_files, bytes=self._tree_bytes, allocated_bytes=self._tree_blocks * SECTOR)
        return Distribution(
            cells=tuple(rows),
            ages=ages,
            sizes=tuple(total(column) for column in zip(*rows, strict=True)),
            kept=kept,
            tree=kept if self._keep is None else tree,
            further_names=self._further,
            sparse_files=self._sparse,
            later_files=self._later,
        )

    def _row(self, first: int) -> tuple[FileSum, ...]:
        numbers = zip(*(kind[first : first + WIDTH] for kind in (self._files, self._bytes, self._blocks)), strict=True)
        return tuple(FileSum(files=files, bytes=size, allocated_bytes=blocks * SECTOR) for files, size, blocks in numbers)


def total(groups: Iterable[FileSum]) -> FileSum:
    """Several groups that share no file as one."""
    listed = list(groups)
    return FileSum(
        files=sum(one.files for one in listed),
        bytes=sum(one.bytes for one in listed),
        allocated_bytes=sum(one.allocated_bytes for one in listed),
    )


def reaching(bands: Sequence[FileSum]) -> tuple[FileSum, ...]:
    """For each band, the files in it and in all that follow."""
    return tuple(total(bands[place:]) for place in range(len(bands)))
