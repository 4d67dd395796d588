"""Reads and writes records of files: sequential or random, buffered or direct, with or without the flush in the clock.

All times are those of the load engine (`docs/engine-protocol.md`, engine `bulk`). Each operation is a phase; data that no
phase has written before is laid out first, unmeasured, written in full and flushed.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

from assay.catalogue import PLACEMENT, Knob, KnobKind, Order, Unit, Workload
from assay.records import CacheState, Direction, EndpointKind, PhasePlan, StopRule, Value

WRITES = ("write", "rewrite", "random_write")
READS = ("read", "reread", "random_read")
ENGINE_OPERATION = {"rewrite": "write", "reread": "read"}
MIB = 1 << 20
DEFAULT_SIZE = 64 * MIB
GUESS_BYTES_PER_S = 100e6
GUESS_OPS_PER_S = 5e3


def choice(name: str, text: str, *choices: str) -> Knob:
    """A knob that takes one of these words, the first where none is given."""
    return Knob(name=name, kind=KnobKind.CHOICE, help=text, default=choices[0], choices=choices)


def quantity(name: str, text: str, unit: Unit, default: int | None = None, high: int | None = None) -> Knob:
    """A knob that measures something, at least 1."""
    return Knob(name=name, kind=KnobKind.QUANTITY, help=text, default=default, unit=unit, low=1, high=high)


KNOBS = (
    Knob(
        name="operations", kind=KnobKind.TEXTS, help="what is done, in order", default=("write", "read"), choices=WRITES + READS
    ),
    quantity("record_size", "bytes of one operation", Unit.BYTES, 64 << 10, 1 << 30),
    quantity("size", "bytes of a file; 64 MiB, or all of an existing file", Unit.BYTES),
    Knob(name="split", kind=KnobKind.SWITCH, help="size is the total of all clients and workers", default=False),
    choice("sharing", "a file for each worker, or segments of one file", "file-each", "one-file"),
    Knob(name="workers", kind=KnobKind.INTEGER, help="threads of each client", default=1, unit=Unit.COUNT, low=1, high=1024),
    Knob(name="file", kind=KnobKind.PATH, help="an existing file to read, and only to read"),
    Knob(name="overwrite", kind=KnobKind.SWITCH, help="lay the files out first, so that writes are overwrites", default=False),
    Knob(name="direct", kind=KnobKind.SWITCH, help="open with O_DIRECT", default=False),
    choice("sync", "open with O_DSYNC", "none", "dsync"),
    choice("flush", "fsync inside the clock: never, at the end, after each write", "none", "end", "each"),
    quantity("duration", "stop after this time instead of after the work", Unit.NANOSECONDS),
    Knob(name="ops", kind=KnobKind.INTEGER, help="stop after so many operations of each worker", unit=Unit.COUNT, low=1),
    choice("cache", "state of the caches before reads", "as-left", "cold", "warm"),
    *PLACEMENT,
)


def resolved(knobs: Mapping[str, Value]) -> dict[str, Value]:
    """The knobs with the defaults of those that are not given."""
    return {knob.name: knob.default for knob in KNOBS} | dict(knobs)


def chosen(knobs: Mapping[str, Value]) -> tuple[str, ...]:
    """The operations in the order in which they run."""
    return tuple(cast("tuple[str, ...]", resolved(knobs)["operations"]))


def integer(knobs: Mapping[str, Value], name: str, otherwise: int = 0) -> int:
    """A knob that counts something; `otherwise` where it is not set."""
    value = resolved(knobs)[name]
    return otherwise if value is None else cast("int", value)


def flush_name(knobs: Mapping[str, Value], name: str) -> str | None:
    """What the flush of a write is called: `flush`, with the write's name before it where there are several; None = no flush."""
    is_flushed = name in WRITES and resolved(knobs)["flush"] != "none"
    several = sum(other in WRITES for other in chosen(knobs)) > 1
    return (f"{name}_flush" if several else "flush") if is_flushed else None


def operations(knobs: Mapping[str, Value]) -> Mapping[str, str]:
    """Sequential operations are judged by bytes, random ones by operations a second, flushes by their latency."""
    figures = {name: "ops_per_s" if name.startswith("random") else "bytes_per_s" for name in chosen(knobs)}
    flushes = (flush_name(knobs, name) for name in chosen(knobs))
    return figures | {flush: "latency_p99_ns" for flush in flushes if flush}


def check(knobs: Mapping[str, Value]) -> tuple[str, ...]:
    """Knobs that contradict each other."""
    names, asked = chosen(knobs), resolved(knobs)
    size, record = integer(knobs, "size", DEFAULT_SIZE), integer(knobs, "record_size")
    writes, own = [name for name in names if name in WRITES], asked["file"] is None
    is_sized = own or asked["size"] is not None
    shares = not own or asked["split"] or asked["sharing"] == "one-file"
    least = record * (integer(knobs, "workers") if shares else 1)
    mistakes = (
        (not names, "found no operations; expected at least one"),
        (len(set(names)) < len(names), f"found operations {', '.join(names)}; expected each at most once (rewrite, reread)"),
        (not own and writes, f"found {', '.join(writes)} on an existing file; expected reads only: it is never written"),
        (not own and asked["overwrite"], "found overwrite with an existing file; expected one of them"),
        (is_sized and size % record, f"found size {size}; expected a multiple of record_size ({record})"),
        (is_sized and size < least, f"found size {size}; expected at least {least}, a record for each worker"),
        (asked["flush"] != "none" and not writes, "found flush without writes; expected none"),
    )
    return tuple(text for wrong, text in mistakes if wrong)


