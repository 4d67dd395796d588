"""What a command's programs made storage read of themselves at their start: libraries, their own files, which are no data.

What of a system's libraries and of the named programs is in the page cache is noted before the exec, so that afterwards the bytes
that came are known by file. Of further program files that were opened (modules, locales) the former state is not known: these
bound the rest.
"""

from __future__ import annotations

import contextlib
import os
import posixpath
import re
import stat
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from assay.catalogue import Host
from assay.evidence.words import commands
from assay.frozen import dataclass
from assay.records import TreeAccount
from assay.watch.files import PROGRAMS, cached, identity

CACHE = "/etc/ld.so.cache"
"""Where the loader finds the libraries of this machine."""
PATHS = re.compile(rb"/[!-~]+")
VERSIONED = re.compile(r"\.so\.\d[.\d]*$|/ld-[^/]*$|-[\d.]+\.so$")
MODULE = re.compile(r"\.(so(\.\d+)*|pyc)$")
MOST_LIBRARIES = 1500
MOST_OPENED = 500
"""More cost more to look at than the budget has."""
LEAST_BYTES = 1 << 16
"""What storage was made to read less is not looked into."""

FileId = tuple[int, int]
"""Device and inode."""


@dataclass(frozen=True, kw_only=True)
class OwnFiles:
    """Program files before the exec, and which paths of the words are data, although programs are kept there."""

    cached: Mapping[FileId, int]
    named: tuple[str, ...]

    def holds(self, path: str) -> bool:
        """Return whether a file that was opened is one of a program, and not what the words name."""
        if any(path == name or path.startswith(f"{name.rstrip('/')}/") for name in self.named):
            return False
        return path.startswith(PROGRAMS) or MODULE.search(path) is not None or (self._id(path) in self.cached)

    @staticmethod
    def _id(path: str) -> FileId | None:
        found = identity(path)
        return found[:2] if found is not None else None


@dataclass(frozen=True, kw_only=True)
class OwnReads:
    """What storage was made to read of program files."""

    sure_bytes: int = 0
    doubtful_bytes: int = 0
    """At most so much more: of files whose former state is not known."""
    beside_data_bytes: int = 0
    """Of the doubtful ones on the disks that hold data, too; what other disks delivered is no data."""


def before(host: Host, argv: tuple[str, ...], directory: str) -> OwnFiles:
    """Return what of the libraries and of the named programs is in the page cache now; nothing where we may not ask."""
    words = [word for command in commands(argv) for word in command]
    named = (posixpath.normpath(posixpath.join(directory, word.rpartition("=")[2])) for word in words if "\0" not in word)
    programs = _programs(argv, directory)
    places = {name for name in named if name not in programs and name != "/" and os.path.lexists(name)}
    if directory.startswith(PROGRAMS):
        places.add(directory)
    known: dict[FileId, int] = {}
    calls = host.syscalls
    if calls is None:
        return OwnFiles(cached={}, named=tuple(places))
    with contextlib.suppress(OSError):
        for path in (*programs, *_libraries()):
            status = os.stat(path)  # noqa: PTH116 - many of them
            found = calls.cachestat(path)
            known[status.st_dev, status.st_ino] = found.cached * found.page_bytes
        return OwnFiles(cached=known, named=tuple(places))
    return OwnFiles(cached={}, named=tuple(places))


def read(host: Host, was: OwnFiles, opened: Iterable[str], data: Iterable[str], account: TreeAccount) -> OwnReads:
    """Return what came of program files that the command opened, of all that it made storage read; `data` is what it read else.

    Programs are mapped: without a major fault nothing of them came.
    """
    storage_bytes = account.read_bytes
    if storage_bytes < LEAST_BYTES or not was.cached:
        return OwnReads()
    sure, unknown, beside = 0, 0, 0
    disks = {_disk(path) for path in data}
    own = [path for path in opened if was.holds(path)]
    for path in own[:MOST_OPENED]:
        found, now = identity(path), cached(host, path) or 0
        held = was.cached.get(found[:2]) if found is not None else None
        if held is not None:
            sure += max(0, now - held)
        elif account.major_faults:
            unknown += now
            beside += now if _disk(path) in disks else 0
    sure = min(sure, storage_bytes)
    rest = storage_bytes - sure
    return OwnReads(sure_bytes=sure, doubtful_bytes=min(unknown, rest), beside_data_bytes=min(beside, rest))


def _disk(path: str) -> str:
    """Return the disk that holds a file, or is one, as /sys names it; a partition is of its disk."""
    with contextlib.suppress(OSError):
        found = os.stat(path)  # noqa: PTH116 - many of them
        number = found.st_rdev if stat.S_ISBLK(found.st_mode) else found.st_dev
        place = os.path.realpath(f"/sys/dev/block/{os.major(number)}:{os.minor(number)}")
        return posixpath.dirname(place) if os.path.exists(f"{place}/partition") else place  # noqa: PTH110
    return ""


def _programs(argv: tuple[str, ...], directory: str) -> frozenset[str]:
    """Return where the programs are that the words call, each as the file that it is."""
    first = [command[0] for command in commands(argv) if command]
    if first[:1] != list(argv[:1]):
        first += argv[:1]
    return frozenset(os.path.realpath(path) for word in first for path in _places(word, directory))


def _places(word: str, directory: str) -> Iterator[str]:
    """Yield where a program is that is called by this word."""
    places = [directory] if "/" in word else os.get_exec_path()
    found = (posixpath.join(place, word) for place in places)
    yield from [path for path in found if os.path.isfile(path) and os.access(path, os.X_OK)][:1]  # noqa: PTH113 - many of them


def _libraries() -> Iterator[str]:
    with contextlib.suppress(OSError):
        text = Path(CACHE).read_bytes()
        found = dict.fromkeys(path.decode() for path in PATHS.findall(text))
        versioned = [path for path in found if VERSIONED.search(path) and os.path.exists(path)]  # noqa: PTH110 - many of them
        yield from versioned[:MOST_LIBRARIES]
