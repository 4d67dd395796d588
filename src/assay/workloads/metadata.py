"""Creates, flushes, lists, looks up, opens, renames, links and removes many small files or directories.

All times are those of the load engine (`docs/engine-protocol.md`, engine `metadata`). Creation is one phase, with flushes and
lists between the creates. Every other operation is a phase of its own, in the given order. Objects that no operation creates
are created first, in a phase that is not measured. A rename changes the names for all later phases. Links are removed before
the objects, so that removing an object frees it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import sqrt
from typing import cast

from assay.catalogue import PLACEMENT, Knob, KnobKind, Order, Pace, Unit, Workload, resolved
from assay.errors import InputErrors
from assay.records import CacheState, Direction, EndpointKind, PhasePlan, StopRule, Value
from assay.settings import size_distributions
from assay.settings.knobs import choice, integer, messages, names, number, quantity, text, texts
from assay.settings.load import LOAD, lasts_ns, least_s, load_mistakes, load_setting

CREATES = ("create", "mkdir")
REMOVES = ("unlink", "rmdir")
LISTS = ("list", "readdir", "readdir_plus")
LOOKUPS = (*LISTS, "stat", "open")
"""Operations that only read metadata: the state of the caches decides what they measure."""
COMPANIONS = ("fsync", "list")
"""Operations that run between the creates, if there are creates."""
OPERATIONS = (*CREATES, "fsync", *LISTS, "stat", "open", "setxattr", "rename", "link", "symlink", *REMOVES)

CREATED, RENAMED = "o", "r"
LINKS = {"link": "l", "symlink": "s"}
"""First letters of the engine's names: of objects, of renamed objects, of links."""

MOST_OBJECTS = 100_000_000
MOST_DIRECTORIES = 100_000
MOST_BYTES = 1 << 30
BLOCK = 4096
INODE = 1024
"""Upper bound for an inode, its directory entry and its share of the tables on ext4, xfs and btrfs."""
GUESS_S = dict.fromkeys(OPERATIONS, 3e-5) | {"mkdir": 1e-4, "rmdir": 1e-4}
GUESS_LIST_S = {"list": 5e-7, "readdir": 5e-7, "readdir_plus": 3e-6}
GUESS_REMOVE_S = {"file": 5e-5, "directory": 2e-4}
"""What the target takes to remove an object that no operation removed."""
GUESS_EXCHANGES = {"create": 3, "mkdir": 2, "unlink": 2, "rmdir": 2, "rename": 2}
"""Of a client in user space with its server, as sshfs makes them; one for each other operation."""
REQUESTS_A_FLUSH = 3
"""A journal writes its header, the metadata and its end."""

KNOBS = (
    choice("object", "kind of the objects", "file", "directory"),
    number("count", "objects of each worker of each client", 10_000, (1, MOST_OBJECTS)),
    texts("operations", "operations, in order", ("create", "list", "stat", "unlink"), OPERATIONS),
    number("list_every", "list a directory after every this many objects; 0: once, at the end", 0, (0, MOST_OBJECTS)),
    quantity("file_bytes", "bytes written into each file", Unit.BYTES, 0, (0, MOST_BYTES)),
    Knob(
        name="size_distribution",
        kind=KnobKind.PATH,
        help=f"sizes of files as surveyed: {', '.join(size_distributions.shipped())}, or the path of a TOML file",
    ),
    choice("directories", "one directory for each client, or one for all", "own", "shared"),
    number("spread", "number of subdirectories, used in turn by each worker", 1, (1, MOST_DIRECTORIES)),
    number("workers", "threads of each client", 1, (1, 1024)),
    choice("sharing", "one directory for each worker of a client, or one for all of them", "own", "shared"),
    choice(
        "cache", "state of the caches before stat, open, readdir, readdir_plus and a list of its own", "unchanged", "cold", "warm"
    ),
    *LOAD,
    *PLACEMENT,
)


@dataclass(frozen=True, kw_only=True)
class PhaseStep:
    """One phase: its operations, in order for each object, and the first letter of the names."""

    name: str
    operations: tuple[str, ...]
    prefix: str = CREATED
    measured: bool = True
    on_links: bool = False
    """True if the names are links, which are files whatever their target."""


def maker(operations: tuple[str, ...]) -> str | None:
    """Return the operation that creates the objects; None if the layout creates them."""
    return next((name for name in operations if name in CREATES), None)


def steps(operations: tuple[str, ...]) -> tuple[PhaseStep, ...]:
    """Return the phases of a valid order of operations."""
    made = maker(operations)
    together = tuple(name for name in operations if name in (made, *COMPANIONS)) if made else ()
    first = (
        PhaseStep(name=made, operations=together) if made else PhaseStep(name="layout", operations=("create",), measured=False)
    )
    return (first, *_after(tuple(name for name in operations if name not in together)))


