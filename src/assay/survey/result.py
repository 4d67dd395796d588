"""What a survey found: the distribution by age and size, and what the walk met on its way."""

from __future__ import annotations

from dataclasses import dataclass

from assay.survey.bands import AGE_BANDS, SIZE_BANDS, AgeBand, SizeBand
from assay.survey.filters import Clock

MOST_TOLD = 5
"""Paths that are named of those that were left out or could not be read; all of them are counted."""


@dataclass(frozen=True, kw_only=True)
class Group:
    """Some files together: their number, the bytes they seem to have and those that are allocated to them."""

    files: int
    bytes: int
    allocated_bytes: int


@dataclass(frozen=True, kw_only=True)
class Distribution:
    """The files that the filters keep, by age (youngest first) and size (smallest first); an inode counts once."""

    cells: tuple[tuple[Group, ...], ...]
    """[age band][size band]."""
    ages: tuple[Group, ...]
    sizes: tuple[Group, ...]
    kept: Group
    tree: Group
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
    clock: Clock
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
