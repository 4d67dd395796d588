"""Reads a whole tree as a backup program does that writes nothing: every directory, every file, by several walkers.

The tree exists, or is laid out first, unmeasured. All times are those of the load engine (`docs/engine-protocol.md`, engine
`tree`); nothing of the tree is changed.
"""

from __future__ import annotations

from collections.abc import Mapping

from assay.catalogue import PLACEMENT, Knob, KnobKind, Order, Unit, Workload
from assay.records import CacheState, Direction, EndpointKind, PhasePlan, StopRule, Value
from assay.settings.knobs import Values, choice, in_bytes, integer, messages, number, quantity, resolved, switch, text

LAYOUT, WARMING, READ = "layout", "warming", "read"
OPERATIONS = {"read": Direction.READ, "file": Direction.METADATA, "walk": Direction.METADATA}
WITHIN = {"read": "file"}
MOST_FILES, MOST_DIRECTORIES, MOST_BYTES = 100_000_000, 100_000, 1 << 30
"""What the engine `metadata` lays out at most."""
BLOCK, DIRECT_UNIT = 4096, 4096
INODE = 1024
"""More than any of ext4, xfs and btrfs uses for an inode, its directory entry and its share of the tables."""
DEFAULT_FILE_BYTES, DEFAULT_DIRECTORIES = 64 << 10, 1
GUESS_BYTES_PER_S, GUESS_FILES_PER_S = 100e6, 5e3
GUESS_TREE_S = 600.0
"""A tree of which nothing is known; what takes 20 times as long is ended."""

KNOBS = (
    Knob(name="tree", kind=KnobKind.PATH, help="an existing tree to read, below the target's directory where not absolute"),
    number("files", "files of a tree that is laid out first, instead of an existing one", None, (1, MOST_FILES)),
    quantity("file_bytes", "bytes of each file that is laid out; 64 KiB", Unit.BYTES, None, (0, MOST_BYTES)),
    number("directories", "directories that the files are dealt out to; 1", None, (1, MOST_DIRECTORIES)),
    number("walkers", "threads of each client", 4, (1, 1024)),
    quantity("record_size", "bytes of one read", Unit.BYTES, 256 << 10, (1, 1 << 30)),
    choice("advice", "what the kernel is told of each file (posix_fadvise)", "none", "sequential", "willneed", "noreuse"),
    choice("order", "of the entries of a directory: as it lists them, or by inode", "directory", "inode"),
    switch("direct", "open with O_DIRECT"),
    switch("drop_behind", "give back the memory of what was read"),
    number("passes", "how often the tree is read; 1, or with duration until its end"),
    quantity("duration", "stop after this time; the tree is then read again and again", Unit.NANOSECONDS),
    quantity("think", "time of each walker before each file", Unit.NANOSECONDS),
    choice("cache", "state of the caches before it is read", "unchanged", "cold", "warm"),
    *PLACEMENT,
)


def operations(_knobs: Mapping[str, Value]) -> Mapping[str, str]:
    """Bytes for the whole, files for the small ones, and how long the slowest directories take."""
    return {"read": "bytes_per_s", "file": "ops_per_s", "walk": "latency_p99_ns"}


def check(knobs: Mapping[str, Value]) -> tuple[str, ...]:
    """A tree that is neither there nor made, or both, and numbers that do not fit each other."""
    values = resolved(KNOBS, knobs)
    files, clients = integer(values, "files"), integer(values, "clients", 1)
    exists, spread = values["tree"] is not None, integer(values, "directories", DEFAULT_DIRECTORIES)
    laid_out = [name for name in ("file_bytes", "directories") if values[name] is not None]
    record = integer(values, "record_size")
    mistakes = (
        (not exists and not files, "found neither tree nor files; expected the path of a tree, or how many files to lay out"),
        (exists and files, "found tree with files; expected one of them: an existing tree is never written"),
        (exists and laid_out, f"found {' and '.join(laid_out)} with tree; expected files, where a tree is laid out"),
        (0 < files < clients, f"found {files} files for {clients} clients; expected at least one for each"),
        (0 < files < spread, f"found directories {spread}; expected at most files ({files})"),
        (
            values["direct"] and record % DIRECT_UNIT,
            f"found record_size {in_bytes(record)} with direct; expected a multiple of {in_bytes(DIRECT_UNIT)}",
        ),
    )
    return messages(mistakes)


def root(order: Order, values: Values) -> str:
    """Where the tree is, as an absolute path."""
    home = order.endpoints[0].address
    if values["tree"] is None:
        return f"{home}/{order.workload}-tree"
    path = text(values, "tree")
    whole = path if path.startswith("/") else f"{home}/{'' if path == '.' else path}"
    return whole.rstrip("/") or "/"


def phases(order: Order) -> tuple[PhasePlan, ...]:
    """The layout where the tree is made, a first reading where it is to be warm, and the reading that counts."""
    values = resolved(KNOBS, order.knobs)
    first = () if values["tree"] is not None else (layout(order, values),)
    warming = (reading(order, values, WARMING),) if values["cache"] == CacheState.WARM else ()
    return (*first, *warming, reading(order, values, READ))


def layout(order: Order, values: Values) -> PhasePlan:
    """Each client makes its share of the files, in the same directories."""
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
    """All of the tree, each file by one of the clients; the first reading fills the cache, whatever the knobs say."""
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
    """Bytes of inodes and whole blocks of what is laid out."""
    values = resolved(KNOBS, knobs)
    blocks = -(-integer(values, "file_bytes", DEFAULT_FILE_BYTES) // BLOCK)
    return integer(values, "files") * (INODE + blocks * BLOCK)


def seconds(knobs: Mapping[str, Value]) -> float:
    """A guess for a local disk: the time limit, or each pass at 100 MB/s and 5,000 files a second, and the layout."""
    values = resolved(KNOBS, knobs)
    files = integer(values, "files")
    once = space(knobs) / GUESS_BYTES_PER_S + files / GUESS_FILES_PER_S if files else GUESS_TREE_S
    thinking = files * integer(values, "think") / 1e9 / (integer(values, "walkers") * integer(values, "clients", 1))
    limit = integer(values, "duration") / 1e9
    before = (files > 0) + (values["cache"] == CacheState.WARM)
    return 1.0 + before * once + (limit or (once + thinking) * integer(values, "passes", 1))


WORKLOAD = Workload(
    name="backup_read",
    knobs=KNOBS,
    accepts=(EndpointKind.DIRECTORY,),
    operations=operations,
    phases=phases,
    check=check,
    engine="tree",
    only_reads=lambda knobs: knobs.get("tree") is not None,
    space=space,
    seconds=seconds,
)
