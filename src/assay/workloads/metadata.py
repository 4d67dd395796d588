"""Creates, flushes, lists, looks up and removes many small files or directories in one directory a client.

All times are those of the load engine (`docs/engine-protocol.md`, engine `metadata`). Creating is one phase, in which flushes
and lists are interleaved with it; looking up and removing are phases of their own.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

from assay.catalogue import PLACEMENT, Knob, KnobKind, Order, Unit, Workload
from assay.records import CacheState, Direction, EndpointKind, PhasePlan, Value

OPERATIONS = ("create", "fsync", "list", "stat", "unlink")
WITH_CREATE = ("create", "fsync", "list")
MOST_OBJECTS = 100_000_000
BLOCK = 4096
INODE = 1024
"""More than any of ext4, xfs and btrfs uses for an inode, its directory entry and its share of the tables."""
GUESS_S = {"create": 1e-4, "fsync": 2e-3, "list": 0.0, "stat": 1e-5, "unlink": 5e-5}
GUESS_LIST_S = 5e-7


def choice(name: str, text: str, *choices: str) -> Knob:
    """A knob that takes one of these words, the first where none is given."""
    return Knob(name=name, kind=KnobKind.CHOICE, help=text, default=choices[0], choices=choices)


def number(name: str, text: str, default: int, low: int) -> Knob:
    """A knob that counts objects."""
    return Knob(name=name, kind=KnobKind.INTEGER, help=text, default=default, unit=Unit.COUNT, low=low, high=MOST_OBJECTS)


KNOBS = (
    choice("object", "what is made", "file", "directory"),
    number("count", "objects of each client", 10_000, 1),
    Knob(
        name="operations",
        kind=KnobKind.TEXTS,
        help="what is done: create, fsync, list, stat, unlink",
        default=("create", "list", "stat", "unlink"),
        choices=OPERATIONS,
    ),
    number("list_every", "list the directory after so many creates; 0: once, at the end", 0, 0),
    Knob(
        name="file_bytes",
        kind=KnobKind.QUANTITY,
        help="bytes written into each file",
        default=0,
        unit=Unit.BYTES,
        low=0,
        high=1 << 30,
    ),
    choice("directories", "a directory for each client, or one for all", "own", "shared"),
    choice("cache", "state of the caches before the phases stat and list", "as-left", "cold", "warm"),
    *PLACEMENT,
)


def resolved(knobs: Mapping[str, Value]) -> dict[str, Value]:
    """The knobs with the defaults of those that are not given."""
    return {knob.name: knob.default for knob in KNOBS} | dict(knobs)


def chosen(knobs: Mapping[str, Value]) -> tuple[str, ...]:
    """The operations in the order in which they are asked for."""
    return cast("tuple[str, ...]", tuple(cast("tuple[str, ...]", resolved(knobs)["operations"])))


def integer(knobs: Mapping[str, Value], name: str) -> int:
    """A knob that counts something."""
    return cast("int", resolved(knobs)[name])


def operations(knobs: Mapping[str, Value]) -> Mapping[str, str]:
    """Every operation is judged by its rate where no measure is named."""
    return dict.fromkeys(chosen(knobs), "ops_per_s")


def check(knobs: Mapping[str, Value]) -> tuple[str, ...]:
    """Operations that cannot follow each other, and numbers that do not fit each other."""
    names = chosen(knobs)
    every, count = integer(knobs, "list_every"), integer(knobs, "count")
    first = names.index("create") if "create" in names else 0
    mistakes = (
        (not names, "found no operations; expected at least one"),
        (len(set(names)) < len(names), f"found operations {', '.join(names)}; expected each at most once"),
        ("fsync" in names and "create" not in names, "found fsync without create; expected create before it"),
        (first > 0, f"found {', '.join(names[:first])} before create; expected create first"),
        ("unlink" in names and names[-1] != "unlink", f"found {names[-1:]} after unlink; expected unlink last"),
        (every > count, f"found list_every {every}; expected at most count ({count})"),
        (every > 0 and "list" not in names, f"found list_every {every} without list; expected list among the operations"),
        (
            integer(knobs, "file_bytes") > 0 and resolved(knobs)["object"] == "directory",
            "found file_bytes with directories; expected object = file",
        ),
    )
    return tuple(text for wrong, text in mistakes if wrong)


def groups(names: tuple[str, ...]) -> tuple[tuple[str, ...], ...]:
    """Operations that run in the same phase: create with fsync and list, each other one alone."""
    if "create" not in names:
        return tuple((name,) for name in names)
    together = tuple(name for name in names if name in WITH_CREATE)
    return (together, *((name,) for name in names if name not in WITH_CREATE))


def phases(order: Order) -> tuple[PhasePlan, ...]:
    """One phase a group; objects that nothing creates are laid out first, unmeasured."""
    wanted = [phase(order, group, measured=True) for group in groups(chosen(order.knobs))]
    if "create" not in chosen(order.knobs):
        wanted.insert(0, phase(order, ("create",), measured=False))
    return tuple(wanted)


def phase(order: Order, group: tuple[str, ...], *, measured: bool) -> PhasePlan:
    """One phase of all clients."""
    looks = group[0] in ("stat", "list")
    return PhasePlan(
        name=group[0] if measured else "layout",
        operations=group,
        directions={name: direction(order.knobs, name) for name in group},
        measured=measured,
        cache=CacheState(cast("str", resolved(order.knobs)["cache"])) if looks else CacheState.AS_LEFT,
        settings=tuple(settings(order, group, client) for client in range(len(order.endpoints))),
        flush_in_clock="fsync" in group,
    )


def direction(knobs: Mapping[str, Value], name: str) -> Direction:
    """A flush is a flush, a create with data writes them, all else moves no data."""
    if name == "fsync":
        return Direction.FLUSH
    return Direction.WRITE if name == "create" and integer(knobs, "file_bytes") > 0 else Direction.METADATA


def settings(order: Order, group: tuple[str, ...], client: int) -> Mapping[str, object]:
    """What the engine of one client is told; clients that share a directory use numbers that do not meet."""
    knobs = resolved(order.knobs)
    shared = knobs["directories"] == "shared"
    home = order.endpoints[0 if shared else client].address
    return {
        "directory": f"{home}/{order.workload}" if shared else f"{home}/{order.workload}-{client}",
        "object": knobs["object"],
        "operations": group,
        "count": knobs["count"],
        "first": client * integer(knobs, "count") if shared else 0,
        "list_every": knobs["list_every"] if "list" in group else 0,
        "file_bytes": knobs["file_bytes"],
    }


def space(knobs: Mapping[str, Value]) -> int:
    """Bytes for inodes and whole blocks of all clients (`clients` among the knobs; 1 where it is not)."""
    blocks = -(-integer(knobs, "file_bytes") // BLOCK)
    if resolved(knobs)["object"] == "directory":
        blocks = 1
    return integer(knobs, "count") * (INODE + blocks * BLOCK) * cast("int", knobs.get("clients", 1))


def seconds(knobs: Mapping[str, Value]) -> float:
    """A guess for one client on a local disk: lists grow with what is there, the rest with the count."""
    count, every = integer(knobs, "count"), integer(knobs, "list_every")
    lists = count // every if every else 1
    listed = lists * count * GUESS_LIST_S if "list" in chosen(knobs) else 0.0
    return 1.0 + listed + sum(count * GUESS_S[name] for name in chosen(knobs))


WORKLOAD = Workload(
    name="metadata",
    knobs=KNOBS,
    accepts=(EndpointKind.DIRECTORY,),
    operations=operations,
    phases=phases,
    check=check,
    engine="metadata",
    space=space,
    seconds=seconds,
)
