"""What people add to an experiment and its runs: notes and tags, and which runs they deleted and why; raw data never change."""

from __future__ import annotations

import fcntl
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

from assay import plain
from assay.errors import DamagedError, RefusedError, UsageError
from assay.notebook import files, layout
from assay.records import DeletedRun

TAG = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:/-]{0,59}")
LONGEST_NOTE = 4000
UNPRINTABLE = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff]")
"""Control letters, and bytes of the call that are no UTF-8."""


@dataclass(frozen=True, kw_only=True)
class Remark:
    """What is added to one experiment or run."""

    text: str = ""
    tags: tuple[str, ...] = ()

    @property
    def words(self) -> str:
        """In a line: `nightly, kernel-6.18: the disk was new`."""
        return ": ".join(part for part in (", ".join(self.tags), self.text) if part)


@dataclass(frozen=True, kw_only=True)
class Annotations:
    """All of one experiment."""

    experiment: Remark = field(default_factory=Remark)
    runs: Mapping[str, Remark] = field(default_factory=dict)
    deleted: tuple[DeletedRun, ...] = ()

    def of(self, run: str | None) -> Remark:
        """Return what is added to a run, or to the experiment."""
        return self.experiment if run is None else self.runs.get(run, Remark())

    def with_note(self, run: str | None, note: Remark) -> Annotations:
        """Return the same with another note on a run, or on the experiment; an empty one goes."""
        if run is None:
            return replace(self, experiment=note)
        rest = {name: one for name, one in self.runs.items() if name != run}
        return replace(self, runs={**rest, run: note} if note != Remark() else rest)


def added_to(folder: Path) -> Annotations:
    """Return what is added to an experiment; nothing where there is no file of it. Raises DamagedError."""
    path = folder / layout.NOTES
    if not path.exists():
        return Annotations()
    try:
        return plain.from_plain(Annotations, files.read_json(path)["annotations"])
    except (KeyError, TypeError, AttributeError) as error:
        raise DamagedError(f"{path}: no notes and tags ({error}). Remove it, or restore it from a copy.") from error


def readable(folder: Path) -> Annotations:
    """Return what is added to an experiment as far as it can be read, for lists."""
    with suppress(DamagedError):
        return added_to(folder)
    return Annotations()


def annotate(folder: Path, change: Callable[[Annotations], Annotations]) -> Annotations:
    """Change what is added, whole or not at all; also while a run is being written. Raises DamagedError, RefusedError."""
    with locked(folder):
        made = change(added_to(folder))
        values = {"schema": layout.SCHEMA, "annotations": plain.to_plain(made)}
        files.write_whole(folder / layout.NOTES, files.to_json(values))
    return made


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Hold the folder against another change of its notes; where it cannot be locked the last one wins."""
    try:
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    except OSError as error:
        raise RefusedError(f"{folder}: not readable ({error.strerror}). Check permissions.") from error
    try:
        with suppress(OSError):
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def checked_tags(words: Iterable[str]) -> tuple[str, ...]:
    """Return tags. Raises UsageError naming each that is none."""
    given = tuple(dict.fromkeys(words))
    if wrong := [word for word in given if not TAG.fullmatch(word)]:
        found = ", ".join(map(repr, wrong))
        raise UsageError(f"found tag {found}; expected up to 60 letters, digits and . _ : / -, first a letter or a digit")
    return given


def checked_note(text: str) -> str:
    """Return a note in one line. Raises UsageError where it is too long."""
    line = " ".join(text.split())
    if UNPRINTABLE.search(line):
        raise UsageError("found a note with letters that cannot be printed; expected text")
    if len(line) > LONGEST_NOTE:
        raise UsageError(f"found a note of {len(line)} letters; expected at most {LONGEST_NOTE}")
    return line
