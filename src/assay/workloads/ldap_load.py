"""Searches, compares and changes a directory server over many connections, and verifies every answer.

The load engine (`docs/engine-protocol.md`, engine `ldap`) holds each answer against what was asked: the number of entries, the
DN, attributes, and the result code. A wrong or refused answer is an error under its own name, and no operation.
"""

from __future__ import annotations

from collections.abc import Mapping

from assay.catalogue import PLACEMENT, Order, Pace, Unit, Workload, resolved
from assay.errors import refuse
from assay.records import CacheState, Direction, EndpointKind, PhasePlan, Value
from assay.settings import directory, load
from assay.settings.directory_requests import LETTERS, USED_UP, USUAL_NS, Directory, spares
from assay.settings.knobs import Values, choice, integer, number, quantity, text

LAYOUT, LOAD = "layout", "load"
FIRST_ENTRY, BIND, SEARCH = "first_entry", "bind", "search"
GUESS_OPERATION_S = 2e-4
KNOBS = (
    *directory.KNOBS,
    number("ops", "operations of each worker"),
    quantity("duration", "stop after this time; 10 s without another end", Unit.NANOSECONDS),
    *load.LOAD,
    *load.STEADY,
    choice("cache", "state of the server's caches before the load", "unchanged", "cold"),
    *PLACEMENT,
)


def names(values: Values) -> tuple[str, ...]:
    """Return the operations of the engine: those of the mix, the first entry of a search, a bind before each of them."""
    mix = directory.shares(values)
    first = (FIRST_ENTRY,) if SEARCH in mix else ()
    each = (BIND,) if values.get("bind") == "each" and BIND not in mix else ()
    return (*mix, *first, *each)


def operations(knobs: Mapping[str, Value]) -> Mapping[str, str]:
    """Return the operations: the rate of each, and the time to the first entry."""
    found = names(resolved(KNOBS, knobs))
    return {name: "latency_p99_ns" if name == FIRST_ENTRY else "ops_per_s" for name in found}


def check(knobs: Mapping[str, Value]) -> tuple[str, ...]:
    """Return the contradictions between the knobs, and the place of the mistake in a filter that is none."""
    values = resolved(KNOBS, knobs)
    twice = values.get("bind") == "each" and BIND in directory.shares(values)
    both = ("found bind each with bind in mix; expected one of them",) if twice else ()
    return (
        *both,
        *directory.mistakes(values),
        *load.load_mistakes(values),
        *load.timed_mistakes(values),
        *load.steady_mistakes(values),
    )


def phases(order: Order) -> tuple[PhasePlan, ...]:
    """Return the load, after the creation of own entries if some are renamed or deleted. Raises UsageError for another server."""
    values = resolved(KNOBS, order.knobs)
    server = Directory(values=values, endpoints=order.endpoints)
    refuse([f"workload {order.workload}: {text}" for text in server.unfit()])
    clients = range(len(order.endpoints))
    ops, duration = integer(values, "ops") or None, integer(values, "duration") or None
    other = ops or load.lasts_ns(values)
    ends = {"ops": ops, "duration_ns": duration or (None if other else USUAL_NS)}
    shared = {"operations": server.operations(), "load": load.load_setting(values, len(clients)), **ends}
    is_timed = ends["duration_ns"] is not None or load.lasts_ns(values) is not None
    named = names(values)
    mixed = tuple(directory.shares(values))
    within = {FIRST_ENTRY: SEARCH} if FIRST_ENTRY in named else {}
    within |= {BIND: mixed[0]} if BIND in named and BIND not in mixed else {}
    loading = PhasePlan(
        name=LOAD,
        operations=named,
        directions=dict.fromkeys(named, Direction.REQUEST),
        cache=CacheState(text(values, "cache")),
        stop=load.stop_rule(values, is_timed=is_timed),
        settings=tuple({**server.connection(client), **shared} for client in clients),
        within=within,
    )
    return (*layout(server), loading)


def layout(server: Directory) -> tuple[PhasePlan, ...]:
    """Plan the creation of own entries; nothing where the mix needs none, or where the directory was filled with them."""
    adds = server.spare()
    if not adds:
        return ()
    once = {"bind": "once", "depth": 1, "operations": adds}
    created = tuple(str(one["name"]) for one in adds)
    return (
        PhasePlan(
            name=LAYOUT,
            operations=created,
            directions=dict.fromkeys(created, Direction.REQUEST),
            measured=False,
            settings=tuple({**server.connection(client), **once} for client in range(len(server.endpoints))),
        ),
    )


def seconds(knobs: Mapping[str, Value], _pace: Pace) -> float:
    """Estimate: the time limit, or the time of the load's rate; without either a guess for each operation."""
    values = resolved(KNOBS, knobs)
    limit = (integer(values, "duration") or load.lasts_ns(values) or 0) / 1e9
    workers = integer(values, "workers", 1) * integer(values, "clients", 1)
    count = integer(values, "ops") * workers
    return limit or load.least_s(values, count, max(1, workers)) or count * GUESS_OPERATION_S or USUAL_NS / 1e9


def only_reads(knobs: Mapping[str, Value]) -> bool:
    """Return True if nothing is added, changed, deleted or renamed."""
    return not set(directory.WRITES) & set(directory.shares(resolved(KNOBS, knobs)))


def own_entries(knobs: Mapping[str, Value]) -> Mapping[str, int]:
    """Return the entries that are renamed and deleted: with them a directory of Assay's is filled before it starts."""
    values = resolved(KNOBS, knobs)
    clients = integer(values, "clients", 1)
    return {LETTERS[kind]: spares(values, kind, clients) for kind in USED_UP if kind in directory.shares(values)}


WORKLOAD = Workload(
    name="ldap_load",
    knobs=KNOBS,
    accepts=(EndpointKind.URL,),
    operations=operations,
    phases=phases,
    check=check,
    engine="ldap",
    again=lambda knobs: None if only_reads(knobs) else "it changes entries",
    only_reads=only_reads,
    own_entries=own_entries,
    seconds=seconds,
    nouns={
        "search": "searches",
        "compare": "compares",
        "add": "adds",
        "modify": "modifies",
        "delete": "deletes",
        "rename": "renames",
        "bind": "binds",
        "first_entry": "first entries",
    },
)
