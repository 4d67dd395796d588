"""Files below a path: drop them from the page cache; check permission and space for new ones."""

from __future__ import annotations

import contextlib

from assay import units
from assay.catalogue import Host
from assay.errors import RefusedError
from assay.machine import image
from assay.machine.stack import mount_of
from assay.units import Unit


def drop_files(host: Host, path: str, filesystem: str | None) -> None:
    """Flush the file system, then drop the cached pages of each file below the path. Inodes and names stay cached.

    A file that is gone or cannot be opened is skipped: the later proof of cold shows it.
    Raises RefusedError on a host without these system calls, and on a file system that stores its files in the page cache only.
    """
    if host.syscalls is None:
        raise RefusedError(f"host {host.name}: dropping cached files needs Assay there. Install Assay or use cache = unchanged.")
    if filesystem in ("tmpfs", "ramfs"):
        raise RefusedError(f"{path}: {filesystem} keeps files in the page cache only, so cache = cold is impossible.")
    host.syscalls.syncfs(path)
    listed = host.run(["find", path, "-xdev", "-type", "f", "-size", "+0", "-print0"]).stdout
    for file in filter(None, listed.split("\0")):
        with contextlib.suppress(OSError):
            host.syscalls.drop_file(file)


SPARE = 1.1
"""Free space must exceed the need of the workloads by this factor: full file systems slow down and fail."""


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
    if free >= needed * SPARE:
        return ()
    available, wanted = (units.human(count, Unit.BYTES) for count in (free, needed * SPARE))
    return (f"{path}: {available} free, {wanted} needed (workloads plus 10 %). Free space, or reduce the workloads.",)
