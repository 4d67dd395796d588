"""Files that a command made longer, and what of that is no data: shared extents, holes, preallocated space, further names."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence

from assay.hosts import extents
from assay.records import FileGrowth, OpenedFile
from assay.watch.files import Before, Identity, identity

LEAST_BYTES = 1 << 20
"""Smaller files do not matter."""
MOST_FILES = 64
TICK_NS = 10_000_000
"""A file's time of birth is that of the kernel's last tick."""


def grown(was: Sequence[Before], found: Sequence[OpenedFile], since_ns: int) -> tuple[FileGrowth, ...]:
    """Return the growth of the written files of known former size, the largest first; `since_ns` is the exec (CLOCK_REALTIME)."""
    sizes = {one.identity[:2]: one.identity[3] for one in was if one.identity is not None}
    names = {one.path: one.identity for one in was}
    written = sorted((one for one in found if one.written and one.size_bytes >= LEAST_BYTES), key=lambda one: -one.size_bytes)
    return tuple(growth for one in written[:MOST_FILES] for growth in _growth(one.path, (names, sizes), since_ns))


def _growth(
    path: str, known: tuple[Mapping[str, Identity | None], Mapping[tuple[int, int], int]], since_ns: int
) -> Iterator[FileGrowth]:
    names, sizes = known
    now = identity(path)
    if now is None or not os.path.isfile(path):  # noqa: PTH113 - a device does not grow
        return
    size, former = now[3], sizes.get(now[:2])
    is_named_anew = path in names and names[path] is None
    born = None if former is not None else extents.born_ns(path)
    is_new = born is not None and born >= since_ns - TICK_NS
    if is_named_anew and not is_new and (former is not None or born is not None):
        yield FileGrowth(path=path, bytes=size, linked_bytes=size)
    elif (former is not None or is_new) and size > (former or 0):
        yield _of_extents(path, size - (former or 0))


def _of_extents(path: str, longer: int) -> FileGrowth:
    try:
        empty = extents.empty(path)
    except OSError:
        return FileGrowth(path=path, bytes=longer)
    return FileGrowth(
        path=path,
        bytes=longer,
        hole_bytes=empty.hole_bytes,
        unwritten_bytes=empty.unwritten_bytes,
        shared_bytes=empty.shared_bytes,
    )
