"""Copies of a mount in other mount namespaces: who holds them, and how they are undone.

A new mount namespace (a container, a service with PrivateTmp, `ip netns exec`, `unshare --mount`) copies every mount that its
creator sees. A copy keeps the file system and its device busy after the original is unmounted.
Sources: mount_namespaces(7), setns(2), copy_mnt_ns() in fs/namespace.c.
"""

from __future__ import annotations

import contextlib
import posixpath
import time
from collections.abc import Callable, Iterator, Sequence

from assay.catalogue import Host
from assay.errors import EvidenceError
from assay.frozen import dataclass
from assay.machine.stack import parse_mounts

STEP_S = 0.05


@dataclass(frozen=True, kw_only=True)
class Holder:
    """A process whose mount namespace has a copy, and where."""

    pid: str
    command: str
    point: str
    """As the process sees it."""

    def __str__(self) -> str:
        return f"process {self.pid} ({self.command})"


def holders(host: Host, device: str) -> tuple[Holder, ...]:
    """Return the copies of a device's mounts (`/dev/loop0`), with one process of each mount namespace but our own."""
    seen = {_namespace(host, "self")}
    return tuple(one for pid in host.list("/proc") if pid.isdigit() for one in _in_namespace(host, pid, device, seen))


def release(host: Host, device: str, is_free: Callable[[], bool], patience_s: float) -> tuple[Holder, ...] | None:
    """Unmount the copies until the device is free, and return None; after the time return those that are left.

    The device must be ours, and its original mount gone. A copy stays where a process works in it, and where the namespace
    belongs to another user (its mounts are locked); it goes with the last process of the namespace.
    """
    deadline = time.monotonic() + patience_s
    while not is_free():
        is_over = time.monotonic() >= deadline
        left = tuple(one for one in holders(host, device) if not _is_unmounted(host, one))
        if is_over:
            return None if is_free() else left
        time.sleep(STEP_S)
    return None


def _is_unmounted(host: Host, one: Holder) -> bool:
    """Unmount a copy; False where it is in use or locked, and stays."""
    if host.syscalls is None:
        return False
    try:
        host.syscalls.unmount_in(f"/proc/{one.pid}/ns/mnt", one.point)
    except FileNotFoundError:  # the process has ended
        return True
    except OSError:
        return False
    return True


def held_by(found: Sequence[Holder]) -> str:
    """Return who holds copies, as the end of a sentence; empty where nobody is known."""
    return f" It is mounted in the mount namespace of {', '.join(map(str, found))}." if found else ""


def _in_namespace(host: Host, pid: str, device: str, seen: set[str]) -> Iterator[Holder]:
    namespace = _namespace(host, pid)
    if not namespace or namespace in seen:
        return
    try:
        mounts = parse_mounts(host.read(f"/proc/{pid}/mountinfo"))
        command = host.read(f"/proc/{pid}/comm").strip()
    except (OSError, EvidenceError):  # it has just ended
        return
    seen.add(namespace)
    yield from (Holder(pid=pid, command=command, point=mount.point) for mount in mounts if mount.source == device)


def _namespace(host: Host, pid: str) -> str:
    """Return the identity of a process's mount namespace; empty where it has ended or is not ours to look at."""
    with contextlib.suppress(OSError):
        name = posixpath.basename(host.real_path(f"/proc/{pid}/ns/mnt"))
        return name if name.startswith("mnt:") else ""
    return ""
