"""Which regular files a command touched, what of them is in memory, and the drain of those that it wrote."""

from __future__ import annotations

import os
import posixpath
import stat
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from assay.catalogue import CacheStat, Host
from assay.records import Touched

LONGEST_PATH = 4096


@dataclass(frozen=True, kw_only=True)
class Before:
    """A path that an argument names, as it was before the command ran."""

    path: str
    identity: tuple[int, int, int] | None
    """Inode, time of change and size; None where there was nothing."""
    cached_bytes: int | None


def named(argv: Sequence[str], directory: str) -> tuple[str, ...]:
    """Absolute paths that arguments may name: `x`, `of=x`, `--filename=x`, several joined by a colon; each once."""
    texts: list[str] = []
    for word in argv[1:]:
        _, _, after = word.partition("=")
        texts += (word, after, *after.split(":"))
    return tuple(dict.fromkeys(posixpath.normpath(posixpath.join(directory, text)) for text in texts if _may_be_path(text)))


def _may_be_path(text: str) -> bool:
    return 0 < len(text) < LONGEST_PATH and not text.startswith("-") and "\0" not in text and "\n" not in text


def before(host: Host, paths: Iterable[str]) -> tuple[Before, ...]:
    """How each path is now."""
    return tuple(Before(path=path, identity=identity(path), cached_bytes=cached(host, path)) for path in paths)


def identity(path: str) -> tuple[int, int, int] | None:
    """Inode, time of change and size of a regular file; None where there is none."""
    try:
        found = Path(path).stat()
    except (OSError, ValueError):
        return None
    return (found.st_ino, found.st_ctime_ns, found.st_size) if stat.S_ISREG(found.st_mode) else None


def changed(was: Sequence[Before]) -> tuple[str, ...]:
    """The paths with a regular file that was made or changed since."""
    return tuple(one.path for one in was if (now := identity(one.path)) is not None and now != one.identity)


def cached(host: Host, path: str) -> int | None:
    """Bytes of a file in the page cache; None where that cannot be known."""
    found = pages(host, path)
    return None if found is None else found.cached * found.page_bytes


def pages(host: Host, path: str) -> CacheStat | None:
    """cachestat of a regular file; None where there is none or we may not ask."""
    if host.syscalls is None or identity(path) is None:
        return None
    try:
        return host.syscalls.cachestat(path)
    except OSError:
        return None


def after(host: Host, was: Sequence[Before], written: Iterable[str], opened: Iterable[str]) -> tuple[Touched, ...]:
    """What every touched file holds right now, and how much of it is dirty or under write-back."""
    known = {one.path: one for one in was}
    changes = set(written)
    return tuple(_touched(host, path, known.get(path), path in changes) for path in dict.fromkeys((*changes, *opened)))


def _touched(host: Host, path: str, was: Before | None, written: bool) -> Touched:  # noqa: FBT001 - a field of the record
    found = pages(host, path)
    size = identity(path)
    return Touched(
        path=path,
        written=written,
        size_bytes=size[2] if size else 0,
        dirty_bytes=None if found is None else (found.dirty + found.writeback) * found.page_bytes,
        cached_before_bytes=None if was is None else was.cached_bytes if was.identity else 0,
        cached_after_bytes=None if found is None else found.cached * found.page_bytes,
    )


@dataclass(frozen=True, kw_only=True)
class Drain:
    """fsync of every written file, one after the other."""

    took_ns: int
    refused: tuple[str, ...]
    """Files that could not be flushed, with the reason."""


def drain(paths: Sequence[str]) -> Drain | None:
    """Flush these files and nothing else; None where there are none."""
    if not paths:
        return None
    refused: list[str] = []
    began = time.monotonic_ns()
    for path in paths:
        try:
            descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
        except OSError as error:
            refused.append(f"{path}: {error.strerror}")
            continue
        try:
            os.fsync(descriptor)
        except OSError as error:
            refused.append(f"{path}: {error.strerror}")
        finally:
            os.close(descriptor)
    return Drain(took_ns=time.monotonic_ns() - began, refused=tuple(refused))
