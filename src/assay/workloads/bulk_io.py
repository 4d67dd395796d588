"""Reads and writes records of files: sequential or random, buffered or direct, with or without flushes in the measured time.

All times are those of the load engine (`docs/engine-protocol.md`, engine `bulk`). Each operation is a phase. Data that no
earlier phase has written are created first, in a phase that is not measured: written in full and flushed.
"""

from __future__ import annotations

from collections.abc import Mapping

from assay.catalogue import PLACEMENT, Order, Pace, Unit, Workload, resolved
from assay.records import CacheState, Direction, EndpointKind, PhasePlan, Value
from assay.settings import access, data, load, regions
from assay.settings.access import OPERATIONS
from assay.settings.knobs import Values, choice, integer, names, number, quantity, text, texts

WRITES = tuple(name for name, pattern in OPERATIONS.items() if pattern.writes and not pattern.reads)
READS = tuple(name for name, pattern in OPERATIONS.items() if pattern.reads and not pattern.writes)
LAYOUT = "layout"
GUESS_MEMORY_BYTES_PER_S = 2e9
GUESS_CALL_S = 4e-6
MOST_PARALLEL = 4
"""Requests that a local disk is guessed to serve at a time."""

KNOBS = (
    texts("operations", "operations, in order", ("write", "read"), tuple(OPERATIONS)),
    *regions.REGION,
    *access.PATTERN,
    *access.PATH,
    *data.FLUSH,
    *data.DATA,
    quantity("duration", "stop after this time instead of after all records", Unit.NANOSECONDS),
    number("ops", "stop after this many operations of each worker"),
    *load.LOAD,
    *load.STEADY,
    choice("cache", "state of the caches before reads", "unchanged", "cold", "warm"),
    *PLACEMENT,
)


def operation_sequence(knobs: Mapping[str, Value]) -> tuple[str, ...]:
    """Return the operations in order."""
    return names(resolved(KNOBS, knobs), "operations")


def operations(knobs: Mapping[str, Value]) -> Mapping[str, str]:
    """Return the default figures: bytes/s for sequential operations, operations/s for random ones, latency for flushes."""
    values = resolved(KNOBS, knobs)
    done = [called for name in operation_sequence(knobs) for called in access.result_operations(name)]
    figures = {called: "ops_per_s" if called.startswith("random") else "bytes_per_s" for called in done}
    called_flushes = (data.flush_name(values, name) for name in operation_sequence(knobs))
    return figures | {flush: "latency_p99_ns" for flush in called_flushes if flush}


def check(knobs: Mapping[str, Value]) -> tuple[str, ...]:
    """Return the contradictions between the knobs."""
    values = resolved(KNOBS, knobs)
    return (
        *access.pattern_mistakes(values),
        *regions.region_mistakes(values),
        *access.path_mistakes(values),
        *data.flush_mistakes(values),
        *data.data_mistakes(values),
        *load.load_mistakes(values),
        *load.timed_mistakes(values),
        *load.steady_mistakes(values),
    )


def does_all(values: Values) -> bool:
    """Return True if a phase accesses every record once: nothing else ends it."""
    return not integer(values, "duration") and not integer(values, "ops") and load.lasts_ns(values) is None


def is_laid_out_first(values: Values) -> bool:
    """Return True if an operation needs data that no earlier phase writes in full."""
    all_of_it = does_all(values)
    decides = [name for name in names(values, "operations") if OPERATIONS[name].keeps or (OPERATIONS[name].fills and all_of_it)]
    is_needed = bool(decides) and OPERATIONS[decides[0]].keeps
    return values["file"] is None and (bool(values["overwrite"]) or is_needed)


def again(knobs: Mapping[str, Value]) -> str | None:
    """Return why its phases cannot run again and again on the same files; None if they can."""
    values = resolved(KNOBS, knobs)
    if data.is_verified(values):
        return "it verifies records, whose content another slice has written"
    writes = values["file"] is None and any(OPERATIONS[name].writes for name in names(values, "operations"))
    return (
        "its first slice writes a new file, each later one an old file (overwrite = true)"
        if writes and not is_laid_out_first(values)
        else None
    )


def phases(order: Order) -> tuple[PhasePlan, ...]:
    """Return one phase per operation, after the layout if one is needed."""
    values = resolved(KNOBS, order.knobs)
    first = (layout(order, values),) if is_laid_out_first(values) else ()
    return first + tuple(plan(order, values, name) for name in names(values, "operations"))


def layout(order: Order, values: Values) -> PhasePlan:
    """Plan the phase that creates the files: sequentially, flushed at the end."""
    clients = range(len(order.endpoints))
    shared = {
        "operation": "write",
        "name": LAYOUT,
        "record_size": regions.layout_record(values),
        "direct": values["direct"],
        "flush": "end",
        "flush_name": f"{LAYOUT}_flush",
        "create": True,
        **data.layout_setting(values),
    }
    return PhasePlan(
        name=LAYOUT,
        operations=(LAYOUT, f"{LAYOUT}_flush"),
        directions={LAYOUT: Direction.WRITE, f"{LAYOUT}_flush": Direction.FLUSH},
        measured=False,
        settings=tuple({**shared, "regions": regions.regions(order, values, "segments", client)} for client in clients),
        data_files=regions.paths(order, values),
        flush_in_clock=True,
    )


