"""Runs a mix of requests from a profile: several sizes, reads and writes, random and sequential.

A profile (`settings/profiles.py`) is shipped or a file of the user. All times are those of the load engine
(`docs/engine-protocol.md`, operation `request_mix` of the engine `bulk`). The data set is first written in full, not measured.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise

from assay.catalogue import PLACEMENT, Knob, KnobKind, Order, Pace, Unit, Workload, resolved
from assay.errors import InputErrors, Mistake
from assay.records import CacheState, Direction, EndpointKind, PhasePlan, Value
from assay.settings import access, load, regions
from assay.settings.knobs import Values, choice, in_bytes, integer, messages, number, quantity, switch, text
from assay.settings.profiles import Profile, read, shipped

Stretches = tuple[Mapping[str, object], ...]
"""Segments of a file, one for each worker."""
LAYOUT, MIX = "layout", "mix"
DEFAULT_SIZE = 256 * regions.MIB

KNOBS = (
    Knob(
        name="profile",
        kind=KnobKind.TEXT,
        help=f"{', '.join(shipped())}, or the path of a file that ends in .toml",
        required=True,
    ),
    quantity("size", "size of the data set of each client", Unit.BYTES, DEFAULT_SIZE),
    number("workers", "threads of each client, each with its own segment", 1, (1, 1024)),
    Knob(
        name="ioengine",
        kind=KnobKind.CHOICE,
        help="I/O interface; psync, or io_uring if depth is above 1",
        choices=("psync", "io_uring", "mmap"),
    ),
    number("depth", "requests in flight of each worker; default: from the profile", None, (1, access.MOST_DEPTH)),
    switch("direct", "open with O_DIRECT"),
    choice("sync", "open with O_DSYNC", "none", "dsync"),
    quantity("duration", "stop after this time", Unit.NANOSECONDS),
    number("ops", "stop after this many requests of each worker"),
    *load.LOAD,
    *load.STEADY,
    choice("cache", "state of the caches before the mix", "unchanged", "cold", "warm"),
    *PLACEMENT,
)


def effective_knobs(knobs: Mapping[str, Value], profile: Profile) -> Values:
    """Fill the knobs from their defaults and the profile; an open loop has no think time."""
    values = resolved(KNOBS, knobs)
    values["depth"] = integer(values, "depth", profile.depth)
    if values["think"] is None and not load.is_open(values) and profile.think_ns:
        values["think"] = profile.think_ns
    values["ioengine"] = text(values, "ioengine") or ("io_uring" if integer(values, "depth") > 1 else "psync")
    return values


def directions(profile: Profile) -> Mapping[str, Direction]:
    """Return the operations of this profile with their directions."""
    ways = ((Direction.READ, profile.read_share), (Direction.WRITE, 1 - profile.read_share))
    return {str(direction): direction for direction, share in ways if share > 0}


def operations(knobs: Mapping[str, Value]) -> Mapping[str, str]:
    """Return the operations with their default figure, the rate; reads and writes if the profile cannot be read."""
    try:
        names = tuple(directions(read(str(knobs.get("profile")))))
    except InputErrors:
        names = ("read", "write")
    return dict.fromkeys(names, "ops_per_s")


def check(knobs: Mapping[str, Value]) -> tuple[str, ...]:
    """Return mistakes in the profile, and knobs that contradict it or each other."""
    try:
        profile = read(str(knobs.get("profile")))
    except InputErrors as error:
        return tuple(mistake_text(mistake) for mistake in error.mistakes)
    values, largest = effective_knobs(knobs, profile), profile.largest
    size, ends = integer(values, "size"), integer(values, "duration") or integer(values, "ops")
    least = largest * integer(values, "workers")
    mistakes = (
        (size % largest, f"found size {in_bytes(size)}; expected a multiple of the largest request ({in_bytes(largest)})"),
        (
            size < least,
            f"found size {in_bytes(size)}; expected at least {in_bytes(least)}, one of the largest requests for each worker",
        ),
        (not ends and load.lasts_ns(values) is None, "found no end; expected duration, ops or a schedule"),
    )
    return (
        *messages(mistakes),
        *access.path_mistakes({**values, "record_size": largest, "register": "probe"}),
        *load.load_mistakes(values),
        *load.timed_mistakes(values),
        *load.steady_mistakes(values),
    )


def mistake_text(mistake: Mistake) -> str:
    """Format a mistake in a profile, with its position, as a mistake of a knob."""
    place = ":".join(str(part) for part in (mistake.file, mistake.line, mistake.column) if part is not None)
    return f"found in profile {place} {mistake.found}; expected {mistake.expected}"


def phases(order: Order) -> tuple[PhasePlan, ...]:
    """Return the two phases: layout and mix."""
    profile = read(str(order.knobs.get("profile")))
    values = effective_knobs(order.knobs, profile)
    clients = tuple(stretches(order, values, profile.largest, client) for client in range(len(order.endpoints)))
    smallest = min(request.bytes for request in profile.requests)
    return (layout(values, smallest, clients), mix(values, profile, clients))


def stretches(order: Order, values: Values, largest: int, client: int) -> Stretches:
    """Return the segments of one client's workers, in its own file or in the one file of the target."""
    size, workers = integer(values, "size"), integer(values, "workers")
    path, first = f"{order.endpoints[client].address}/{order.workload}-{client}.data", 0
    if regions.is_a_file(order):
        path, first = order.endpoints[client].address, client * size
    edges = [first + size // largest * part // workers * largest for part in range(workers + 1)]
    return tuple({"path": path, "offset": start, "size": end - start} for start, end in pairwise(edges))


def data_files(clients: tuple[Stretches, ...]) -> tuple[str, ...]:
    """Return the files of all clients, each once."""
    return tuple(dict.fromkeys(str(stretch["path"]) for mine in clients for stretch in mine))


def layout(values: Values, smallest: int, clients: tuple[Stretches, ...]) -> PhasePlan:
    """Plan the phase that writes the data sets in full and flushes them; buffered in the smallest requests (`layout_record`)."""
    flush = f"{LAYOUT}_flush"
    record = regions.MIB if values["direct"] else max(regions.PAGE, smallest)
    shared = {"operation": "write", "name": LAYOUT, "record_size": record, "direct": values["direct"], "create": True}
    return PhasePlan(
        name=LAYOUT,
        operations=(LAYOUT, flush),
        directions={LAYOUT: Direction.WRITE, flush: Direction.FLUSH},
        measured=False,
        settings=tuple({**shared, "flush": "end", "flush_name": flush, "regions": mine} for mine in clients),
        data_files=data_files(clients),
        flush_in_clock=True,
    )


def mix(values: Values, profile: Profile, clients: tuple[Stretches, ...]) -> PhasePlan:
    """Plan the measured phase of all clients."""
    path, sync = text(values, "ioengine"), text(values, "sync")
    queue = {"depth": integer(values, "depth"), "batch": access.batch(values)} if path == "io_uring" else {}
    ends = {"ops": values["ops"], "duration_ns": values["duration"], "load": load.load_setting(values, len(clients))}
    shared = {**profile.setting, "path": path, **queue, "direct": values["direct"], "sync": sync, **ends}
    return PhasePlan(
        name=MIX,
        operations=tuple(directions(profile)),
        directions=directions(profile),
        cache=CacheState(text(values, "cache")),
        stop=load.stop_rule(values, is_timed=bool(integer(values, "duration") or load.lasts_ns(values))),
        settings=tuple({**shared, "regions": mine} for mine in clients),
        data_files=data_files(clients),
        flush_in_clock=sync == "dsync" and profile.read_share < 1,
    )


def space(knobs: Mapping[str, Value]) -> int:
    """Return the bytes of the data sets of all clients (`clients` among the knobs; default 1)."""
    values = resolved(KNOBS, knobs)
    return integer(values, "size") * integer(values, "clients", 1)


def seconds(knobs: Mapping[str, Value], pace: Pace) -> float:
    """Estimate: the layout, then the time limit, the requests of all workers, or the rate."""
    values = resolved(KNOBS, knobs)
    workers = integer(values, "workers") * integer(values, "clients", 1)
    count, limit = integer(values, "ops") * workers, (integer(values, "duration") or load.lasts_ns(values) or 0) / 1e9
    work = limit or max(load.least_s(values, count, workers), count / workers / min(pace.read_ops_per_s, pace.write_ops_per_s))
    return space(knobs) / pace.write_bytes_per_s + work


WORKLOAD = Workload(
    name="profile",
    knobs=KNOBS,
    accepts=(EndpointKind.DIRECTORY, EndpointKind.FILE),
    operations=operations,
    phases=phases,
    check=check,
    engine="bulk",
    again=lambda knobs: None,
    inputs=lambda knobs: {"profile": read(str(knobs.get("profile"))).identity},
    space=space,
    seconds=seconds,
)
