"""Files, block devices and file systems that a command used: what of them is in memory, and the drain of what it wrote."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import posixpath
import stat
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from assay.catalogue import CacheStat, Host
from assay.errors import EvidenceError
from assay.evidence.snapshots import Origin, gauge
from assay.frozen import dataclass
from assay.machine import tape
from assay.machine.stack import Mount, backing_file, device_stack, memory_device, mount_of, stack, writing_mount
from assay.records import IN_MEMORY, EndpointKind, OpenedFile, Place, Series, Server, TreeAccount, Watched
from assay.watch.reports import PHASE

LONGEST_PATH = 4096
MOST_NAMED = 1000
"""More paths cost more to look at than the budget has; they are still heard of when they are opened."""
PROGRAMS = ("/usr/", "/lib", "/bin/", "/sbin/", "/etc/")
UNKNOWN_SHARE = 0.01
UNKNOWN_BYTES = 1 << 20
"""Directories, inodes and journals are dirtied too: less than this is not missed."""

Identity = tuple[int, int, int, int]
"""Device, inode, time of change in ns, size in bytes."""


@dataclass(frozen=True, kw_only=True)
class Before:
    """A path that an argument names, as it was before the command ran."""

    path: str
    identity: Identity | None
    """None where there was no regular file or block device."""
    cached_bytes: int | None


@dataclass(frozen=True, kw_only=True)
class Drain:
    """syncfs of each file system with several written files; fsync of a file that is alone on its own, and of block devices."""

    took_ns: int
    refused: tuple[str, ...]
    """Files that could not be flushed, with the reason."""


def named(argv: Sequence[str], directory: str) -> tuple[str, ...]:
    """Absolute paths that arguments may name: `x`, `of=x`, `--filename=x`, several joined by a colon; each once."""
    texts: list[str] = []
    for word in argv[1:]:
        _, _, after = word.partition("=")
        texts += (word, after, *after.split(":"))
    paths = (posixpath.normpath(posixpath.join(directory, text)) for text in texts if _may_be_path(text))
    return tuple(dict.fromkeys(paths))[:MOST_NAMED]


def inherited() -> dict[str, bool]:
    """Path -> open for writing, of every file that the command finds open: standard input, and what a shell opened for it."""
    found: dict[str, bool] = {}
    for name in os.listdir("/proc/self/fd"):  # noqa: PTH208 - names, not paths
        number = int(name)
        try:
            if number not in (1, 2) and (number == 0 or os.get_inheritable(number)) and stat.S_ISREG(os.fstat(number).st_mode):
                found[str(Path(f"/proc/self/fd/{number}").readlink())] = _for_writing(number)
        except OSError:
            continue
    return found


def before(host: Host, paths: Iterable[str]) -> tuple[Before, ...]:
    """Return how each path is now."""
    return tuple(Before(path=path, identity=identity(path), cached_bytes=cached(host, path)) for path in paths)


def identity(path: str) -> Identity | None:
    """Return what tells a regular file or block device from another and from itself before; None where there is none."""
    try:
        found = Path(path).stat()
        size = _device_size(path) if stat.S_ISBLK(found.st_mode) else found.st_size
    except (OSError, ValueError):
        return None
    holds_data = stat.S_ISREG(found.st_mode) or stat.S_ISBLK(found.st_mode)
    return (found.st_dev, found.st_ino, found.st_ctime_ns, size) if holds_data else None


def changed(was: Sequence[Before]) -> tuple[str, ...]:
    """Return the paths that were made or changed since."""
    return tuple(one.path for one in was if (now := identity(one.path)) is not None and now != one.identity)


def merged(was: Sequence[Before], opened: Mapping[str, bool], is_own: Callable[[str], bool]) -> dict[str, bool]:
    """Return path -> written, each file once and by the name that an argument has for it.

    What is gone is left out, and so is what any program reads for itself (`is_own`): its libraries, its locale.
    """
    known = {now[:2]: one.path for one in was if (now := identity(one.path)) is not None}
    found = dict.fromkeys(changed(was), True)
    for path, written in opened.items():
        now = identity(path)
        if now is not None and (written or now[:2] in known or not is_own(path)):
            name = known.setdefault(now[:2], path)
            found[name] = found.get(name, False) or written
    return found


NO_SOURCE = os.makedev(1, 3)
"""/dev/null, from which nothing can be read."""


def is_source(found: os.stat_result) -> bool:
    """Return whether this is a device of characters from which bytes come: /dev/zero, /dev/urandom, a tape, a terminal."""
    return stat.S_ISCHR(found.st_mode) and found.st_rdev != NO_SOURCE


def regular(path: str) -> bool:
    """Return whether this is a file of a file system: only these have extents."""
    return Path(path).is_file()


def cached(host: Host, path: str) -> int | None:
    """Return bytes of a file in the page cache; None where that cannot be known."""
    found = pages(host, path)
    return None if found is None else found.cached * found.page_bytes


def pages(host: Host, path: str) -> CacheStat | None:
    """cachestat of a file; None where there is none or we may not ask."""
    if host.syscalls is None or identity(path) is None:
        return None
    try:
        return host.syscalls.cachestat(path)
    except OSError:
        return None


def dirty(found: CacheStat | None) -> int | None:
    """Return bytes of a file dirty or under write-back; None where that cannot be known."""
    if found is None or found.dirty is None or found.writeback is None:
        return None
    return (found.dirty + found.writeback) * found.page_bytes


def after(host: Host, was: Sequence[Before], files: Mapping[str, bool]) -> tuple[OpenedFile, ...]:
    """Return what every touched file holds right now, written ones first, then large ones."""
    known = {one.path: one for one in was}
    order = sorted(files, key=lambda path: not files[path])
    found = [_file_record(host, path, known.get(path), written=files[path]) for path in order]
    return tuple(sorted(found, key=lambda one: (not one.written, -one.size_bytes)))


def drain(host: Host, paths: Sequence[str]) -> Drain | None:
    """Flush what these files hold; None where there are none.

    A flush of each of many files costs a flush of the device each. A flush of the whole file system also writes what others
    left dirty there, so that a file that is alone is flushed by itself.
    """
    if not paths:
        return None
    systems: dict[object, list[str]] = {}
    for path in paths:
        systems.setdefault(_system(path) if host.syscalls else path, []).append(path)
    began = time.monotonic_ns()
    refused = [f"{group[0]}: {why}" for group in systems.values() if (why := _flush(host, group)) is not None]
    return Drain(took_ns=time.monotonic_ns() - began, refused=tuple(refused))


def _system(path: str) -> object:
    """Return what tells file systems apart; a block device, and what is gone by now, is by itself."""
    try:
        return (_where(path)[0] and path) or _where(path)
    except OSError:
        return path


def unknown_bytes(account: TreeAccount, files: Iterable[OpenedFile]) -> int:
    """Return bytes that the tree dirtied and neither removed nor can have in the files that it is known to have written."""
    known = sum(one.size_bytes for one in files if one.written) + account.cancelled_write_bytes
    rest = account.write_bytes - known
    return rest if rest > max(UNKNOWN_SHARE * account.write_bytes, UNKNOWN_BYTES) else 0


def _file_record(host: Host, path: str, was: Before | None, *, written: bool) -> OpenedFile:
    found, now = pages(host, path), identity(path)
    return OpenedFile(
        path=path,
        written=written,
        size_bytes=now[3] if now else 0,
        dirty_bytes=dirty(found),
        cached_before_bytes=None if was is None else was.cached_bytes if was.identity else 0,
        cached_after_bytes=None if found is None else found.cached * found.page_bytes,
    )


def _flush(host: Host, paths: Sequence[str]) -> str | None:
    """Flush a file, or the file system of several; why not, where it cannot be done."""
    path, *further = paths
    try:
        if further and host.syscalls is not None:
            host.syscalls.syncfs(path)
            return None
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        return error.strerror
    try:
        os.fsync(descriptor)
    except OSError as error:
        return error.strerror
    finally:
        os.close(descriptor)
    return None


def _may_be_path(text: str) -> bool:
    return 0 < len(text) < LONGEST_PATH and not text.startswith("-") and "\0" not in text and "\n" not in text


def _device_size(path: str) -> int:
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        return os.lseek(descriptor, 0, os.SEEK_END)
    finally:
        os.close(descriptor)


def _for_writing(number: int) -> bool:
    import fcntl

    return bool(fcntl.fcntl(number, fcntl.F_GETFL) & os.O_ACCMODE)


EXTENTS = "extents"
EXTENT_METRICS = ("hole_bytes", "unwritten_bytes", "file_bytes", "encoded_bytes")
MOST_EXTENTS = 256
LEAST_EXTENT_BYTES = 1 << 20
"""Smaller files are libraries and settings."""


def late_extents(host: Host, watched: Watched) -> tuple[Series, ...]:
    """Return the extents of files that were read and that no observer looked at, the largest first."""
    known = {one.subject for one in watched.observations.series if one.layer == EXTENTS}
    wanted = [one for one in watched.files if not one.written and f"path:{one.path}" not in known]
    wanted = [one for one in sorted(wanted, key=lambda one: -one.size_bytes) if one.size_bytes >= LEAST_EXTENT_BYTES]
    return tuple(series for one in wanted[:MOST_EXTENTS] for series in extents_of(host, watched, one))


def extents_of(host: Host, watched: Watched, file: OpenedFile) -> Iterator[Series]:
    """Yield one file; nothing where the file system does not tell."""
    if host.syscalls is None:
        return
    try:
        found = host.syscalls.fiemap(file.path)
    except OSError:
        return
    origin = Origin(host=host.name, phase=PHASE, source="page_cache:FIEMAP", layer=EXTENTS)
    for metric in EXTENT_METRICS:
        yield gauge(origin, f"path:{file.path}", metric, "bytes", [(watched.elapsed_ns, getattr(found, metric))])


TARGET = "stat"
"""The name of the places of a command's own choice."""


