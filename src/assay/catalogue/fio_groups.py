"""Operation names of fio's job groups, for text and JSON: each group keeps its own figures.

fio's engines of files and directories (filecreate, dirstat, ...; HOWTO, `ioengine`) move no data: the bytes that fio 3.33 prints
for them are the block size times the number of files.
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
"""Engine -> its operation, as in the workload metadata."""
OF_DATA = frozenset({"bytes", "bytes_per_s"})
Group = TypeVar("Group", bound=Hashable)


@dataclass(frozen=True, kw_only=True)
class Manner:
    """Options of a group's jobs; empty if the report does not contain them."""

    pattern: str = ""
    """Access pattern, such as `randread`."""
    engine: str = ""

    def has(self, figure: str) -> bool:
        """Return True if a figure is valid: engines that move no data have no bytes."""
        return self.engine not in OBJECTS or figure not in OF_DATA


def named_groups(side: str, manners: Mapping[Group, Manner]) -> dict[Group, str]:
    """Return the operation of each group, in order: `read` for a single group, `create` for one that creates files.

    Several groups are `read` and `random_read` by their pattern; a second one of the same name is `read_2`.
    """
    names, used = {}, Counter[str]()
    for group, manner in manners.items():
        several = len(manners) > 1 and manner.pattern.startswith("rand")
        name = OBJECTS.get(manner.engine, f"random_{side}" if several else side)
        used[name] += 1
        names[group] = name if used[name] == 1 else f"{name}_{used[name]}"
    return names
