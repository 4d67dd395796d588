"""Reads a whole directory tree, like the reading half of a backup: every directory and every file, with several threads.

The tree exists, or is created in a phase that is not measured. All times are those of the load engine
(`docs/engine-protocol.md`, engine `tree`). The tree is not changed.
"""

from __future__ import annotations

from collections.abc import Mapping

from assay.catalogue import PLACEMENT, Knob, KnobKind, Order, Pace, Unit, Workload, resolved
from assay.machine.tree_size import tree_size
from assay.records import CacheState, Direction, EndpointKind, PhasePlan, StopRule, Value
from assay.settings.knobs import Values, choice, in_bytes, integer, messages, number, quantity, switch, text

LAYOUT, WARMING, READ = "layout", "warming", "read"
OPERATIONS = {"read": Direction.READ, "file": Direction.METADATA, "walk": Direction.METADATA}
WITHIN = {"read": "file"}
MOST_FILES, MOST_DIRECTORIES, MOST_BYTES = 100_000_000, 100_000, 1 << 30
"""Limits of the engine `metadata`, which creates the tree."""
BLOCK, DIRECT_UNIT = 4096, 4096
INODE = 1024
"""Upper bound for an inode, its directory entry and its share of the tables on ext4, xfs and btrfs."""
DEFAULT_FILE_BYTES, DEFAULT_DIRECTORIES = 64 << 10, 1
GUESS_FILE_S, MOST_PARALLEL = 1e-4, 4
GUESS_TREE_S = 600.0
"""Estimate for an unknown tree; a phase is ended after 20 times its estimate."""

KNOBS = (
    Knob(name="tree", kind=KnobKind.PATH, help="existing tree to read; relative to the target's directory"),
    number("files", "create a tree of this many files first, instead of an existing tree", None, (1, MOST_FILES)),
    quantity("file_bytes", "size of each created file; default 64 KiB", Unit.BYTES, None, (0, MOST_BYTES)),
    number("directories", "number of directories for the created files; default 1", None, (1, MOST_DIRECTORIES)),
    number("walkers", "threads of each client", 4, (1, 1024)),
    quantity("record_size", "bytes of one read", Unit.BYTES, 256 << 10, (1, 1 << 30)),
    choice("advice", "posix_fadvise of each file", "none", "sequential", "willneed", "noreuse"),
    choice("order", "order of the files of a directory: as listed, or by inode number", "directory", "inode"),
    switch("direct", "open with O_DIRECT"),
    switch("drop_behind", "drop each file from the page cache after reading it"),
    number("passes", "number of times the tree is read; 1, or with duration until it ends"),
    quantity("duration", "stop after this time; the tree is read repeatedly until then", Unit.NANOSECONDS),
    quantity("think", "pause of each walker before each file", Unit.NANOSECONDS),
    choice("cache", "state of the caches before the tree is read", "unchanged", "cold", "warm"),
    *PLACEMENT,
)


def operations(_knobs: Mapping[str, Value]) -> Mapping[str, str]:
    """Return the operations: bytes/s for the whole, files/s for small files, the latency of the slowest directories."""
    return {"read": "bytes_per_s", "file": "ops_per_s", "walk": "latency_p99_ns"}


def check(knobs: Mapping[str, Value]) -> tuple[str, ...]:
    """Return mistakes: no tree, or two sources of it, and numbers that do not fit each other."""
    values = resolved(KNOBS, knobs)
    files, clients = integer(values, "files"), integer(values, "clients", 1)
    exists, spread = values["tree"] is not None, integer(values, "directories", DEFAULT_DIRECTORIES)
    laid_out = [name for name in ("file_bytes", "directories") if values[name] is not None]
    record = integer(values, "record_size")
    mistakes = (
        (not exists and not files, "found neither tree nor files; expected the path of a tree, or a number of files to create"),
        (exists and files, "found tree with files; expected one of them: Assay never writes an existing tree"),
        (exists and laid_out, f"found {' and '.join(laid_out)} with tree; expected files, which creates a tree"),
        (0 < files < clients, f"found {files} files for {clients} clients; expected at least one file for each"),
        (0 < files < spread, f"found directories {spread}; expected at most files ({files})"),
        (
            values["direct"] and record % DIRECT_UNIT,
            f"found record_size {in_bytes(record)} with direct; expected a multiple of {in_bytes(DIRECT_UNIT)}",
        ),
    )
    return messages(mistakes)


