"""Where the extents of a file lie on the device of its file system: FS_IOC_FIEMAP, without the flag that flushes first."""

from __future__ import annotations

import fcntl
import os
import struct
from collections.abc import Iterator
from dataclasses import dataclass

REQUEST = 0xC020660B
"""`_IOWR('f', 11, struct fiemap)` in the common encoding of ioctl numbers."""
HEADER = struct.Struct("=QQIIII")
"""start, length, flags, mapped extents, room for extents, reserved."""
EXTENT = struct.Struct("=QQQ2QI3I")
"""logical, physical, length, 2 reserved, flags, 3 reserved."""
BATCH = 128
"""Extents asked for at once."""
LAST, PLACELESS = 0x1, 0x2 | 0x4 | 0x200
"""FIEMAP_EXTENT_LAST; UNKNOWN, DELALLOC and DATA_INLINE, which have no place on the device of their own."""
WHOLE = (1 << 64) - 1


@dataclass(frozen=True, kw_only=True)
class Extent:
    """One extent as the kernel tells it, in bytes."""

    logical: int
    physical: int
    length: int
    flags: int


def placed(path: str) -> tuple[int, int] | None:
    """The lowest and the highest byte of the device that the file's extents lie between; None where none has a place yet.

    Raises OSError (ENOTTY, EOPNOTSUPP) where the file system has no such map.
    """
    file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        found = [(one.physical, one.physical + one.length) for one in _extents(file) if not one.flags & PLACELESS]
    finally:
        os.close(file)
    return (min(low for low, _ in found), max(high for _, high in found)) if found else None


def _extents(file: int) -> Iterator[Extent]:
    """Every extent of an open file, in order."""
    start = 0
    while True:
        room = bytearray(HEADER.size + BATCH * EXTENT.size)
        HEADER.pack_into(room, 0, start, WHOLE - start, 0, 0, BATCH, 0)
        fcntl.ioctl(file, REQUEST, room)
        batch = [_extent(room, index) for index in range(HEADER.unpack_from(room)[3])]
        yield from batch
        if not batch or batch[-1].flags & LAST:
            return
        start = batch[-1].logical + batch[-1].length


def _extent(room: bytearray, index: int) -> Extent:
    logical, physical, length, _, _, flags, *_ = EXTENT.unpack_from(room, HEADER.size + index * EXTENT.size)
    return Extent(logical=logical, physical=physical, length=length, flags=flags)
