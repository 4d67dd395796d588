"""Names for the groups of one report that move data the same way: each keeps its own figures, none is added to another."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping
from typing import TypeVar

Group = TypeVar("Group", bound=Hashable)


def named_groups(side: str, patterns: Mapping[Group, str]) -> dict[Group, str]:
    """The operation of each group, in order: `read` for one that is alone.

    Of several `read` and `random_read` by their pattern (`read`, `randrw`), a second of the same name is `read_2`.
    """
    if len(patterns) == 1:
        return dict.fromkeys(patterns, side)
    names, used = {}, Counter[str]()
    for group, pattern in patterns.items():
        name = f"random_{side}" if pattern.startswith("rand") else side
        used[name] += 1
        names[group] = name if used[name] == 1 else f"{name}_{used[name]}"
    return names
