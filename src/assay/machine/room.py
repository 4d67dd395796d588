"""Whether a directory can take what workloads will write: whether we may, and whether there is space."""

from __future__ import annotations

from assay import units
from assay.catalogue import Host
from assay.machine import image
from assay.machine.stack import mount_of
from assay.units import Unit

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