def _after(operations: tuple[str, ...]) -> Iterator[PhaseStep]:
    prefix = CREATED
    for place, name in enumerate(operations):
        if name in REMOVES:
            for kind in (kind for kind in operations[:place] if kind in LINKS):
                yield PhaseStep(name=f"remove_{kind}s", operations=("unlink",), prefix=LINKS[kind], measured=False, on_links=True)
        yield PhaseStep(name=name, operations=(name,), prefix=prefix)
        prefix = RENAMED if name == "rename" else prefix


def measured_steps(operations: tuple[str, ...]) -> tuple[PhaseStep, ...]:
    """Return the measured phases."""
    return tuple(step for step in steps(operations) if step.measured)


def order_mistakes(operations: tuple[str, ...], what: str) -> tuple[tuple[object, str], ...]:
    """Return possible mistakes in an order of operations on each `file` or `directory`, with their conditions."""
    made = [name for name in operations if name in CREATES]
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
        (len(set(made)) > 1, "found create with mkdir; expected one of them: both create the directories"),
        (len(set(removed)) > 1, "found unlink with rmdir; expected one of them: both remove the directories"),
        (
            any(name not in REMOVES for name in after),
            f"found {', '.join(after)} after {removed[0] if removed else ''}; expected {removed[0] if removed else ''} last",
        ),
        (what == "file" and of_directories, f"found {' and '.join(of_directories)} with files; expected object = directory"),
        (
            what == "directory" and "link" in operations,
            "found link with directories; expected object = file: directories have no hard links",
        ),
    )


def operation_sequence(knobs: Mapping[str, Value]) -> tuple[str, ...]:
    """Return the operations in order."""
    return names(resolved(KNOBS, knobs), "operations")


def operations(knobs: Mapping[str, Value]) -> Mapping[str, str]:
    """Return every operation with its default figure, the rate."""
    return dict.fromkeys(operation_sequence(knobs), "ops_per_s")


def check(knobs: Mapping[str, Value]) -> tuple[str, ...]:
    """Return mistakes: an impossible order of operations, and numbers that do not fit each other."""
    values, done = resolved(KNOBS, knobs), operation_sequence(knobs)
    every, count, workers = (integer(values, name) for name in ("list_every", "count", "workers"))
    schedule, what = names(values, "schedule"), text(values, "object")
    sized = [name for name in ("file_bytes", "size_distribution") if values[name]]
    mistakes = (
        *order_mistakes(done, what),
        (every > count, f"found list_every {every}; expected at most count ({count})"),
        (every and not set(done) & set(LISTS), f"found list_every {every} without list; expected one of {', '.join(LISTS)}"),
        (what == "directory" and sized, f"found {' and '.join(sized)} with directories; expected object = file"),
        (len(sized) > 1, "found file_bytes with size_distribution; expected one of them"),
        (count * workers > MOST_OBJECTS, f"found {count * workers:,} objects of a client; expected at most {MOST_OBJECTS:,}"),
        (
            integer(values, "spread") * workers > MOST_DIRECTORIES,
            f"found {integer(values, 'spread') * workers:,} directories of a client; expected at most {MOST_DIRECTORIES:,}",
        ),
        (
            schedule and len(measured_steps(done)) > 1,
            "found schedule with several phases; expected one: later phases need every object",
        ),
    )
    return (*messages(mistakes), *load_mistakes(values), *_distribution_mistakes(values))


def _distribution_mistakes(values: Mapping[str, Value]) -> tuple[str, ...]:
    """Return mistakes in the file of the size distribution, and sizes that are too large."""
    try:
        largest = max(sizes(values))
    except InputErrors as error:
        return tuple(str(error).splitlines())
    return messages([(largest > MOST_BYTES, f"found files of {largest:,} bytes there; expected at most {MOST_BYTES:,}")])


def sizes(values: Mapping[str, Value]) -> Mapping[int, int]:
    """Return the weight of each file size in bytes. Raises InputErrors with every mistake in the size distribution."""
    if values["size_distribution"] is None:
        return {integer(values, "file_bytes"): 1}
    return size_distributions.read(text(values, "size_distribution")).weights


def inputs(knobs: Mapping[str, Value]) -> Mapping[str, str]:
    """Return the drawn sizes, which decide the load."""
    name = text(knobs, "size_distribution")
    return {"size_distribution": size_distributions.read(name).identity} if name else {}


def phases(order: Order) -> tuple[PhasePlan, ...]:
    """Return one phase for each step."""
    return tuple(phase(order, step) for step in steps(operation_sequence(order.knobs)))


def phase(order: Order, step: PhaseStep) -> PhasePlan:
    """Plan one phase of all clients."""
    values = resolved(KNOBS, order.knobs)
    directions = {name: direction(values, name) for name in step.operations}
    return PhasePlan(
        name=step.name,
        operations=step.operations,
        directions=directions,
        measured=step.measured,
        cache=CacheState(text(values, "cache")) if step.name in LOOKUPS else CacheState.UNCHANGED,
        stop=StopRule.TIME if step.measured and lasts_ns(values) else StopRule.WORK,
        settings=tuple(settings(order, step, client) for client in range(len(order.endpoints))),
        flush_in_clock="fsync" in step.operations,
    )


