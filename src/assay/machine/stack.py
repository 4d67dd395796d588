"""The mount of a path, and the stack of block devices below it, down to the lowest visible device."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Collection, Iterable, Iterator, Sequence

from assay.catalogue import Host
from assay.errors import EvidenceError
from assay.frozen import dataclass
from assay.records import IN_MEMORY

DELETED = " (deleted)"
"""Suffix that the kernel appends to the name of an unlinked image."""


@dataclass(frozen=True, kw_only=True)
class Mount:
    """One line of /proc/self/mountinfo."""

    point: str
    root: str
    device_number: str
    filesystem: str
    source: str
    options: tuple[str, ...]
    """Options of the mount and of the file system."""

    @property
    def read_only(self) -> bool:
        """True if the mount is read-only."""
        return "ro" in self.options


def parse_mounts(text: str) -> tuple[Mount, ...]:
    """Parse a mountinfo file (proc_pid_mountinfo(5)). Raises EvidenceError with the first invalid line."""
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
    """Decode spaces, tabs, newlines and backslashes, which are written as three octal digits."""
    return re.sub(rb"\\([0-7]{3})", lambda match: bytes([int(match[1], 8) & 255]), field.encode()).decode("utf-8", "replace")


def mounts(host: Host) -> tuple[Mount, ...]:
    """Return all mounts that the host's processes see."""
    return parse_mounts(host.read("/proc/self/mountinfo"))


def mount_of(host: Host, path: str) -> Mount:
    """Return the mount of a path (the topmost if several hide each other). Raises EvidenceError without one."""
    real = host.real_path(path)
    found: Mount | None = None
    for mount in mounts(host):
        if _below(real, mount.point) and (found is None or len(mount.point) >= len(found.point)):
            found = mount
    if found is None:
        raise EvidenceError(f"{real}: no mount in /proc/self/mountinfo, not even the root file system")
    return found


def mounts_below(host: Host, path: str) -> tuple[str, ...]:
    """Return the mount points at or below a path."""
    real = host.real_path(path)
    return tuple(mount.point for mount in mounts(host) if _below(mount.point, real))


def stack(host: Host, path: str) -> tuple[str, ...]:
    """Return the kernel names of the block devices below a path, upper first, each once.

    A partition is followed by its disk, a loop device by the devices of its image, a mapped or RAID device by its members.
    A stacked file system (overlay, FUSE on a directory) has the devices of what lies below. Empty if the file system has no
    block device (tmpfs, network), or that of a container lies where it cannot be seen.
    """
    return tuple(dict.fromkeys(_walk(host, mount_devices(host, mount_of(host, path)), depth=0)))


def device_stack(host: Host, device: str) -> tuple[str, ...]:
    """Return the stack from a device's kernel name downwards."""
    return tuple(dict.fromkeys(_walk(host, (device,), depth=0)))


def backing_file(host: Host, loop: str) -> str | None:
    """Return the image of a loop device (without the suffix of an unlinked one); None if it is not attached."""
    try:
        text = host.read(f"/sys/block/{loop}/loop/backing_file")
    except OSError:
        return None
    return text.rstrip("\n").removesuffix(DELETED)


IN_RAM = re.compile(r"zram\d+|ram\d+|nullb\d+")
"""Block devices that keep what they are given in memory, or nowhere."""


def memory_device(host: Host, devices: Sequence[str]) -> str | None:
    """Return `zram0` or `tmpfs below loop0` where the lowest of these devices is in memory; None where a disk may be below."""
    lowest = devices[-1] if devices else ""
    if IN_RAM.fullmatch(lowest):
        return lowest
    image = backing_file(host, lowest) if lowest.startswith("loop") else None
    if image is None:
        return None
    try:
        below = writing_mount(host, mount_of(host, image)).filesystem
    except (EvidenceError, OSError):
        return None
    return f"{below} below {lowest}" if below in IN_MEMORY else None


def device_number(host: Host, device: str) -> str:
    """Return MAJ:MIN of a device by its kernel name. Raises OSError."""
    return host.read(f"/sys/class/block/{device}/dev").strip()


def disk_of(device: str, disks: Collection[str]) -> str:
    """Return the disk of a partition; the device itself if it is among the host's disks, or none of them is its disk."""
    return device if device in disks else max((disk for disk in disks if device.startswith(disk)), key=len, default=device)


def rotates(host: Host, device: str) -> bool:
    """Return True if a device reports that it is rotational; a partition has the answer of its disk."""
    entry = f"/sys/class/block/{device}"
    disk = posixpath.dirname(host.real_path(entry)) if host.exists(f"{entry}/partition") else entry
    try:
        return host.read(f"{disk}/queue/rotational").strip() == "1"
    except OSError:
        return False


def lower_mounts(host: Host, mount: Mount) -> tuple[Mount, ...]:
    """Return the mounts below a stacked file system, down to those that are not stacked; the mount itself if it is none."""
    return tuple(dict.fromkeys(_lowest(host, mount, frozenset())))


def writing_mount(host: Host, mount: Mount) -> Mount:
    """Return the mount that stores what is written to a stacked file system; the mount itself if it is none."""
    seen = {mount.point}
    while layers := [path for path in _layers(mount)[:1] if host.exists(path)]:
        below = mount_of(host, layers[0])
        if below.point in seen:
            break
        seen.add(below.point)
        mount = below
    return mount


def _lowest(host: Host, mount: Mount, above: frozenset[str]) -> Iterator[Mount]:
    above |= {mount.point}
    found = (mount_of(host, path) for path in _layers(mount) if host.exists(path))
    lower = [one for one in found if one.point not in above]
    for one in lower:
        yield from _lowest(host, one, above)
    if not lower:
        yield mount


def _layers(mount: Mount) -> tuple[str, ...]:
    """Return the directories that a file system stores its files in: of overlay the upper one first.

    The kernel keeps them as they were given. A relative one is looked for beside the mount point, where most mounts are made.
    """
    if mount.filesystem == "overlay":
        named, beside = dict(option.partition("=")[::2] for option in mount.options), posixpath.dirname(mount.point)
        each = (path for key in ("upperdir", "lowerdir") for path in named.get(key, "").split(":") if path)
        return tuple(posixpath.join(beside, path) for path in each)
    return (mount.source,) if mount.filesystem.startswith("fuse.") or mount.filesystem == "fuse" else ()


def mount_devices(host: Host, mount: Mount) -> tuple[str, ...]:
    """Return the devices directly below a mount, or below what it is stacked on; none of a file system without one."""
    return tuple(device for one in lower_mounts(host, mount) for device in _devices(host, one))


def _devices(host: Host, mount: Mount) -> tuple[str, ...]:
    """Return the devices of one mount; btrfs numbers its mounts itself, so its source is used."""
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
        raise EvidenceError("more than 16 block devices are stacked (limit 16)")
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
        return mount_devices(host, mount_of(host, image))
    return host.list(f"{entry}/slaves")


def _below(path: str, parent: str) -> bool:
    return path == parent or path.startswith(parent.rstrip("/") + "/")
