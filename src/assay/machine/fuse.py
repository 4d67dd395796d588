"""File systems in user space (FUSE): their mounts, and the processes that answer for them.

Every request of such a mount is read by a process that holds /dev/fuse for the mount's connection, whose number is the minor
number of the mount's device. Of an open /dev/fuse newer kernels tell it in /proc/PID/fdinfo. On older ones the process is known
where it is the only one, or where its arguments name the mount.
Sources: Documentation/filesystems/fuse.rst, fs/fuse/dev.c (fuse_dev_show_fdinfo), proc_pid_fdinfo(5).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from weakref import WeakKeyDictionary

from assay.catalogue import Host
from assay.machine.stack import Mount, lower_mounts, mounts
from assay.records import USER_SPACE

DEVICE = "/dev/fuse"
CONNECTION = "fuse_connection:"
OVER = ("overlay", "fuse.mergerfs", "fuse.bindfs")
"""Types that may lie on a file system in user space."""


def in_user_space(filesystem: str | None) -> bool:
    """Return whether another process answers for a type of file system."""
    return filesystem is not None and filesystem.partition(".")[0] in USER_SPACE


def user_mounts(host: Host) -> dict[str, tuple[Mount, ...]]:
    """Return mount point -> file systems in user space at it or below what it is stacked on."""
    every = mounts(host)
    if not any(in_user_space(mount.filesystem) for mount in every):
        return {}
    found: dict[str, tuple[Mount, ...]] = {mount.point: (mount,) for mount in every if in_user_space(mount.filesystem)}
    for mount in every:
        if mount.filesystem in OVER:
            below = tuple(one for one in lower_mounts(host, mount) if in_user_space(one.filesystem))
            found |= {mount.point: tuple(dict.fromkeys((*found.get(mount.point, ()), *below)))} if below else {}
    return found


_known: WeakKeyDictionary[Host, dict[str, tuple[int, ...]]] = WeakKeyDictionary()
"""Of each host, device number of a mount -> the processes that answer for it: to look for them takes long."""


def daemons(host: Host, mount: Mount, every: Sequence[Mount]) -> tuple[int, ...]:
    """Return the processes that answer for a mount, with those that they started; empty where none can be seen."""
    known = _known.setdefault(host, {})
    if not known.get(mount.device_number) or not all(host.exists(f"/proc/{pid}") for pid in known[mount.device_number]):
        holders = _holders(host)
        found = [pid for pid, connection in holders.items() if connection == mount.device_number.partition(":")[2]]
        found = found or [pid for pid, connection in holders.items() if connection is None and _names(host, pid, mount)]
        if not found and len({one.device_number for one in every if one.filesystem != "virtiofs"}) == len(holders) == 1:
            found = [pid for pid, connection in holders.items() if connection is None]
        known[mount.device_number] = tuple(dict.fromkeys(one for pid in found for one in _with_children(host, pid)))
    return known[mount.device_number]


def programs_of(host: Host, paths: Sequence[str]) -> tuple[int, ...]:
    """Return the processes that answer for the file systems in user space that these paths are on."""
    found = user_mounts(host)
    every = [mount for below in found.values() for mount in below]
    points = {max(over, key=len) for path in paths if (over := [one for one in found if is_below(path, one)])}
    return tuple(dict.fromkeys(pid for point in sorted(points) for mount in found[point] for pid in daemons(host, mount, every)))


def is_below(path: str, point: str) -> bool:
    """Return whether a path is a mount point, or below it."""
    return path == point or path.startswith(f"{point.rstrip('/')}/")


def _holders(host: Host) -> Mapping[int, str | None]:
    """Return process -> connection of its /dev/fuse; None where the kernel does not tell."""
    found: dict[int, str | None] = {}
    for pid in (name for name in host.list("/proc") if name.isdigit()):
        for number in host.list(f"/proc/{pid}/fd"):
            if host.real_path(f"/proc/{pid}/fd/{number}") == DEVICE:
                found[int(pid)] = _connection(host, f"/proc/{pid}/fdinfo/{number}") or found.get(int(pid))
    return found


def _connection(host: Host, path: str) -> str | None:
    try:
        rows = host.read(path).splitlines()
    except OSError:
        return None
    return next((row.removeprefix(CONNECTION).strip() for row in rows if row.startswith(CONNECTION)), None)


def _names(host: Host, pid: int, mount: Mount) -> bool:
    """Whether a process was called with the mount point as an argument."""
    try:
        words = host.read(f"/proc/{pid}/cmdline").split("\0")
    except OSError:
        return False
    return mount.point in {host.real_path(word) if word.startswith("/") else word for word in words if word}


def _with_children(host: Host, pid: int) -> Iterator[int]:
    yield pid
    for thread in host.list(f"/proc/{pid}/task"):
        try:
            text = host.read(f"/proc/{pid}/task/{thread}/children")
        except OSError:
            continue
        for child in text.split():
            yield from _with_children(host, int(child))


def is_remote(host: Host, mount: Mount) -> bool:
    """Return whether the source of a mount is no file, directory or device of this host: the program behind may have helpers.

    ssh, which moves the data of sshfs, is no child of it any more once sshfs is in the background.
    """
    return not (mount.source.startswith("/") and host.exists(mount.source))


def is_networked(host: Host, pids: Sequence[int]) -> bool:
    """Return whether one of the processes has a connection of TCP or a socket of UDP, to another machine or to this one."""
    for pid in pids:
        links = (host.real_path(f"/proc/{pid}/fd/{number}") for number in host.list(f"/proc/{pid}/fd"))
        sockets = {link.rpartition("socket:[")[2].rstrip("]") for link in links if "socket:[" in link}
        if sockets and any(row[9] in sockets and row[2].strip("0") != ":" for row in _rows(host, pid)):
            return True
    return False


def _rows(host: Host, pid: int) -> Iterator[list[str]]:
    for table in ("tcp", "tcp6", "udp", "udp6"):
        try:
            text = host.read(f"/proc/{pid}/net/{table}")
        except OSError:
            continue
        yield from (row.split() for row in text.splitlines()[1:])
