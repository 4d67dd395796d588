"""What is mounted where, so that a walk leaves a mounted directory out untouched: a look can hang there, or mount more."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

TABLE = Path("/proc/self/mountinfo")

KERNEL = frozenset(
    {"autofs", "binfmt_misc", "bpf", "cgroup", "cgroup2", "configfs", "debugfs", "devpts", "devtmpfs", "efivarfs", "fusectl"}
    | {"hugetlbfs", "mqueue", "nsfs", "proc", "pstore", "rpc_pipefs", "securityfs", "selinuxfs", "sysfs", "tracefs"}
)
"""File systems that show the kernel's state and store no files."""


@dataclass(frozen=True, kw_only=True)
class Mount:
    """What is mounted at one place, the last one where several are."""

    filesystem: str
    options: frozenset[str]


def read() -> Mapping[str, Mount]:
    """Path -> what is mounted there; empty where the kernel has no such table."""
    try:
        return parse(os.fsdecode(TABLE.read_bytes()))
    except OSError:
        return {}


def parse(text: str) -> Mapping[str, Mount]:
    """The table of proc(5): mount point and options are its fields 5 and 6, the type follows the lone dash."""
    found: dict[str, Mount] = {}
    for line in text.splitlines():
        before, dash, after = line.partition(" - ")
        fields = before.split(" ")
        if dash and len(fields) >= 6:
            found[_plain(fields[4])] = Mount(filesystem=after.split(" ")[0], options=frozenset(fields[5].split(",")))
    return found


def _plain(field: str) -> str:
    r"""A path without its escapes: a space stands as `\040`."""
    return re.sub(r"\\([0-7]{3})", lambda match: chr(int(match[1], 8)), field)


def of(path: str, mounts: Mapping[str, Mount]) -> Mount | None:
    """The mount that holds this real path."""
    while path not in mounts:
        if path in ("/", ""):
            return None
        path = path.rpartition("/")[0] or "/"
    return mounts[path]


def coarse_access_times(held: Iterable[Mount | None]) -> tuple[str, ...]:
    """What the mounts that hold the trees do to access times (mount(8)): why an age since the last access can be wrong."""
    options = [one.options for one in held if one is not None]
    reasons = []
    if any("noatime" in one for one in options):
        reasons.append("mounted noatime: a file that is read keeps its access time, so it seems older than it is")
    if any("relatime" in one for one in options):
        reasons.append("mounted relatime: access times are up to a day late")
    return tuple(reasons)
