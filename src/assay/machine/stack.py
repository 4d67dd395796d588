"""Which mount a path lies on, and which block devices lie below it, down to the lowest that the machine shows."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Iterator

from assay.catalogue import Host
from assay.errors import EvidenceError
from assay.frozen import dataclass

DELETED = " (deleted)"
"""What the kernel appends to the name of a loop device's image that was unlinked."""


@dataclass(frozen=True, kw_only=True)
class Mount:
    """One line of /proc/self/mountinfo."""

    point: str
    root: str
    device_number: str
    filesystem: str
    source: str
    options: tuple[str, ...]
    """Of the mount and of the file system."""

    @property
    def read_only(self) -> bool:
        """Whether nothing can be written through it."""
        return "ro" in self.options


def parse_mounts(text: str) -> tuple[Mount, ...]:
    """The lines of a mountinfo file, in order (proc_pid_mountinfo(5)). Raises EvidenceError naming a strange line."""
    return tuple(_parse_mount(line) for line in text.splitlines() if line.strip())


def _parse_mount(line: str) -> Mount:
    before, separator, after = line.partition(" - ")
    fields, rest = before.split(" "), after.split(" ")
    if not separator or len(fields) < 6 or len(rest) < 3:
        raise EvidenceError(
            f"found {line!r} in mountinfo; expected ID PARENT MAJ:MIN ROOT POINT OPTIONS ... - TYPE SOURCE OPTIONS"
        )
    options = dict.fromkeys((*fields[5].split(","), *rest[2].split(",")))
    # A read-only bind mount of a writable file system says `ro` once and `rw` once: what matters is that it is read-only.
    return Mount(
        point=_unescape(fields[4]),
        root=_unescape(fields[3]),
        device_number=fields[2],
        filesystem=rest[0],
        source=_unescape(rest[1]),
        options=tuple(options),
    )


def _unescape(field: str) -> str:
    """Spaces, tabs, newlines and backslashes stand as three octal digits."""
    return re.sub(rb"\\([0-7]{3})", lambda match: bytes([int(match[1], 8) & 255]), field.encode()).decode("utf-8", "replace")


def mounts(host: Host) -> tuple[Mount, ...]:
    """All mounts that the host's processes see."""
    return parse_mounts(host.read("/proc/self/mountinfo"))


def mount_of(host: Host, path: str) -> Mount:
    """The mount that a path lies on (the topmost where several hide each other). Raises EvidenceError where there is none."""
    real = host.real_path(path)
    found: Mount | None = None
    for mount in mounts(host):
        if _below(real, mount.point) and (found is None or len(mount.point) >= len(found.point)):
            found = mount
    if found is None:
        raise EvidenceError(f"found no mount that holds {real}; expected at least the root file system in /proc/self/mountinfo")
    return found


def mounts_below(host: Host, path: str) -> tuple[str, ...]:
    """The mount points at or below a path."""
    real = host.real_path(path)
    return tuple(mount.point for mount in mounts(host) if _below(mount.point, real))


def stack(host: Host, path: str) -> tuple[str, ...]:
    """Kernel names of the block devices below a path, upper first, each once.

    Partitions are followed by their disk, loop devices by what their image lies on, mapped and RAID devices by their members.
    Empty where the file system has no block device (tmpfs, overlay, network).
    """
    return tuple(dict.fromkeys(_walk(host, _roots(host, mount_of(host, path)), depth=0)))


def device_stack(host: Host, device: str) -> tuple[str, ...]:
    """The same from a device's kernel name downwards."""
    return tuple(dict.fromkeys(_walk(host, (device,), depth=0)))


def backing_file(host: Host, loop: str) -> str | None:
    """The image of a loop device (without the mark of an unlinked one); None where it is not attached."""
    try:
        text = host.read(f"/sys/block/{loop}/loop/backing_file")
    except OSError:
        return None
    return text.rstrip("\n").removesuffix(DELETED)


def device_number(host: Host, device: str) -> str:
    """MAJ:MIN of a device by its kernel name. Raises OSError."""
    return host.read(f"/sys/class/block/{device}/dev").strip()


def rotates(host: Host, device: str) -> bool:
    """Whether a device says that it has moving parts; a partition is asked through its disk."""
    entry = f"/sys/class/block/{device}"
    disk = posixpath.dirname(host.real_path(entry)) if host.exists(f"{entry}/partition") else entry
    try:
        return host.read(f"{disk}/queue/rotational").strip() == "1"
    except OSError:
        return False


def _roots(host: Host, mount: Mount) -> tuple[str, ...]:
    """The devices that a mount is directly on; btrfs numbers its mounts itself, so it is asked by its source."""
    if mount.filesystem == "btrfs":
        members = _btrfs_members(host, _kernel_name(host, mount.source))
        if members:
            return members
    entry = f"/sys/dev/block/{mount.device_number}"
    if host.exists(entry):
        return (posixpath.basename(host.real_path(entry)),)
    if mount.source.startswith("/dev/") and host.exists(mount.source):
        return (_kernel_name(host, mount.source),)
    return ()


def _kernel_name(host: Host, source: str) -> str:
    return posixpath.basename(host.real_path(source))


def _btrfs_members(host: Host, device: str) -> tuple[str, ...]:
    for identity in host.list("/sys/fs/btrfs"):
        members = host.list(f"/sys/fs/btrfs/{identity}/devices")
        if device in members:
            return members
    return ()


def _walk(host: Host, devices: Iterable[str], depth: int) -> Iterator[str]:
    if depth > 16:
        raise EvidenceError("found more than 16 devices upon each other; expected a stack that ends")
    level = tuple(devices)
    yield from level
    for device in level:
        yield from _walk(host, _below_device(host, device), depth + 1)


def _below_device(host: Host, device: str) -> tuple[str, ...]:
    entry = f"/sys/class/block/{device}"
    if host.exists(f"{entry}/partition"):
        return (posixpath.basename(posixpath.dirname(host.real_path(entry))),)
    image = backing_file(host, device)
    if image is not None:
        return _roots(host, mount_of(host, image))
    return host.list(f"{entry}/slaves")


def _below(path: str, parent: str) -> bool:
    return path == parent or path.startswith(parent.rstrip("/") + "/")
