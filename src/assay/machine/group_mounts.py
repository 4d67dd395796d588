"""Directories of control groups as the mounts of this host show them: version 1, version 2, both, and inside a container.

/proc/PID/cgroup names a group from the root of the reader's namespace, mountinfo names the group that a mount begins with. In a
container the mount may begin with the container's own group: the rest of the name is then the way from the mount point.
Sources: cgroups(7), cgroup_namespaces(7), Documentation/admin-guide/cgroup-v2.rst of Linux.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterable, Iterator
from weakref import WeakKeyDictionary

from assay.catalogue import Host
from assay.errors import EvidenceError
from assay.frozen import dataclass
from assay.machine.stack import parse_mounts

MOUNTS = "/proc/self/mountinfo"
ROOT = "/sys/fs/cgroup"
CONTROLLERS = ("cpu", "cpuset", "memory", "blkio")
"""By their names of version 1: blkio is io in version 2."""
UNIFIED = ""
"""How /proc/PID/cgroup writes the hierarchy of version 2."""


@dataclass(frozen=True, kw_only=True)
class GroupMount:
    """Where the hierarchy of some controllers is mounted."""

    controllers: frozenset[str]
    """Empty of version 2."""
    point: str
    begins: str
    """The group at the mount point."""

    def directory(self, group: str) -> str | None:
        """Return the directory of a group; None where it is outside of what is mounted."""
        inside = group.startswith("/") and ".." not in group.split("/")  # of another container it is `/../NAME`
        below = posixpath.relpath(group, self.begins) if inside else ".."
        return None if below.startswith("..") else posixpath.normpath(f"{self.point}/{below}")

    def lineage(self, directory: str) -> Iterator[str]:
        """Yield a directory and all above it, up to the mount point."""
        while directory != self.point and directory.startswith(f"{self.point}/"):
            yield directory
            directory = posixpath.dirname(directory)
        if directory == self.point:
            yield directory


_known: WeakKeyDictionary[Host, dict[str, GroupMount]] = WeakKeyDictionary()
"""Of each host that still is used: they are looked up once."""


def group_mounts(host: Host) -> dict[str, GroupMount]:
    """Return controller -> its hierarchy; version 2 has the controllers that version 1 does not have."""
    if host not in _known:
        _known[host] = _looked_up(host)
    return _known[host]


def _looked_up(host: Host) -> dict[str, GroupMount]:
    try:
        found = [*parse_mounts("\n".join(line for line in host.read(MOUNTS).splitlines() if " - cgroup" in line))]
    except (OSError, EvidenceError):
        found = []
    first = [
        GroupMount(controllers=frozenset(one.options) & frozenset(CONTROLLERS), point=one.point, begins=one.root)
        for one in found
        if one.filesystem == "cgroup"
    ]
    second = [
        GroupMount(controllers=frozenset(), point=one.point, begins=one.root) for one in found if one.filesystem == "cgroup2"
    ]
    if not found:
        first, second = _usual(host)
    by_controller = {name: one for one in first for name in one.controllers}
    return {name: by_controller.get(name) or second[0] for name in CONTROLLERS if name in by_controller or second}


def _usual(host: Host) -> tuple[list[GroupMount], list[GroupMount]]:
    """Return what lies where it usually lies, where the mounts are not told."""
    if host.exists(f"{ROOT}/cgroup.controllers"):
        return [], [GroupMount(controllers=frozenset(), point=ROOT, begins="/")]
    there = [name for name in CONTROLLERS if name in host.list(ROOT)]
    return [GroupMount(controllers=frozenset((name,)), point=f"{ROOT}/{name}", begins="/") for name in there], []


def memberships(text: str) -> dict[str, str]:
    """Parse /proc/PID/cgroup into controller -> group."""
    rows = (line.split(":", 2) for line in text.splitlines())
    return {name: row[2] for row in rows if len(row) == 3 for name in row[1].split(",")}


def directories(known: dict[str, GroupMount], text: str) -> dict[str, str]:
    """Return controller -> directory of the group of a process, by its /proc/PID/cgroup; without those that are out of sight."""
    groups = memberships(text)
    found = {name: mount.directory(groups[_named(name, mount)]) for name, mount in known.items() if _named(name, mount) in groups}
    return {name: directory for name, directory in found.items() if directory is not None}


def _named(controller: str, mount: GroupMount) -> str:
    return controller if mount.controllers else UNIFIED


def of_directories(known: dict[str, GroupMount], paths: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Yield controller and directory of groups that are named by their directories."""
    for path in (posixpath.normpath(path) for path in paths):
        for name, mount in known.items():
            if path == mount.point or path.startswith(f"{mount.point}/"):
                yield name, path
