"""Files at and below a path: state before a run, room for new ones, their mount, and removal from the page cache."""

from __future__ import annotations

import contextlib
import posixpath
from collections.abc import Sequence
from dataclasses import dataclass

from assay import units
from assay.catalogue import Host
from assay.errors import EvidenceError, RefusedError
from assay.machine import held_back, image, ownership
from assay.machine.ownership import Ownership
from assay.machine.stack import device_stack, lower_mounts, mount_of, stack
from assay.records import IN_MEMORY
from assay.units import Unit

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
    readable: bool = True
    """True if this user may read it."""


def path_state(host: Host, path: str) -> PathState:
    """Return the state of a path."""
    real = host.real_path(path)
    parent = posixpath.dirname(real)
    there = host.run(["test", "-d", parent], check=False).status == 0
    done = host.run(["stat", "-L", "-c", "%F|%s", "--", real], check=False)
    if done.status != 0:
        return PathState(path=real, kind=NOTHING, parent=there, unit=_unit(host, parent) if there else LEAST_UNIT)
    kind, _, size = done.stdout.strip().partition("|")
    readable = host.run(["test", "-r", real], check=False).status == 0
    if kind not in (FILE, EMPTY_FILE):
        return PathState(path=real, kind=kind, unit=_unit(host, real, is_device=kind == DEVICE), readable=readable)
    owner = ownership.of_file(host, real)
    whole = owner is Ownership.KEPT and _whole(host, real)
    unit = _unit(host, real)
    return PathState(path=real, kind=FILE, size=int(size), ownership=owner, whole=whole, unit=unit, readable=readable)


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


def drop_files(host: Host, path: str, filesystem: str | None) -> None:
    """Flush the file system, then drop the cached pages of each file below the path. Inodes and names stay cached.

    A file that is gone or cannot be opened is skipped: the later proof of cold shows it.
    Raises RefusedError on a host without these system calls, and on a file system that stores its files in the page cache only.
    """
    if host.syscalls is None:
        raise RefusedError(f"host {host.name}: dropping cached files needs Assay there. Install Assay or use cache = unchanged.")
    if filesystem in IN_MEMORY:
        raise RefusedError(f"{path}: {filesystem} keeps files in the page cache only, so cache = cold is impossible.")
    host.syscalls.syncfs(path)
    listed = host.run(["find", path, "-xdev", "-type", "f", "-size", "+0", "-print0"]).stdout
    for file in filter(None, listed.split("\0")):
        with contextlib.suppress(OSError):
            host.syscalls.drop_file(file)


def in_memory(host: Host, path: str) -> str | None:
    """Return the type of the file system if a path, or what its file system is stacked on, is in memory alone."""
    return next((one.filesystem for one in lower_mounts(host, mount_of(host, path)) if one.filesystem in IN_MEMORY), None)


def mistakes(host: Host, path: str, needed: int) -> tuple[str, ...]:
    """Return the reasons why a directory cannot take this many bytes."""
    return (*_not_writable(host, path), *_no_space(host, path, needed))


def _not_writable(host: Host, path: str) -> tuple[str, ...]:
    mount = mount_of(host, path)
    if mount.read_only:
        return (f"{path} is on a read-only mount. Run `mount -o remount,rw {mount.point}`.",)
    if host.run(["test", "-w", path, "-a", "-x", path], check=False).status != 0:
        return (f"{path} is not writable. Change its mode, or run as another user.",)
    return ()


def _no_space(host: Host, path: str, needed: int) -> tuple[str, ...]:
    free = image.free_bytes(host, path)
    if free >= needed * image.SPARE:
        return ()
    available, wanted = (units.human(count, Unit.BYTES) for count in (free, needed * image.SPARE))
    return (f"{path}: {available} free, {wanted} needed (workloads plus 10 %). Free space, or reduce the workloads.",)


def mount_facts(host: Host, path: str, devices: Sequence[str]) -> tuple[tuple[str, str], ...]:
    """Return the file system of a path, its devices and mount options."""
    try:
        mount = mount_of(host, path)
    except (OSError, EvidenceError) as error:
        return (("mount", f"unknown: {error}"),)
    lower = [one for one in lower_mounts(host, mount) if one is not mount]
    holds_back = held_back.of_mount(host, path)
    return (
        ("filesystem", mount.filesystem),
        *((("below", ", ".join(f"{one.filesystem} on {one.source}" for one in lower)),) if lower else ()),
        ("mount.point", mount.point),
        ("mount.source", mount.source),
        ("mount.options", ",".join(mount.options)),
        *((("mount.holds_back", holds_back),) if holds_back else ()),
        ("devices", " ".join(devices) or f"none: {mount.filesystem} shows no block device"),
    )
