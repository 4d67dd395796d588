"""Trees of files that got a further or another name: `cp -al`, `rsync --link-dest`, a directory that was moved.

No file of such a tree is opened or written. What is looked at are the directories that arguments name: a file in them that was
there before the command, and whose name is new, has no data of its own.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from assay.frozen import dataclass
from assay.hosts import extents
from assay.records import FileGrowth

MOST_ENTRIES = 10_000
"""More entries take longer to look at than the command is worth; the rest is left out."""
TICK_NS = 10_000_000
"""The time of a change is that of the kernel's last tick."""

Inode = tuple[int, int]
"""Device and number."""


@dataclass(frozen=True, kw_only=True)
class Known:
    """What arguments named before the command: the inodes, by path, and which of the paths were directories."""

    paths: Sequence[str]
    inodes: Mapping[str, Inode]
    directories: frozenset[str]


def known(paths: Sequence[str]) -> Known:
    """Return what these paths are now."""
    found = {path: status for path in paths if (status := _status(path)) is not None}
    return Known(
        paths=paths,
        inodes={path: (one.st_dev, one.st_ino) for path, one in found.items()},
        directories=frozenset(path for path in found if os.path.isdir(path)),  # noqa: PTH112 - thousands of paths
    )


def linked(was: Known, since_ns: int) -> Iterator[FileGrowth]:
    """Yield one growth for each of the directories in which files of before have new names."""
    gone = frozenset(inode for path, inode in was.inodes.items() if _status(path) is None)
    walk = Walk(gone=gone, since_ns=since_ns - TICK_NS)
    for path in was.paths:
        here = _status(path)
        if here is None or not os.path.isdir(path):  # noqa: PTH112
            continue
        moved = path not in was.directories and (here.st_dev, here.st_ino) in gone
        total = sum(walk.named_anew(path, moved=moved))
        if total:
            yield FileGrowth(path=path, bytes=total, linked_bytes=total)


class Walk:
    """Looks at directories until there were too many entries; each inode counts once."""

    def __init__(self, *, gone: frozenset[Inode], since_ns: int) -> None:
        self.gone, self.since_ns = gone, since_ns
        self.seen: set[Inode] = set()
        self.left = MOST_ENTRIES

    def named_anew(self, directory: str, *, moved: bool) -> Iterator[int]:
        """Yield the bytes of each file below that was there before and whose name is new; all of them where it was moved.

        A directory in which nothing was made is passed over.
        """
        is_changed = self._is_changed(directory)
        for entry in _entries(directory) if moved or is_changed else ():
            self.left -= 1
            if self.left < 0:
                return
            try:
                one = entry.stat(follow_symlinks=False)
            except FileNotFoundError:  # removed meanwhile
                continue
            inode = (one.st_dev, one.st_ino)
            if entry.is_dir(follow_symlinks=False):
                yield from self.named_anew(entry.path, moved=moved or inode in self.gone)
            elif entry.is_file(follow_symlinks=False) and inode not in self.seen:
                further = one.st_nlink > 1 and is_changed and one.st_ctime_ns >= self.since_ns
                if (moved or inode in self.gone or further) and self._was_there(entry.path):
                    self.seen.add(inode)
                    yield one.st_size

    def _is_changed(self, directory: str) -> bool:
        """Whether names were made in a directory: also in a new one to which its copier gave the time of the old one."""
        status = _status(directory)
        if status is None or status.st_ctime_ns < self.since_ns:
            return False
        return status.st_mtime_ns >= self.since_ns or (extents.born_ns(directory) or 0) >= self.since_ns

    def _was_there(self, path: str) -> bool:
        born = extents.born_ns(path)
        return born is not None and born < self.since_ns


def _entries(directory: str) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(directory) as found:
            return list(found)
    except OSError:
        return []


def _status(path: str) -> os.stat_result | None:
    try:
        return Path(path).stat()
    except (OSError, ValueError):
        return None
