"""Which files a survey keeps: by owner, name, age and size."""

from __future__ import annotations

import fnmatch
import os
import re
from collections.abc import Callable
from enum import StrEnum
from os import stat_result

from assay import units
from assay.frozen import dataclass
from assay.survey import bands
from assay.terminal.printable import printable as escaped
from assay.units import Unit


def printable(path: str) -> str:
    """Return a path with escapes for bytes that are no UTF-8 and for control characters, which could steer a terminal."""
    text = os.fsencode(path).decode(errors="backslashreplace")
    return escaped(text)


class FileTime(StrEnum):
    """Which of a file's times is its age counted from."""

    MODIFIED = "mtime"
    ACCESSED = "atime"
    CHANGED = "ctime"


@dataclass(frozen=True, kw_only=True)
class Words:
    """The filters as they are typed."""

    owners: tuple[str, ...] = ()
    patterns: tuple[str, ...] = ()
    newer: str | None = None
    older: str | None = None
    least: str | None = None
    most: str | None = None


@dataclass(frozen=True, kw_only=True)
class Filters:
    """What a file must be to be kept; None and empty ask for nothing. Ages count back from the start of the survey."""

    owners: frozenset[int] = frozenset()
    patterns: tuple[str, ...] = ()
    """Globs of which the name must match one."""
    newer_ns: int | None = None
    """Younger than this."""
    older_ns: int | None = None
    """This old or older."""
    least_bytes: int | None = None
    most_bytes: int | None = None
    typed: tuple[str, ...] = ()
    """The same in words, one for each filter."""


Keeper = Callable[[str, stat_result], bool]
"""Whether a file of this name and status is kept."""


def resolve(words: Words, uid_of: Callable[[str], int | None]) -> tuple[Filters, tuple[str, ...]]:
    """Return the filters that are meant, and every mistake in the words; `uid_of` looks an owner's name up."""
    mistakes: list[str] = []
    filters = Filters(
        owners=frozenset(_owners(words.owners, uid_of, mistakes)),
        patterns=_patterns(words.patterns, mistakes),
        newer_ns=_quantity("--newer", words.newer, bands.age, mistakes),
        older_ns=_quantity("--older", words.older, bands.age, mistakes),
        least_bytes=_quantity("--least", words.least, _bytes, mistakes),
        most_bytes=_quantity("--most", words.most, _bytes, mistakes),
        typed=as_typed(words),
    )
    if filters.newer_ns is not None and filters.older_ns is not None and filters.older_ns >= filters.newer_ns:
        mistakes.append(
            f"found --older {words.older} and --newer {words.newer}; expected an age between them: --newer the larger"
        )
    if filters.least_bytes is not None and filters.most_bytes is not None and filters.least_bytes > filters.most_bytes:
        mistakes.append(f"found --least {words.least} and --most {words.most}; expected a size between them: --most the larger")
    return filters, tuple(mistakes)


def as_typed(words: Words) -> tuple[str, ...]:
    """Return the filters in words, as they stand on the command line."""
    single = (("--newer", words.newer), ("--older", words.older), ("--least", words.least), ("--most", words.most))
    return (
        *(f"--owner {printable(name)}" for name in words.owners),
        *(f"--pattern {printable(glob)}" for glob in words.patterns),
        *(f"{option} {text}" for option, text in single if text is not None),
    )


def keeper(filters: Filters, clock: FileTime, now_ns: int) -> Keeper | None:
    """Return the test of these filters at this time (since 1970); None where everything is kept."""
    tests = [*_name_tests(filters), *_size_tests(filters), *_age_tests(filters, clock, now_ns)]
    if not tests:
        return None
    if len(tests) == 1:
        return tests[0]
    return lambda name, status: all(test(name, status) for test in tests)


def _name_tests(filters: Filters) -> list[Keeper]:
    tests: list[Keeper] = []
    if filters.owners:
        tests.append(lambda _, status: status.st_uid in filters.owners)
    if filters.patterns:
        matches = re.compile("|".join(fnmatch.translate(glob) for glob in filters.patterns)).match
        tests.append(lambda name, _: matches(name) is not None)
    return tests


def _size_tests(filters: Filters) -> list[Keeper]:
    tests: list[Keeper] = []
    if (least := filters.least_bytes) is not None:
        tests.append(lambda _, status: status.st_size >= least)
    if (most := filters.most_bytes) is not None:
        tests.append(lambda _, status: status.st_size <= most)
    return tests


def _age_tests(filters: Filters, clock: FileTime, now_ns: int) -> list[Keeper]:
    field = f"st_{clock.value}_ns"
    tests: list[Keeper] = []
    if filters.newer_ns is not None:
        after_ns = now_ns - filters.newer_ns
        tests.append(lambda _, status: getattr(status, field) > after_ns)
    if filters.older_ns is not None:
        until_ns = now_ns - filters.older_ns
        tests.append(lambda _, status: getattr(status, field) <= until_ns)
    return tests


def _quantity(option: str, text: str | None, read: Callable[[str], int | units.Refusal], mistakes: list[str]) -> int | None:
    if text is None:
        return None
    result = read(text)
    if isinstance(result, units.Refusal):
        mistakes.append(f"{option}: found {result.found}; expected {result.expected}")
        return None
    return result


def _bytes(text: str) -> int | units.Refusal:
    result = units.attempt(text, Unit.BYTES)
    return result if isinstance(result, units.Refusal) else int(result)


def _owners(names: tuple[str, ...], uid_of: Callable[[str], int | None], mistakes: list[str]) -> list[int]:
    found = {name: int(name) if name.isascii() and name.isdigit() else uid_of(name) for name in names}
    mistakes.extend(
        f"--owner: found {name!r}, an unknown user; expected a user name or number" for name, uid in found.items() if uid is None
    )
    return [uid for uid in found.values() if uid is not None]


def _patterns(globs: tuple[str, ...], mistakes: list[str]) -> tuple[str, ...]:
    mistakes.extend(
        f"--pattern: found {glob!r}; expected a glob of a file name: not empty, without `/`"
        for glob in globs
        if "/" in glob or not glob
    )
    return globs