def plan(order: Order, values: Values, name: str) -> PhasePlan:
    """Plan one measured phase of all clients."""
    pattern, flush = OPERATIONS[name], data.flush_name(values, name)
    done = access.result_operations(name)
    ends = integer(values, "duration") or load.lasts_ns(values)
    durable = bool(flush) and data.is_durable(values)
    return PhasePlan(
        name=name,
        operations=(*done, *((flush,) if flush else ())),
        directions={**done, **data.flush_directions(values, name)},
        cache=CacheState(text(values, "cache")) if pattern.reads else CacheState.UNCHANGED,
        stop=load.stop_rule(values, is_timed=bool(ends)),
        settings=tuple(setting(order, values, name, client) for client in range(len(order.endpoints))),
        data_files=regions.paths(order, values),
        flush_in_clock=durable or (pattern.writes and text(values, "sync") == "dsync"),
    )


def setting(order: Order, values: Values, name: str, client: int) -> Mapping[str, object]:
    """Return the engine settings of one client."""
    shared = text(values, "layout")
    return {
        **access.pattern_setting(values, name),
        "regions": regions.regions(order, values, shared, client),
        "record_size": values["record_size"],
        "layout": shared,
        **access.path_setting(values, name),
        **data.flush_setting(values, name),
        "create": OPERATIONS[name].writes and not OPERATIONS[name].keeps,
        **data.data_setting(values, name, fills=does_all(values)),
        "ops": values["ops"],
        "duration_ns": values["duration"],
        "load": load.load_setting(values, len(order.endpoints)),
    }


def space(knobs: Mapping[str, Value]) -> int:
    """Return the bytes of the files of all clients (`clients` among the knobs; default 1)."""
    values = resolved(KNOBS, knobs)
    each = integer(values, "size", regions.DEFAULT_SIZE)
    return 0 if values["file"] is not None else each * regions.files(values, integer(values, "clients", 1))


def seconds(knobs: Mapping[str, Value], pace: Pace) -> float:
    """Estimate: the layout, then for each operation the time limit, the rate, or the bytes and requests that meet the target."""
    values = resolved(KNOBS, knobs)
    layout_s = space(knobs) / pace.write_bytes_per_s if is_laid_out_first(values) else 0.0
    limit = (integer(values, "duration") or load.lasts_ns(values) or 0) / 1e9
    return layout_s + sum(limit or _operation_s(values, name, pace) for name in operation_sequence(knobs))


def _operation_s(values: Values, name: str, pace: Pace) -> float:
    """Estimate one operation that ends with its work: what one worker requests past the cache one by one, and all bytes."""
    pattern, record = OPERATIONS[name], integer(values, "record_size")
    workers = integer(values, "workers") * integer(values, "clients", 1)
    ops, reads = integer(values, "ops"), pattern.reads and not pattern.writes
    count = ops * workers if ops else space(values) // record
    bytes_per_s, ops_per_s = (
        (pace.read_bytes_per_s, pace.read_ops_per_s) if reads else (pace.write_bytes_per_s, pace.write_ops_per_s)
    )
    cached = reads and not values["direct"] and values["cache"] != CacheState.COLD
    every = integer(values, "flush_every") or (1 if values["flush"] == "each" and not reads else 0)
    one_by_one = (values["direct"] or (pattern.random and reads)) and not cached
    requests = count if one_by_one else 0
    flushes = count / every if every and not reads else 0
    moved = count * record / (GUESS_MEMORY_BYTES_PER_S if cached else bytes_per_s)
    waits = (requests + flushes) / min(workers, MOST_PARALLEL) / ops_per_s + count * GUESS_CALL_S / min(workers, pace.cpus)
    return max(load.least_s(values, count, workers), moved + waits)


WORKLOAD = Workload(
    name="bulk_io",
    knobs=KNOBS,
    accepts=(EndpointKind.DIRECTORY, EndpointKind.FILE),
    operations=operations,
    phases=phases,
    check=check,
    engine="bulk",
    again=again,
    only_reads=lambda knobs: knobs.get("file") is not None,
    space=space,
    seconds=seconds,
    nouns={
        "write": "writes",
        "rewrite": "rewrites",
        "read": "reads",
        "reread": "rereads",
        "random_read": "random reads",
        "random_write": "random writes",
        "backward_read": "backward reads",
        "stride_read": "strided reads",
        "record_rewrite": "rewrites of one record",
        "stdio_write": "writes through C stdio",
        "stdio_rewrite": "rewrites through C stdio",
        "stdio_read": "reads through C stdio",
        "stdio_reread": "rereads through C stdio",
    },
)