def places(host: Host, paths: Iterable[str], server: Server | None = None) -> tuple[Place, ...]:
    """Return one place for each file system or block device that these paths are on, in order; what is nowhere has none.

    A server of which the command is a client stands at the first.
    """
    found: dict[tuple[bool, int], Place] = {}
    for path in paths:
        with contextlib.suppress(EvidenceError, OSError, ValueError):
            is_character = Path(path).is_char_device()
            drive = tape.node(host.real_path(path)) if is_character else None
            if is_character and drive is None:  # /dev/null and terminals hold no data
                continue
            where = _where(path)
            if where not in found:
                found[where] = _place(host, path) if drive is None else _tape(host, path, drive.drive)
    first, *others = found.values() or (None,)
    return () if first is None else (dataclasses.replace(first, server=server), *filter(None, others))


def _tape(host: Host, path: str, drive: str) -> Place:
    return Place(target=TARGET, host=host.name, kind=EndpointKind.DEVICE, address=host.real_path(path), tape=drive)


def _where(path: str) -> tuple[bool, int]:
    """What tells the file system of a path (or of the directory that it is to be made in), or a device, from others."""
    try:
        status = Path(path).stat()
    except FileNotFoundError:
        return False, Path(path).parent.stat().st_dev
    device = stat.S_ISBLK(status.st_mode) or stat.S_ISCHR(status.st_mode)
    return device, status.st_rdev if device else status.st_dev


def _volatile(host: Host, mount: Mount) -> str | None:
    below = writing_mount(host, mount).filesystem
    return below if below in IN_MEMORY and mount.filesystem not in IN_MEMORY else None


def _place(host: Host, path: str) -> Place:
    """Return the block device that a path names, else the mount of the path."""
    real = host.real_path(path)
    mount = None if real.startswith("/dev/") and Path(real).is_block_device() else mount_of(host, path)
    devices = device_stack(host, posixpath.basename(real)) if mount is None else stack(host, path)
    return Place(
        target=TARGET,
        host=host.name,
        kind=EndpointKind.DEVICE if mount is None else EndpointKind.DIRECTORY,
        address=real if mount is None else mount.point,
        devices=devices,
        backing_files=tuple(image for device in devices if (image := backing_file(host, device)) is not None),
        filesystem=None if mount is None else mount.filesystem,
        volatile=memory_device(host, devices) or (None if mount is None else _volatile(host, mount)),
    )