def direction(values: Mapping[str, Value], name: str) -> Direction:
    """Return the direction of an operation: flush, write (a create with data) or metadata."""
    if name == "fsync":
        return Direction.FLUSH
    return Direction.WRITE if name == "create" and any(sizes(values)) else Direction.METADATA


def settings(order: Order, step: PhaseStep, client: int) -> Mapping[str, object]:
    """Return the engine settings of one client; clients that share a directory use disjoint numbers."""
    values, clients = resolved(KNOBS, order.knobs), len(order.endpoints)
    shared = values["directories"] == "shared"
    home = order.endpoints[0 if shared else client].address
    drawn = tuple({"bytes": size, "weight": weight} for size, weight in sizes(values).items())
    return {
        "directory": f"{home}/{order.workload}" if shared else f"{home}/{order.workload}-{client}",
        "object": "file" if step.on_links else values["object"],
        "operations": step.operations,
        "count": values["count"],
        "first": client * integer(values, "count") * integer(values, "workers") if shared else 0,
        "list_every": values["list_every"] if set(step.operations) & set(LISTS) else 0,
        "file_bytes": drawn if values["size_distribution"] is not None else values["file_bytes"],
        "directories": values["spread"],
        "workers": values["workers"],
        "sharing": values["sharing"],
        "prefix": step.prefix,
        "new_prefix": CREATED if step.prefix == RENAMED else RENAMED,
        "load": load_setting(values, clients) if step.measured else {},
    }


def space(knobs: Mapping[str, Value]) -> int:
    """Return the bytes of inodes and whole blocks of all clients (`clients` among the knobs; default 1).

    For drawn sizes: the mean plus three standard deviations of the sum, because a few large files dominate it.
    """
    values = resolved(KNOBS, knobs)
    weights = sizes(values) if values["object"] == "file" else {BLOCK: 1}
    whole, total = {size: -(-size // BLOCK) * BLOCK for size in weights}, sum(weights.values())
    mean = sum(whole[size] * weight for size, weight in weights.items()) / total
    variance = sum((whole[size] - mean) ** 2 * weight for size, weight in weights.items()) / total
    workers = integer(values, "workers") * cast("int", knobs.get("clients", 1))
    count = integer(values, "count") * workers
    inodes = 1 + sum(name in LINKS for name in operation_sequence(knobs))
    return int(count * (INODE * inodes + mean) + 3 * sqrt(count * variance) + integer(values, "spread") * workers * BLOCK)


def seconds(knobs: Mapping[str, Value], pace: Pace) -> float:
    """Estimate: lists grow with the objects present, the rest with their number; flushes, data and servers are waited for."""
    values, done = resolved(KNOBS, knobs), operation_sequence(knobs)
    count, every, workers, spread = (integer(values, name) for name in ("count", "list_every", "workers", "spread"))
    clients = cast("int", knobs.get("clients", 1))
    objects = count * workers * clients
    beside = (workers if values["sharing"] == "shared" else 1) * (clients if values["directories"] == "shared" else 1)
    lists, listed = (count // every if every else 1), count * beside / spread
    listing = workers * clients * listed * (lists + 1 if every and maker(done) else 2 * lists) / 2
    of_directories = {"create": GUESS_S["mkdir"], "unlink": GUESS_S["rmdir"]} if values["object"] == "directory" else {}
    each = {**GUESS_S, **of_directories}
    left_s = 0.0 if set(done) & set(REMOVES) else objects * GUESS_REMOVE_S[text(values, "object")]
    made = objects * each["create"] if maker(done) is None else 0.0
    work = made + sum(listing * GUESS_LIST_S[name] if name in LISTS else objects * each[name] for name in done)
    stable = ("fsync" in done) * objects * REQUESTS_A_FLUSH / pace.write_ops_per_s
    data = objects * integer(values, "file_bytes") / pace.write_bytes_per_s
    paced = least_s(values, objects, workers * clients) * len(measured_steps(done))
    exchanges = sum(GUESS_EXCHANGES.get(name, 1) for name in done if name not in LISTS)
    asked = objects * exchanges * pace.exchange_times * pace.wait_s / (workers * clients)
    return work / min(pace.cpus, workers * clients) + asked + stable + data + paced + left_s


WORKLOAD = Workload(
    name="metadata",
    knobs=KNOBS,
    accepts=(EndpointKind.DIRECTORY,),
    operations=operations,
    phases=phases,
    check=check,
    engine="metadata",
    inputs=inputs,
    space=space,
    seconds=seconds,
    nouns={
        "create": "creates",
        "stat": "stats",
        "unlink": "unlinks",
        "fsync": "syncs",
        "list": "listings",
        "readdir": "listings",
        "readdir_plus": "listings with attributes",
        "open": "opens",
        "setxattr": "attribute settings",
        "rename": "renames",
        "link": "hard links",
        "symlink": "symbolic links",
        "mkdir": "directory creations",
        "rmdir": "directory removals",
    },
    lookups={"list": (), "readdir": (), "readdir_plus": ("readdir_plus",), "stat": ("stat",), "open": ("open",)},
)
