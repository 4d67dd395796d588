"""Makes the files below a path cold: flushed, their pages given back by the page cache."""

from __future__ import annotations

import contextlib

from assay import units
from assay.catalogue import Host
from assay.errors import RefusedError
from assay.machine import image
from assay.machine.stack import mount_of
from assay.units import Unit


def drop_files(host: Host, path: str, filesystem: str | None) -> None:
    """Flush all, then give back the cached pages of each file below the path. Inodes and names stay cached.

    A file that has vanished or that we may not open is left as it is: the proof afterwards says what came of it.
    Raises RefusedError on a host without these system calls, and on a file system whose pages are the only store.
    """
    if host.syscalls is None:
        raise RefusedError(f"found no Assay on {host.name}; expected it there to drop cached files: install it or use unchanged")
    if filesystem in ("tmpfs", "ramfs"):
        raise RefusedError(f"found {filesystem}, whose files live in the page cache alone; expected another for cache = cold")
    host.syscalls.syncfs(path)
    listed = host.run(["find", path, "-xdev", "-type", "f", "-size", "+0", "-print0"]).stdout
    for file in filter(None, listed.split("\0")):
        with contextlib.suppress(OSError):
            host.syscalls.drop_file(file)


SPARE = 1.1
"""Free space must be this many times what the workloads need: file systems slow down and fail when they are full."""


def mistakes(host: Host, path: str, needed: int) -> tuple[str, ...]:
    """Why a directory cannot take so many bytes, in words; changes nothing."""
    return (*_not_writable(host, path), *_no_space(host, path, needed))


def _not_writable(host: Host, path: str) -> tuple[str, ...]:
    mount = mount_of(host, path)
    if mount.read_only:
        return (f"found {path} on a read-only mount ({mount.point}); expected to write: mount -o remount,rw {mount.point}",)
    if host.run(["test", "-w", path, "-a", "-x", path], check=False).status != 0:
        return (f"found that we may not write in {path}; expected a directory of ours: change its mode or be another user",)
    return ()


def _no_space(host: Host, path: str, needed: int) -> tuple[str, ...]:
    free = image.free_bytes(host, path)
    if free >= needed * SPARE:
        return ()
    told, wanted = (units.human(count, Unit.BYTES) for count in (free, needed * SPARE))
    return (f"found {told} free below {path}; expected {wanted} (10 % more than the workloads need)",)
