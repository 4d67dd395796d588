"""State of a path before a run: nothing, a file, a directory or a device, its ownership, and its direct I/O unit."""

from __future__ import annotations

import posixpath
from dataclasses import dataclass

from assay.catalogue import Host
from assay.errors import EvidenceError
from assay.machine import own_file
from assay.machine.own_file import Ownership
from assay.machine.stack import device_stack, stack

NOTHING, FILE, DIRECTORY, DEVICE = "nothing", "regular file", "directory", "block special file"
EMPTY_FILE = "regular empty file"
"""Word of stat(1) for a file of 0 bytes."""
LEAST_UNIT = 512


@dataclass(frozen=True, kw_only=True)
class PathState:
    """State of a path."""

    path: str
    """Absolute, links followed."""
    kind: str
    """`nothing`, or in the words of stat(1)."""
    parent: bool = True
    """True if its directory exists."""
    size: int = 0
    """Bytes of a file."""
    ownership: Ownership = Ownership.OTHERS
    whole: bool = False
    """True if every byte of our file was written: no holes and no unwritten extents."""
    unit: int = LEAST_UNIT
    """Smallest unit of direct I/O: the logical block of the device below."""


def path_state(host: Host, path: str) -> PathState:
    """Return the state of a path."""
    real = host.real_path(path)
    parent = posixpath.dirname(real)
    there = host.run(["test", "-d", parent], check=False).status == 0
    done = host.run(["stat", "-L", "-c", "%F|%s", "--", real], check=False)
    if done.status != 0:
        return PathState(path=real, kind=NOTHING, parent=there, unit=_unit(host, parent) if there else LEAST_UNIT)
    kind, _, size = done.stdout.strip().partition("|")
    if kind not in (FILE, EMPTY_FILE):
        return PathState(path=real, kind=kind, unit=_unit(host, real, is_device=kind == DEVICE))
    ownership = own_file.ownership(host, real)
    whole = ownership is Ownership.KEPT and _whole(host, real)
    return PathState(path=real, kind=FILE, size=int(size), ownership=ownership, whole=whole, unit=_unit(host, real))


def _whole(host: Host, path: str) -> bool:
    try:
        extents = host.syscalls.fiemap(path) if host.syscalls is not None else None
    except OSError:
        return False
    return extents is not None and not extents.hole_bytes and not extents.unwritten_bytes


def _unit(host: Host, path: str, *, is_device: bool = False) -> int:
    try:
        devices = device_stack(host, posixpath.basename(path)) if is_device else stack(host, path)
        disks = [device for device in devices if host.exists(f"/sys/block/{device}")]
        return int(host.read(f"/sys/block/{disks[0]}/queue/logical_block_size")) if disks else LEAST_UNIT
    except (OSError, ValueError, EvidenceError):
        return LEAST_UNIT
