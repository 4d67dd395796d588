"""What a survey found: files by age and size counted as they come by, and the same as a TOML profile that `metadata` imitates."""

from __future__ import annotations

import json
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from operator import attrgetter
from os import stat_result

from assay.errors import RefusedError
from assay.frozen import dataclass
from assay.survey.bands import AGE_BANDS, SIZE_BANDS, AgeBand, SizeBand, bytes_text
from assay.survey.filters import FileTime, Keeper

MOST_NAMED = 5
"""Paths that are named of those that were left out or could not be read; all of them are counted."""


@dataclass(frozen=True, kw_only=True)
class FileSum:
    """Some files together: their number, the bytes they seem to have and those that are allocated to them."""

    files: int
    bytes: int
    allocated_bytes: int


@dataclass(frozen=True, kw_only=True)
class Distribution:
    """The files that the filters keep, by age (youngest first) and size (smallest first); an inode counts once."""

    cells: tuple[tuple[FileSum, ...], ...]
    """[age band][size band]."""
    ages: tuple[FileSum, ...]
    sizes: tuple[FileSum, ...]
    kept: FileSum
    tree: FileSum
    """All regular files, whether kept or not."""
    further_names: int
    """Names of kept files beyond their first (hard links), which are not counted."""
    sparse_files: int
    """Kept files that have fewer bytes allocated than they seem to have: sparse, compressed or stored in their inode."""
    later_files: int
    """Kept files whose time lies after the start of the survey; they count as young."""


@dataclass(frozen=True, kw_only=True)
class Trouble:
    """A path that could not be read, and why."""

    path: str
    reason: str


@dataclass(frozen=True, kw_only=True)
class Walked:
    """What the walk met besides regular files."""

    directories: int
    others: int
    """Symbolic links, sockets, pipes and devices, which are not followed, opened or counted."""
    vanished: int
    """Names that were gone when they were looked at."""
    unread: int
    """Directories and files that could not be read."""
    first_unread: tuple[Trouble, ...]
    elsewhere: int
    """Directories with another file system behind them, which were left out."""
    first_elsewhere: tuple[str, ...]
    touched: int
    """Directories that could be read only in the ordinary way, which may set their access time."""


@dataclass(frozen=True, kw_only=True)
class Survey:
    """The whole result of a survey."""

    directories: tuple[str, ...]
    started_utc: str
    clock: FileTime
    filters: tuple[str, ...]
    """As on the command line; empty where every file is kept."""
    crossed: bool
    """Whether other file systems below the directories were walked too."""
    coarse: tuple[str, ...]
    """Why the times that ages are counted from tell less than they seem to."""
    distribution: Distribution
    walked: Walked
    age_bands: tuple[AgeBand, ...] = AGE_BANDS
    size_bands: tuple[SizeBand, ...] = SIZE_BANDS


def toml_profile(survey: Survey) -> str:
    """Return the profile: title, source, facts of the survey and a row for each size band that has files.

    Raises RefusedError where there is no file: such a distribution could not be imitated.
    """
    if not survey.distribution.kept.files:
        raise RefusedError("no file matches the filters: a profile needs at least one")
    return "\n\n".join((_title(survey), _sizes(survey), _facts(survey))) + "\n"


def _title(survey: Survey) -> str:
    where = ", ".join(survey.directories)
    command = " ".join(("assay survey", *survey.directories, *survey.filters))
    return f"title = {quoted(f'Files of {where}')}\nsource = {quoted(f'{command}, {survey.started_utc[:10]}')}"


def _sizes(survey: Survey) -> str:
    bands = zip(survey.size_bands, survey.distribution.sizes, strict=True)
    rows = (f"    {{ {_end(band.most_bytes)}{_counts(group)} }}," for band, group in bands if group.files)
    return "\n".join(("sizes = [", *rows, "]"))


def _end(most_bytes: int | None) -> str:
    return "" if most_bytes is None else f"up_to = {quoted(bytes_text(most_bytes))}, "


def _facts(survey: Survey) -> str:
    found = survey.distribution
    bands = zip(survey.age_bands, found.ages, strict=True)
    ages = (f"    {{ band = {quoted(band.label)}, {_counts(group)} }}," for band, group in bands if group.files)
    facts = (
        "[survey]",
        f"directories = [{', '.join(quoted(path) for path in survey.directories)}]",
        f"date = {quoted(survey.started_utc)}",
        f"filters = [{', '.join(quoted(text) for text in survey.filters)}]",
        f"clock = {quoted(survey.clock.value)}",
        f"files = {found.kept.files}",
        f"bytes = {found.kept.bytes}",
        f"allocated_bytes = {found.kept.allocated_bytes}",
        f"directories_walked = {survey.walked.directories}",
        "ages = [",
        *ages,
        "]",
    )
    return "\n".join(facts)


def _counts(group: FileSum) -> str:
    return f"files = {group.files}, bytes = {group.bytes}"


def quoted(text: str) -> str:
    """Return a basic string of TOML: as in JSON, which leaves only DEL bare where TOML does not."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


SECTOR = 512
"""Bytes of a block of `st_blocks`, whatever the file system's blocks are (stat(2))."""
WIDTH = len(SIZE_BANDS)


class Links:
    """Tells the first name of an inode from its others; forgets an inode when all its names have come."""

    def __init__(self) -> None:
        self._left: dict[tuple[int, int], int] = {}

    def first(self, status: stat_result) -> bool:
        """Return whether no name of this inode came before."""
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

    def __init__(self, clock: FileTime, now_ns: int, keep: Keeper | None) -> None:
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
        """Return what has been counted so far."""
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