def root(order: Order, values: Values) -> str:
    """Return the absolute path of the tree."""
    home = order.endpoints[0].address
    if values["tree"] is None:
        return f"{home}/{order.workload}-tree"
    path = text(values, "tree")
    whole = path if path.startswith("/") else f"{home}/{'' if path == '.' else path}"
    return whole.rstrip("/") or "/"


def phases(order: Order) -> tuple[PhasePlan, ...]:
    """Return the phases: layout if a tree is created, a first pass if the cache must be warm, and the measured pass."""
    values = resolved(KNOBS, order.knobs)
    first = () if values["tree"] is not None else (layout(order, values),)
    warming = (reading(order, values, WARMING),) if values["cache"] == CacheState.WARM else ()
    return (*first, *warming, reading(order, values, READ))


def layout(order: Order, values: Values) -> PhasePlan:
    """Plan the layout: each client creates its share of the files, in the same directories."""
    files, clients = integer(values, "files"), len(order.endpoints)
    shares = [files * client // clients for client in range(clients + 1)]
    shared = {
        "directory": root(order, values),
        "object": "file",
        "operations": ("create",),
        "file_bytes": integer(values, "file_bytes", DEFAULT_FILE_BYTES),
        "directories": integer(values, "directories", DEFAULT_DIRECTORIES),
    }
    return PhasePlan(
        name=LAYOUT,
        operations=("create",),
        directions={"create": Direction.WRITE},
        measured=False,
        settings=tuple({**shared, "first": shares[at], "count": shares[at + 1] - shares[at]} for at in range(clients)),
        engine="metadata",
    )


def reading(order: Order, values: Values, name: str) -> PhasePlan:
    """Plan one pass over the tree, each file by one client; the warming pass ignores the knobs."""
    is_first = name == WARMING
    ends = integer(values, "duration") > 0 and not is_first
    clients = len(order.endpoints)
    think = integer(values, "think")
    shared: dict[str, object] = {"root": root(order, values), "parts": clients, "walkers": values["walkers"]}
    if not is_first:
        shared |= {key: values[key] for key in ("record_size", "advice", "order", "direct", "drop_behind", "passes")}
        shared |= {"duration_ns": values["duration"], "load": {"think_ns": think} if think else {}}
    return PhasePlan(
        name=name,
        operations=tuple(OPERATIONS),
        directions=OPERATIONS,
        measured=not is_first,
        cache=CacheState.UNCHANGED if is_first else CacheState(text(values, "cache")),
        stop=StopRule.TIME if ends else StopRule.WORK,
        settings=tuple({**shared, "part": client} for client in range(clients)),
        tree=root(order, values),
        within=WITHIN,
    )


def space(knobs: Mapping[str, Value]) -> int:
    """Return the bytes of inodes and whole blocks of the created tree."""
    values = resolved(KNOBS, knobs)
    blocks = -(-integer(values, "file_bytes", DEFAULT_FILE_BYTES) // BLOCK)
    return integer(values, "files") * (INODE + blocks * BLOCK)


def seconds(knobs: Mapping[str, Value], pace: Pace) -> float:
    """Estimate: the layout, then the time limit, or each pass with two requests and the opening of each file.

    Of an existing tree its own files and bytes, where it is on this machine.
    """
    values = resolved(KNOBS, knobs)
    files, walkers = integer(values, "files"), integer(values, "walkers") * integer(values, "clients", 1)
    limit, size, layout = integer(values, "duration") / 1e9, space(knobs), 0.0
    if files:
        layout = size / pace.write_bytes_per_s + files * GUESS_FILE_S
    elif (known := tree_size(text(values, "tree"))) is not None and known.is_whole:
        files, size = known.files, known.bytes
    else:
        return limit or GUESS_TREE_S
    once = size / pace.read_bytes_per_s + files * (2 / pace.read_ops_per_s + GUESS_FILE_S) / min(walkers, MOST_PARALLEL)
    thinking = files * integer(values, "think") / 1e9 / walkers
    warming = once if values["cache"] == CacheState.WARM else 0.0
    return layout + warming + (limit or (once + thinking) * integer(values, "passes", 1))


WORKLOAD = Workload(
    name="backup_read",
    knobs=KNOBS,
    accepts=(EndpointKind.DIRECTORY,),
    operations=operations,
    phases=phases,
    check=check,
    engine="tree",
    again=lambda knobs: None,
    only_reads=lambda knobs: knobs.get("tree") is not None,
    space=space,
    seconds=seconds,
    nouns={"read": "reads", "file": "files", "walk": "walks"},
    lookups={"walk": ("walk", "file"), "file": ("file",)},
)
