"""Control groups of this host: the hierarchies, the group of our processes, and groups that Assay creates.

Sources: Documentation/admin-guide/cgroup-v1/ and cgroup-v2.rst of Linux.
"""

from __future__ import annotations

import posixpath
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from assay.catalogue import Host, Undo
from assay.errors import RefusedError, TrialError
from assay.machine.stack import mounts

Controller = Literal["io", "memory"]
V1_NAMES: Mapping[Controller, str] = {"io": "blkio", "memory": "memory"}
INITIAL_NAMESPACE = "[4026531835]"
"""Inode of the machine's first cgroup namespace (PROC_CGROUP_INIT_INO, include/linux/proc_ns.h)."""
FOLDER = "assay"
"""On v2 all our groups lie below this one, at the root: other groups may contain processes, which blocks controllers."""


@dataclass(frozen=True, kw_only=True)
class Hierarchy:
    """The hierarchy of one controller, and our own group in it."""

    controller: Controller
    version: Literal[1, 2]
    root: str
    """Directory of the root group."""
    own: str
    """Our group as in /proc/self/cgroup: `/` is the root."""
    within: str
    """Root of the mount as the kernel names it: not `/` if only a part of the tree is mounted."""

    @property
    def own_path(self) -> str:
        """Directory of our own group."""
        inside = self.own.removeprefix(self.within) if self.within != "/" else self.own
        return posixpath.normpath(self.root + "/" + inside.lstrip("/"))


def parse_membership(text: str) -> dict[str, str]:
    """Parse /proc/PID/cgroup into controller -> group; the unified hierarchy has the empty name."""
    found: dict[str, str] = {}
    for line in text.splitlines():
        _, _, rest = line.partition(":")
        controllers, separator, group = rest.partition(":")
        if separator:
            found.update(dict.fromkeys(controllers.split(","), group))
    return found


def hierarchy(host: Host, controller: Controller) -> Hierarchy | None:
    """Return the hierarchy of this controller; None without one."""
    try:
        membership = parse_membership(host.read("/proc/self/cgroup"))
        mounted = mounts(host)
    except OSError:
        return None
    for mount in mounted:
        name = V1_NAMES[controller]
        if mount.filesystem == "cgroup" and name in mount.options and name in membership:
            return Hierarchy(controller=controller, version=1, root=mount.point, own=membership[name], within=mount.root)
    for mount in mounted:
        if mount.filesystem == "cgroup2" and controller in _words(host, f"{mount.point}/cgroup.controllers"):
            return Hierarchy(controller=controller, version=2, root=mount.point, own=membership.get("", "/"), within=mount.root)
    return None


def in_initial_namespace(host: Host) -> bool:
    """Return True if the visible root is the machine's root group, not a container's."""
    return host.real_path("/proc/self/ns/cgroup").endswith(INITIAL_NAMESPACE)


def make_group(host: Host, undo: Undo, where: Hierarchy, label: str) -> str:
    """Create a group, after its ledger entry, and return its path. Raises RefusedError without permission."""
    name = f"{label}-{secrets.token_hex(3)}"
    if where.version == 1:
        path = f"{where.own_path}/assay-{name}"
        _mkdir(host, undo, path)
        return path
    folder = f"{where.root}/{FOLDER}"
    _enable(host, where.root)
    if not host.exists(folder):
        _mkdir(host, undo, folder)
    _enable(host, folder)
    _mkdir(host, undo, f"{folder}/{name}")
    return f"{folder}/{name}"


def put(host: Host, path: str, text: str) -> None:
    """Write a group's setting. Raises RefusedError with the file and the reason."""
    try:
        host.write(path, text)
    except OSError as error:
        raise RefusedError(f"{path}: cannot write {text!r} ({error.strerror}). Run as root.") from error


def remove_group(host: Host, path: str) -> bool:
    """Remove our group and move its processes to the parent; return False if it is gone or contains another group in use."""
    if not host.exists(path) or f"/{FOLDER}" not in path:
        return False
    if any(host.exists(f"{path}/{name}/cgroup.procs") for name in host.list(path)):
        return False
    for pid in _words(host, f"{path}/cgroup.procs"):
        _move(host, posixpath.dirname(path), pid)
    host.run(["rmdir", "--", path])
    return True


def _move(host: Host, group: str, pid: str) -> None:
    try:
        host.write(f"{group}/cgroup.procs", pid)
    except OSError as error:
        if host.exists(f"/proc/{pid}"):
            raise TrialError(f"process {pid} cannot be moved to {group}: {error.strerror}") from error


def _enable(host: Host, group: str) -> None:
    """Enable both controllers for child groups. They stay enabled: another lab's groups may need them."""
    wanted: Sequence[Controller] = ("io", "memory")
    enabled = _words(host, f"{group}/cgroup.subtree_control")
    lacking = [name for name in wanted if name not in enabled and name in _words(host, f"{group}/cgroup.controllers")]
    if lacking:
        put(host, f"{group}/cgroup.subtree_control", " ".join(f"+{name}" for name in lacking))


def _mkdir(host: Host, undo: Undo, path: str) -> None:
    undo.add("cgroup", path=path)
    try:
        host.run(["mkdir", "--", path])
    except TrialError as error:
        undo.undo("cgroup", path=path)
        raise RefusedError(f"{path}: cannot create a control group ({error}). Run as root.") from error


def _words(host: Host, path: str) -> tuple[str, ...]:
    try:
        return tuple(host.read(path).split())
    except OSError:
        return ()
