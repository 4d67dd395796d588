"""Hears of every file that is opened, or closed after it was open for writing: fanotify(7). Needs CAP_SYS_ADMIN.

Events name files by handles, not by descriptors: a descriptor in the queue would keep a removed file alive, and the pages that
are then thrown away would be charged to us. Handles are turned into paths after the command's end.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import os
import stat
import struct
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import NamedTuple

from assay.machine.stack import Mount

FAN_CLOEXEC, FAN_NONBLOCK, FAN_UNLIMITED_QUEUE, FAN_REPORT_FID = 0x1, 0x2, 0x10, 0x200
FAN_MARK_ADD, FAN_MARK_REMOVE, FAN_MARK_FILESYSTEM = 0x1, 0x2, 0x100
FAN_CLOSE_WRITE, FAN_OPEN = 0x8, 0x20
AT_FDCWD = -100
INFO_FID = b"\1"
LENGTH = struct.Struct("=I")
EVENT_BYTES = 24
"""`struct fanotify_event_metadata`: length, version, reserved, length of this part, mask, descriptor, process."""
BUFFER_BYTES = 1 << 18
LARGEST_BYTES = 512
"""No event is as long: 24 bytes, a record of 12, a file handle of at most 136 (MAX_HANDLE_SZ and its head)."""
SILENT = frozenset(
    (
        *("proc", "sysfs", "devpts", "cgroup", "cgroup2", "securityfs", "debugfs", "tracefs", "pstore", "bpf"),
        *("mqueue", "hugetlbfs", "configfs", "fusectl", "autofs", "binfmt_misc", "rpc_pipefs", "nsfs", "efivarfs"),
    )
)
"""File systems without files whose data could be dirty."""


class FileOpening(NamedTuple):
    """One thing that one process did to one file. A tuple: on a busy machine there are a thousand a second, most of others."""

    key: bytes
    """File system id and file handle."""
    pid: int
    written: bool


class Opens:
    """What is opened on these mounts from now on. Raises OSError where the kernel does not let us listen."""

    def __init__(self, mounts: Iterable[Mount]) -> None:
        self._libc = ctypes.CDLL(None, use_errno=True)
        flags = FAN_CLOEXEC | FAN_NONBLOCK | FAN_UNLIMITED_QUEUE | FAN_REPORT_FID
        self._descriptor = self._libc.fanotify_init(flags, os.O_RDONLY)
        if self._descriptor < 0:
            raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
        self._points: dict[bytes, str] = {}
        self._buffer = bytearray(BUFFER_BYTES)
        self.refusing: set[str] = set()
        """Where file systems are mounted that refuse to be listened to."""
        self.all_opens = True
        """Whether we hear of what is opened, too, and not of files alone that were open for writing."""
        for mount in whole(mounts):
            self._mark(mount)

    def drain(self, inside: Mapping[int, bool]) -> Iterator[FileOpening]:
        """Yield all that happened since the last call, without what processes did that are known not to be inside."""
        size = BUFFER_BYTES
        while size > BUFFER_BYTES - LARGEST_BYTES:  # else all that waited had room
            try:
                size = os.readv(self._descriptor, (self._buffer,))
            except BlockingIOError:
                return
            yield from _events(memoryview(self._buffer)[:size], inside)

    def hear_writes_alone(self) -> None:
        """Hear from now on of files alone that are closed after they were open for writing: far fewer."""
        self.all_opens = False
        self._hear_no_more(FAN_OPEN)

    def hear_nothing(self) -> None:
        """Let nothing more wait for us; what waits already can be drained."""
        self.all_opens = False
        self._hear_no_more(FAN_OPEN | FAN_CLOSE_WRITE)

    def paths(
        self, keys: Iterable[bytes], also: Callable[[os.stat_result], bool] = lambda _: False
    ) -> Iterator[tuple[bytes, str]]:
        """Yield where these files and block devices are now, and what else is wanted; one that was removed is left out."""
        roots: dict[bytes, int] = {}
        try:
            for key in keys:
                found = self._path(key, roots, also)
                if found is not None:
                    yield key, found
        finally:
            for root in roots.values():
                os.close(root)

    def close(self) -> None:
        """Hear no more; the kernel removes all marks."""
        os.close(self._descriptor)

    def _mark(self, mount: Mount) -> None:
        if self._change(FAN_MARK_ADD, FAN_OPEN | FAN_CLOSE_WRITE, mount.point):
            self.refusing.add(mount.point)
            return
        with contextlib.suppress(OSError):
            self._points[struct.pack("=Q", os.statvfs(mount.point).f_fsid)] = mount.point

    def _hear_no_more(self, mask: int) -> None:
        for point in self._points.values():
            self._change(FAN_MARK_REMOVE, mask, point)

    def _change(self, how: int, mask: int, point: str) -> int:
        """Change what we hear of a file system; 0 where that could be done."""
        flags = how | FAN_MARK_FILESYSTEM
        return int(self._libc.fanotify_mark(self._descriptor, flags, ctypes.c_uint64(mask), AT_FDCWD, os.fsencode(point)))

    def _path(self, key: bytes, roots: dict[bytes, int], also: Callable[[os.stat_result], bool]) -> str | None:
        system, handle = key[:8], key[8:]
        point = self._points.get(system)
        if point is None:
            return None
        try:
            if system not in roots:
                roots[system] = os.open(point, os.O_RDONLY | os.O_CLOEXEC)
            descriptor = self._open(roots[system], handle)
        except OSError:
            return None
        try:
            found = os.fstat(descriptor)
            holds_data = stat.S_ISREG(found.st_mode) or stat.S_ISBLK(found.st_mode)
            if not (holds_data or also(found)) or not found.st_nlink:
                return None
            return os.readlink(f"/proc/self/fd/{descriptor}")  # noqa: PTH115 - many of them
        finally:
            os.close(descriptor)

    def _open(self, root: int, handle: bytes) -> int:
        descriptor = int(self._libc.open_by_handle_at(root, ctypes.create_string_buffer(handle), os.O_PATH | os.O_CLOEXEC))
        if descriptor < 0:
            raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
        return descriptor


def listen(mounts: Iterable[Mount]) -> tuple[Opens | None, str | None]:
    """Return the opened files of these mounts, or the reason why they cannot be heard of."""
    try:
        return Opens(mounts), None
    except OSError as error:
        return None, f"fanotify: {error.strerror or error}"


def whole(mounts: Iterable[Mount]) -> tuple[Mount, ...]:
    """Return one mount for each file system that holds data, the one that shows most of it."""
    found: dict[str, Mount] = {}
    for mount in mounts:
        if mount.filesystem in SILENT:
            continue
        known = found.get(mount.device_number)
        if known is None or len(mount.root) < len(known.root):
            found[mount.device_number] = mount
    return tuple(found.values())


def _events(raw: memoryview, inside: Mapping[int, bool]) -> Iterator[FileOpening]:
    """Yield the events of processes that are not known to be outside.

    Those of one length in a row, which are nearly all (the handles of one file system), are taken apart in one go.
    """
    at = 0
    while at + EVENT_BYTES <= len(raw):
        (length,) = LENGTH.unpack_from(raw, at)
        rest = len(raw) - at
        if not EVENT_BYTES <= length <= rest:
            return
        for size, header, mask, pid, info in _alike(length).iter_unpack(raw[at : at + rest - rest % length]):
            if size != length:
                break
            at += length
            if inside.get(pid, True) and header == EVENT_BYTES and info[:1] == INFO_FID:
                yield FileOpening(info[4 : int.from_bytes(info[2:4], sys.byteorder)], pid, bool(mask & FAN_CLOSE_WRITE))


@functools.cache
def _alike(length: int) -> struct.Struct:
    """Return an event of so many bytes: length, length of its first part, mask, process, what follows."""
    return struct.Struct(f"=IxxHQ4xi{length - EVENT_BYTES}s")