def region(order: Order, client: int, worker: int) -> Mapping[str, object]:
    """The part of a file that one worker uses, apart from all others; size 0 = that part of what an existing file has."""
    knobs, record, workers = resolved(order.knobs), integer(order.knobs, "record_size"), integer(order.knobs, "workers")
    parts, part = workers * len(order.endpoints), client * workers + worker
    if knobs["file"] is not None and knobs["size"] is None:
        return {"path": knobs["file"], "offset": 0, "size": 0, "part": part, "parts": parts}
    one_file = knobs["sharing"] == "one-file" or knobs["file"] is not None
    if not one_file and not knobs["split"]:
        parts, part = 1, 0
    records = integer(knobs, "size", DEFAULT_SIZE) // record
    start, end = records * part // parts * record, records * (part + 1) // parts * record
    shared = knobs["file"] or f"{order.endpoints[0].address}/{order.workload}.data"
    own = f"{order.endpoints[client].address}/{order.workload}-{client}-{worker}.data"
    return {"path": shared if one_file else own, "offset": start if one_file else 0, "size": end - start}


def is_laid_out_first(knobs: Mapping[str, Value]) -> bool:
    """Whether something is read, or overwritten, that no phase before has written in full."""
    is_full = not integer(knobs, "duration") and not integer(knobs, "ops")
    needs = [name for name in chosen(knobs) if name in (*READS, "rewrite") or (name == "write" and is_full)]
    return resolved(knobs)["file"] is None and (bool(resolved(knobs)["overwrite"]) or needs[:1] not in ([], ["write"]))


def phases(order: Order) -> tuple[PhasePlan, ...]:
    """One phase an operation, after the layout where one is needed."""
    layout = (plan(order, "layout"),) if is_laid_out_first(order.knobs) else ()
    return layout + tuple(plan(order, name) for name in chosen(order.knobs))


def plan(order: Order, name: str) -> PhasePlan:
    """One phase of all clients."""
    knobs, writes = resolved(order.knobs), name not in READS
    flush = "layout_flush" if name == "layout" else flush_name(knobs, name)
    directions = {name: Direction.WRITE if writes else Direction.READ} | ({flush: Direction.FLUSH} if flush else {})
    settings = tuple(setting(order, name, flush, client) for client in range(len(order.endpoints)))
    used = (region(order, client, worker) for client in range(len(settings)) for worker in range(integer(knobs, "workers")))
    return PhasePlan(
        name=name,
        operations=tuple(directions),
        directions=directions,
        measured=name != "layout",
        cache=CacheState.AS_LEFT if writes else CacheState(cast("str", knobs["cache"])),
        stop=StopRule.TIME if knobs["duration"] and name != "layout" else StopRule.WORK,
        settings=settings,
        data_files=tuple(dict.fromkeys(str(one["path"]) for one in used)),
        flush_in_clock=bool(flush) or (writes and knobs["sync"] == "dsync"),
    )


def setting(order: Order, name: str, flush: str | None, client: int) -> Mapping[str, object]:
    """What the engine of one client is told."""
    knobs = resolved(order.knobs)
    writes, layout = name not in READS, name == "layout"
    return {
        "operation": "write" if layout else ENGINE_OPERATION.get(name, name),
        "name": name,
        "flush_name": flush,
        "regions": tuple(region(order, client, worker) for worker in range(integer(knobs, "workers"))),
        "record_size": MIB if layout else knobs["record_size"],
        "direct": knobs["direct"],
        "sync": "none" if layout or not writes else knobs["sync"],
        "flush": "none" if not flush else "end" if layout else knobs["flush"],
        "create": writes,
        "ops": None if layout else knobs["ops"],
        "duration_ns": None if layout else knobs["duration"],
    }


def space(knobs: Mapping[str, Value]) -> int:
    """Bytes of the files of all clients (`clients` among the knobs; 1 where it is not)."""
    asked, clients = resolved(knobs), cast("int", knobs.get("clients", 1))
    files = 1 if asked["split"] or asked["sharing"] == "one-file" else integer(knobs, "workers") * clients
    return 0 if asked["file"] is not None else integer(knobs, "size", DEFAULT_SIZE) * files


def seconds(knobs: Mapping[str, Value]) -> float:
    """A guess for a local disk: the time limit, or the work at 100 MB/s (5,000 random operations a second)."""
    sequential = space(knobs) / GUESS_BYTES_PER_S
    random = integer(knobs, "ops", space(knobs) // integer(knobs, "record_size")) / GUESS_OPS_PER_S
    each = [integer(knobs, "duration") / 1e9 or (random if name.startswith("random") else sequential) for name in chosen(knobs)]
    return 1.0 + sum(each) + is_laid_out_first(knobs) * sequential


WORKLOAD = Workload(
    name="bulk_io",
    knobs=KNOBS,
    accepts=(EndpointKind.DIRECTORY,),
    operations=operations,
    phases=phases,
    check=check,
    engine="bulk",
    only_reads=lambda knobs: knobs.get("file") is not None,
    space=space,
    seconds=seconds,
)
