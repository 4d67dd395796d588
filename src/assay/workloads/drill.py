"""Appends numbered, checksummed records at a rate while events hit the target, and then looks for every acknowledged one.

Each client appends to a file of its own (engine `drill`). The number of each acknowledged record is noted outside the target.
A record that fails, or does not end within `deadline`, is tried again until it is acknowledged. After the events each client
looks for its own records, then for those of the next client: with a target that has a mount for each client, from the other one.
"""

from __future__ import annotations

import posixpath
from collections.abc import Mapping

from assay.catalogue import PLACEMENT, Order, Pace, Unit, Workload, resolved
from assay.records import Direction, Endpoint, EndpointKind, PhasePlan, StopRule, Value
from assay.settings import load
from assay.settings.knobs import Values, choice, integer, messages, names, quantity, text

APPEND, CHECK, OTHER = "append", "check", "check_other"
KIB, SECOND = 1024, 10**9
USUAL_NS, USUAL_PER_S = 30 * SECOND, 100
LEAST_BYTES, MOST_BYTES = 64, 16 << 20
TOKEN_LETTERS = 12
PATIENCE_TRIES = 3
"""How many deadlines a check waits in all for records that cannot be read."""
KNOBS = (
    quantity("record_size", "bytes of a record", Unit.BYTES, 4 * KIB, (LEAST_BYTES, MOST_BYTES)),
    choice("flush", "each: a record is acknowledged after its fsync; none: after its write", "each", "none"),
    quantity("duration", "how long records are appended; 30 s without a schedule", Unit.NANOSECONDS),
    *(one for one in load.LOAD if one.name != "think"),
    quantity("deadline", "a try that takes longer has failed", Unit.NANOSECONDS, 10 * SECOND),
    quantity("retry", "pause before a record is tried again", Unit.NANOSECONDS, SECOND // 10),
    *PLACEMENT,
)


def operations(knobs: Mapping[str, Value]) -> Mapping[str, str]:
    """Return the operations with their default figures: seconds away, and records that are not what was acknowledged."""
    found = {APPEND: "away_ns", CHECK: "lost"}
    return {**found, OTHER: "lost"} if integer(knobs, "clients", 1) > 1 else found


def check(knobs: Mapping[str, Value]) -> tuple[str, ...]:
    """Return the contradictions between the knobs."""
    values = loaded(resolved(KNOBS, knobs))
    short = integer(values, "retry") > integer(values, "deadline")
    mistakes = messages(((short, "found retry above deadline; expected at most that"),))
    return (*mistakes, *load.load_mistakes(values), *load.timed_mistakes(values))


def loaded(values: Values) -> Values:
    """Return the knobs with the usual rate and duration, unless a schedule has its own."""
    if names(values, "schedule"):
        return values
    rate, duration = integer(values, "rate") or USUAL_PER_S, integer(values, "duration") or USUAL_NS
    return {**values, "rate": rate, "duration": duration}


def phases(order: Order) -> tuple[PhasePlan, ...]:
    """Return the appends, the check of each client's own records, and that of the next client's."""
    values, clients = loaded(resolved(KNOBS, order.knobs)), len(order.endpoints)
    appends = tuple(
        {
            **_file(order, values, client, client),
            "operation": APPEND,
            "duration_ns": values["duration"],
            "load": load.load_setting(values, clients),
        }
        for client in range(clients)
    )
    found = [
        PhasePlan(
            name=APPEND,
            operations=(APPEND,),
            directions={APPEND: Direction.WRITE},
            stop=StopRule.TIME,
            settings=appends,
            flush_in_clock=text(values, "flush") == "each",
            is_drained=False,  # a flush of the lab would make safe what the load did not; and it may hang with the target
        ),
        _look(order, values, CHECK, 0),
    ]
    return (*found, _look(order, values, OTHER, 1)) if clients > 1 else tuple(found)


def _look(order: Order, values: Values, name: str, further: int) -> PhasePlan:
    """Return the phase in which each client looks for the records of the client that many places further."""
    clients = len(order.endpoints)
    settings = tuple(
        {
            **_file(order, values, client, (client + further) % clients),
            "operation": CHECK,
            "name": name,
            "patience_ns": PATIENCE_TRIES * integer(values, "deadline"),
        }
        for client in range(clients)
    )
    directions = {name: Direction.READ}
    return PhasePlan(name=name, operations=(name,), directions=directions, settings=settings, is_first=False)


def _file(order: Order, values: Values, client: int, owner: int) -> dict[str, object]:
    """Return the settings for the records of one client, as another one sees them."""
    word = f"{order.token[:TOKEN_LETTERS]}-{owner}"
    return {
        "path": posixpath.join(order.endpoints[client].address, f"{order.workload}-records-{owner}"),
        "mounted": is_mount(order.endpoints[client]),
        "journal": f"{{scratch}}/{order.workload}-{word}.acknowledged",
        "token": f"{order.token}-{owner}",
        "record_size": values["record_size"],
        "flush": text(values, "flush") == "each",
        "deadline_ns": values["deadline"],
        "retry_ns": values["retry"],
    }


def is_mount(endpoint: Endpoint) -> bool:
    """Return whether a client has a mount of its own: without it its directory is one of the local disk."""
    return bool(endpoint.details.get("source")) and "image" not in endpoint.details


def space(knobs: Mapping[str, Value]) -> int:
    """Return the bytes of all records."""
    values = loaded(resolved(KNOBS, knobs))
    stages = load.stages(values)
    count = sum(one.operations for one in stages) or integer(values, "rate") * integer(values, "duration") / SECOND
    return int(count) * integer(values, "record_size")


def seconds(knobs: Mapping[str, Value], _pace: Pace) -> float:
    """Estimate: the time of the appends, and a tenth of it for each check."""
    values = loaded(resolved(KNOBS, knobs))
    return 1.2 * (load.lasts_ns(values) or integer(values, "duration")) / SECOND


WORKLOAD = Workload(
    name="drill",
    knobs=KNOBS,
    accepts=(EndpointKind.DIRECTORY,),
    operations=operations,
    phases=phases,
    check=check,
    engine="drill",
    space=space,
    seconds=seconds,
    nouns={"append": "appends", "check": "records looked for", "check_other": "records looked for from the other mount"},
)
