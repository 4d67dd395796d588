"""The extents of a file: where they lie, which are holes, unwritten or shared; and when the file was made.

Extents are asked by FS_IOC_FIEMAP, without the flag that flushes first.
"""

from __future__ import annotations

import ctypes
import errno
import fcntl
import os
import struct
from collections.abc import Iterator

from assay.frozen import dataclass

REQUEST = 0xC020660B
"""`_IOWR('f', 11, struct fiemap)` in the common encoding of ioctl numbers."""
HEADER = struct.Struct("=QQIIII")
"""start, length, flags, mapped extents, room for extents, reserved."""
EXTENT = struct.Struct("=QQQ2QI3I")
"""logical, physical, length, 2 reserved, flags, 3 reserved."""
BATCH = 128
"""Extents asked for at once."""
LAST_EXTENT, PLACELESS = 0x1, 0x2 | 0x4 | 0x200
"""FIEMAP_EXTENT_LAST; UNKNOWN, DELALLOC and DATA_INLINE, which have no place on the device of their own."""
WHOLE_FILE = (1 << 64) - 1


@dataclass(frozen=True, kw_only=True)
class Extent:
    """One extent as the kernel tells it, in bytes."""

    logical: int
    physical: int
    length: int
    flags: int


def placed(path: str) -> tuple[int, int] | None:
    """Return the lowest and the highest byte of the device that the file's extents lie between; None where none has a place yet.

    Raises OSError (ENOTTY, EOPNOTSUPP) where the file system has no such map.
    """
    file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        found = [(one.physical, one.physical + one.length) for one in _extents(file) if not one.flags & PLACELESS]
    finally:
        os.close(file)
    return (min(low for low, _ in found), max(high for _, high in found)) if found else None


UNWRITTEN, SHARED = 0x800, 0x2000
"""FIEMAP_EXTENT_UNWRITTEN: allocated and never written; FIEMAP_EXTENT_SHARED: of other files, too (reflink, deduplication)."""


@dataclass(frozen=True, kw_only=True)
class Empty:
    """Which bytes of a file nobody wrote for it."""

    hole_bytes: int
    unwritten_bytes: int
    shared_bytes: int


def empty(path: str) -> Empty:
    """Return what of a file is no data of its own; without a map of its extents what SEEK_HOLE tells. Raises OSError."""
    file = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    try:
        size = os.fstat(file).st_size
        try:
            known = [(one.flags, max(0, min(one.logical + one.length, size) - one.logical)) for one in _extents(file)]
        except OSError:
            return Empty(hole_bytes=size - sum(_data(file, size)), unwritten_bytes=0, shared_bytes=0)
    finally:
        os.close(file)
    return Empty(
        hole_bytes=max(0, size - sum(length for _, length in known)),
        unwritten_bytes=sum(length for flags, length in known if flags & UNWRITTEN),
        shared_bytes=sum(length for flags, length in known if flags & SHARED and not flags & UNWRITTEN),
    )


def _data(file: int, size: int) -> Iterator[int]:
    """Yield the length of each stretch of data between holes."""
    at = 0
    while at < size:
        try:
            begin = os.lseek(file, at, os.SEEK_DATA)
        except OSError as error:
            if error.errno != errno.ENXIO:  # no data behind this place
                raise
            return
        at = os.lseek(file, begin, os.SEEK_HOLE)
        yield at - begin


STATX, BIRTH, NANOSECONDS = struct.Struct("=I76xqI"), 0x800, 10**9
"""`struct statx`: the mask, and the time of birth, behind which more follows."""
STATX_BYTES = 256


def born_ns(path: str) -> int | None:
    """Return when a file was made (CLOCK_REALTIME, ns); None where that is not kept."""
    call = getattr(ctypes.CDLL(None), "statx", None)
    room = ctypes.create_string_buffer(STATX_BYTES)
    if call is None or call(-100, os.fsencode(path), 0, BIRTH, room):  # AT_FDCWD
        return None
    mask, seconds, rest_ns = STATX.unpack_from(room)
    return seconds * NANOSECONDS + rest_ns if mask & BIRTH else None


def _extents(file: int) -> Iterator[Extent]:
    """Yield every extent of an open file, in order."""
    start = 0
    while True:
        room = bytearray(HEADER.size + BATCH * EXTENT.size)
        HEADER.pack_into(room, 0, start, WHOLE_FILE - start, 0, 0, BATCH, 0)
        fcntl.ioctl(file, REQUEST, room)
        batch = [_extent(room, index) for index in range(HEADER.unpack_from(room)[3])]
        yield from batch
        if not batch or batch[-1].flags & LAST_EXTENT:
            return
        start = batch[-1].logical + batch[-1].length


def _extent(room: bytearray, index: int) -> Extent:
    logical, physical, length, _, _, flags, *_ = EXTENT.unpack_from(room, HEADER.size + index * EXTENT.size)
    return Extent(logical=logical, physical=physical, length=length, flags=flags)
