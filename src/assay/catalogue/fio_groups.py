"""Names for fio's groups of jobs, in words and in JSON: each keeps its own figures, none is added to another.

Its engines of files and directories (filecreate, dirstat, ...; HOWTO, `ioengine`) move no data: what fio 3.33 prints as their
bytes is the block size times the number of files.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import TypeVar

OBJECTS: Mapping[str, str] = {
    "filecreate": "create",
    "filestat": "stat",
    "filedelete": "unlink",
    "dircreate": "mkdir",
    "dirstat": "stat",
    "dirdelete": "rmdir",
}
"""Engine -> what it does to each object, as the workload metadata has it."""
OF_DATA = frozenset({"bytes", "bytes_per_s"})
Group = TypeVar("Group", bound=Hashable)


@dataclass(frozen=True, kw_only=True)
class Manner:
    """How the jobs of a group work, by their options; empty where the report does not say."""

    pattern: str = ""
    """`randread`: how they go through their file."""
    engine: str = ""

    def tells(self, figure: str) -> bool:
        """Whether a figure is one: engines that move no data have none of bytes."""
        return self.engine not in OBJECTS or figure not in OF_DATA


def named_groups(side: str, manners: Mapping[Group, Manner]) -> dict[Group, str]:
    """The operation of each group, in order: `read` for one that is alone, `create` for one that makes files.

    Of several `read` and `random_read` by their pattern, a second of the same name is `read_2`.
    """
    names, used = {}, Counter[str]()
    for group, manner in manners.items():
        several = len(manners) > 1 and manner.pattern.startswith("rand")
        name = OBJECTS.get(manner.engine, f"random_{side}" if several else side)
        used[name] += 1
        names[group] = name if used[name] == 1 else f"{name}_{used[name]}"
    return names
