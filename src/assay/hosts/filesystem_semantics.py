"""The semantics of a directory's file system, found by trying: names, times, attributes, rights, holes; and a file's extents.

A configuration states an intention; a probe shows the behaviour. Each probe takes a few calls on files of some bytes in a
directory of its own, which is removed again. Extents are asked by FS_IOC_FIEMAP, without the flag that flushes first.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import stat
import struct
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

DAY_NS = 86_400 * 10**9
HOLE_BYTES = 1 << 20
ACCESS_LIST = struct.pack(
    "<I" + "HHI" * 5, 2, *(1, 6, 2**32 - 1), *(2, 4, 0), *(4, 4, 2**32 - 1), *(16, 4, 2**32 - 1), *(32, 0, 2**32 - 1)
)
"""A list of access rights as acl(5) has it in an attribute: owner rw, user 0 r, group r, mask r, others none."""


def probe(directory: str) -> dict[str, str]:
    """Return what was found of each. Raises OSError where nothing can be made in the directory."""
    with tempfile.TemporaryDirectory(prefix=".assay-semantics-", dir=directory) as made:
        file = Path(made) / "lower"
        file.write_bytes(b"content")
        return {name: told(file) for name, told in PROBES.items()}


def names(file: Path) -> str:
    """Return whether a name in other letters is the same file."""
    return "upper and lower case are one" if file.with_name("LOWER").exists() else "upper and lower case differ"


def access_time(file: Path) -> str:
    """When a read is written down (mount(8), relatime and strictatime).

    An access time of three days ago is renewed by a read unless none is; one of tomorrow only where each read counts.
    """
    if not renewed(file, -3 * DAY_NS):
        return "never"
    return "each read" if renewed(file, DAY_NS) else "first read after a change or a day"


def renewed(file: Path, shift_ns: int) -> bool:
    """Return whether a read renews an access time that lies so far from now."""
    now = file.stat().st_mtime_ns
    os.utime(file, ns=(now + shift_ns, now))
    before = file.stat().st_atime_ns
    file.read_bytes()
    return file.stat().st_atime_ns != before


def works(call: Callable[[Path], object]) -> Callable[[Path], str]:
    """Return a probe that says whether a call is allowed."""

    def answer(file: Path) -> str:
        with contextlib.suppress(OSError):
            call(file)
            return "yes"
        return "no"

    return answer


def modes(file: Path) -> str:
    """Return whether rights are kept as they are set."""
    with contextlib.suppress(OSError):
        file.chmod(0o640)
    return "kept" if stat.S_IMODE(file.stat().st_mode) == 0o640 else "not kept"


def holes(file: Path) -> str:
    """Return whether what was never written takes no space."""
    with file.with_name("hole").open("wb") as hole:
        hole.truncate(HOLE_BYTES)
        return "kept" if os.fstat(hole.fileno()).st_blocks * 512 < HOLE_BYTES else "filled"


def _hard_link(file: Path) -> None:
    file.with_name("hard").hardlink_to(file)


def _symbolic_link(file: Path) -> None:
    file.with_name("soft").symlink_to(file.name)


def _attribute(file: Path) -> None:
    os.setxattr(file, "user.assay", b"1")


def _access_list(file: Path) -> None:
    os.setxattr(file, "system.posix_acl_access", ACCESS_LIST)


PROBES: dict[str, Callable[[Path], str]] = {
    "names": names,
    "access_time": access_time,
    "modes": modes,
    "holes": holes,
    "hard_links": works(_hard_link),
    "symbolic_links": works(_symbolic_link),
    "attributes": works(_attribute),
    "access_lists": works(_access_list),
}


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
    import ctypes

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
