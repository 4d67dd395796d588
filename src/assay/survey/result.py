"""What a survey found, by age and size, and the same as a TOML profile, which the workload `metadata` can imitate."""

from __future__ import annotations

import json
from dataclasses import dataclass

from assay.errors import RefusedError
from assay.survey.bands import AGE_BANDS, SIZE_BANDS, AgeBand, SizeBand, bytes_text
from assay.survey.filters import Clock

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


def toml_profile(survey: Survey) -> str:
    """The profile: title, source, facts of the survey and a row for each size band that has files.

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
    """A basic string of TOML: as in JSON, which leaves only DEL bare where TOML does not."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
