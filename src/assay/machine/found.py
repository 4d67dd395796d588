"""What is at a path before anything is done: nothing, a file, a directory or a device, whose it is, and how it may be read."""

from __future__ import annotations

import posixpath
from dataclasses import dataclass

from assay.catalogue import Host
from assay.errors import EvidenceError
from assay.machine import own_file
from assay.machine.own_file import Whose
from assay.machine.stack import device_stack, stack

NOTHING, FILE, DIRECTORY, DEVICE = "nothing", "regular file", "directory", "block special file"
EMPTY_FILE = "regular empty file"
"""What stat(1) calls a file of 0 bytes."""
LEAST_UNIT = 512


@dataclass(frozen=True, kw_only=True)
class Found:
    """What a look at a path told."""

    path: str
    """Absolute, links followed."""
    kind: str
    """`nothing`, or in the words of stat(1)."""
    parent: bool = True
    """Whether the directory is there that it is in, or would be in."""
    size: int = 0
    """Bytes of a file."""
    whose: Whose = Whose.OTHERS
    whole: bool = False
    """Whether every byte of a file of ours was written: no holes, nothing that is only allocated."""
    unit: int = LEAST_UNIT
    """Bytes that direct I/O comes in at the least: the logical block of the device below."""


def look(host: Host, path: str) -> Found:
    """Look at a path; changes nothing."""
    real = host.real_path(path)
    parent = posixpath.dirname(real)
    there = host.run(["test", "-d", parent], check=False).status == 0
    done = host.run(["stat", "-L", "-c", "%F|%s", "--", real], check=False)
    if done.status != 0:
        return Found(path=real, kind=NOTHING, parent=there, unit=_unit(host, parent) if there else LEAST_UNIT)
    kind, _, size = done.stdout.strip().partition("|")
    if kind not in (FILE, EMPTY_FILE):
        return Found(path=real, kind=kind, unit=_unit(host, real, is_device=kind == DEVICE))
    whose = own_file.whose(host, real)
    whole = whose is Whose.KEPT and _whole(host, real)
    return Found(path=real, kind=FILE, size=int(size), whose=whose, whole=whole, unit=_unit(host, real))


def _whole(host: Host, path: str) -> bool:
    try:
        told = host.syscalls.fiemap(path) if host.syscalls is not None else None
    except OSError:
        return False
    return told is not None and not told.hole_bytes and not told.unwritten_bytes


def _unit(host: Host, path: str, *, is_device: bool = False) -> int:
    try:
        devices = device_stack(host, posixpath.basename(path)) if is_device else stack(host, path)
        disks = [device for device in devices if host.exists(f"/sys/block/{device}")]
        return int(host.read(f"/sys/block/{disks[0]}/queue/logical_block_size")) if disks else LEAST_UNIT
    except (OSError, ValueError, EvidenceError):
        return LEAST_UNIT
