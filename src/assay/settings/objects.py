"""What becomes of files and directories while one operation on them follows the other: phases, names, leftovers.

`steps(operations)` gives the phases: creating with its companions (flushes, lists between the creates), then one for every
other operation in the order given. Objects that nothing creates are laid out first. Renaming changes the names for all that
follows; links are removed before the objects, so that removing an object frees it.
`impossible(operations, what)` says which orders cannot be.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

MAKES = ("create", "mkdir")
REMOVES = ("unlink", "rmdir")
LISTS = ("list", "readdir", "readdir_plus")
LOOKS = (*LISTS, "stat", "open")
"""Operations that read metadata and change none: the state of the caches decides what they measure."""
COMPANIONS = ("fsync", "list")
"""Operations that run between the creates where there are any."""
OPERATIONS = (*MAKES, "fsync", *LISTS, "stat", "open", "setxattr", "rename", "link", "symlink", *REMOVES)

MADE, RENAMED = "o", "r"
LINKS = {"link": "l", "symlink": "s"}
"""The letters with which the engine begins names: of objects, of renamed objects, of links to them."""


@dataclass(frozen=True, kw_only=True)
class Step:
    """One phase: its operations in the order in which each object meets them, and how the names begin that they work on."""

    name: str
    operations: tuple[str, ...]
    prefix: str = MADE
    measured: bool = True
    on_links: bool = False
    """True where the names are those of links, which are files whatever they point to."""


def maker(operations: tuple[str, ...]) -> str | None:
    """The operation that makes the objects; None where they are laid out first."""
    return next((name for name in operations if name in MAKES), None)


def steps(operations: tuple[str, ...]) -> tuple[Step, ...]:
    """The phases of an order of operations that is possible."""
    made = maker(operations)
    together = tuple(name for name in operations if name in (made, *COMPANIONS)) if made else ()
    first = Step(name=made, operations=together) if made else Step(name="layout", operations=("create",), measured=False)
    return (first, *_after(tuple(name for name in operations if name not in together)))


def _after(operations: tuple[str, ...]) -> Iterator[Step]:
    prefix = MADE
    for place, name in enumerate(operations):
        if name in REMOVES:
            for kind in (kind for kind in operations[:place] if kind in LINKS):
                yield Step(name=f"remove_{kind}s", operations=("unlink",), prefix=LINKS[kind], measured=False, on_links=True)
        yield Step(name=name, operations=(name,), prefix=prefix)
        prefix = RENAMED if name == "rename" else prefix


def measured(operations: tuple[str, ...]) -> tuple[Step, ...]:
    """The phases that are measured."""
    return tuple(step for step in steps(operations) if step.measured)


def impossible(operations: tuple[str, ...], what: str) -> tuple[tuple[object, str], ...]:
    """Whether and why an order of operations on each `file` or `directory` cannot be: the mistakes that may be in it."""
    made = [name for name in operations if name in MAKES]
    removed = [name for name in operations if name in REMOVES]
    before = operations[: operations.index(made[0])] if made else ()
    after = operations[operations.index(removed[0]) + 1 :] if removed else ()
    of_directories = [name for name in operations if name in ("mkdir", "rmdir")]
    twice = len(set(operations)) < len(operations)
    return (
        (not operations, "found no operations; expected at least one"),
        (twice, f"found operations {', '.join(operations)}; expected each at most once"),
        ("fsync" in operations and not made, "found fsync without create; expected create or mkdir before it"),
        (before, f"found {', '.join(before)} before {made[0] if made else ''}; expected {made[0] if made else ''} first"),
        (len(set(made)) > 1, "found create with mkdir; expected one of them: both make the directories"),
        (len(set(removed)) > 1, "found unlink with rmdir; expected one of them: both remove the directories"),
        (
            any(name not in REMOVES for name in after),
            f"found {', '.join(after)} after {removed[0] if removed else ''}; expected {removed[0] if removed else ''} last",
        ),
        (what == "file" and of_directories, f"found {' and '.join(of_directories)} with files; expected object = directory"),
        (what == "directory" and "link" in operations, "found link with directories; expected object = file: they have one name"),
    )
