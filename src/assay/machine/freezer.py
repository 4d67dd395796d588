"""Control groups that are frozen: the freezer of version 1, and cgroup.freeze of version 2; a group above it freezes it, too.

Sources: Documentation/admin-guide/cgroup-v1/freezer-subsystem.rst and cgroup-v2.rst of Linux.
"""

from __future__ import annotations

from collections.abc import Iterable
from weakref import WeakKeyDictionary

from assay.catalogue import Host
from assay.errors import EvidenceError
from assay.machine.group_mounts import MOUNTS, UNIFIED, GroupMount, memberships
from assay.machine.stack import parse_mounts

FREEZER = "freezer"
FILES = {FREEZER: "freezer.state", UNIFIED: "cgroup.events"}
"""Hierarchy -> the file that tells whether a group is frozen."""
FROZEN = ("FROZEN", "frozen 1")
MOST_PROCESSES = 64

_known: WeakKeyDictionary[Host, dict[str, GroupMount]] = WeakKeyDictionary()


def files(host: Host, pids: Iterable[int]) -> dict[int, list[str]]:
    """Return process -> the files that tell whether one of its groups is frozen; the group at the root cannot be."""
    mounted, found = _mounted(host), dict[int, list[str]]()
    for pid in list(pids)[:MOST_PROCESSES] if mounted else ():
        try:
            groups = memberships(host.read(f"/proc/{pid}/cgroup"))
        except OSError:
            continue
        known = ((name, groups.get(name, "/")) for name in mounted)
        directories = ((name, mounted[name].directory(group)) for name, group in known if group != "/")
        found[pid] = [f"{path}/{FILES[name]}" for name, path in directories if path is not None]
    return found


def is_frozen(text: str) -> bool:
    """Return whether such a file tells of a frozen group."""
    return any(line.strip() in FROZEN for line in text.splitlines())


def _mounted(host: Host) -> dict[str, GroupMount]:
    """Return the hierarchies that have a freezer, looked up once."""
    if host not in _known:
        try:
            found = [*parse_mounts("\n".join(line for line in host.read(MOUNTS).splitlines() if " - cgroup" in line))]
        except (OSError, EvidenceError):
            found = []
        mounts = [(FREEZER, one) for one in found if one.filesystem == "cgroup" and FREEZER in one.options]
        mounts += [(UNIFIED, one) for one in found if one.filesystem == "cgroup2"]
        _known[host] = {
            name: GroupMount(controllers=frozenset((name,)), point=one.point, begins=one.root) for name, one in mounts
        }
    return _known[host]
