"""Measures when a client sees what another client of the same server did, and whether locks hold between them.

A writer and a reader have a mount each of one server, and messages between them order what they do (engine `coherence`,
`docs/engine-protocol.md`). Each try: the writer sets up, the reader looks, the writer acts, the reader looks until it sees it.
"""

from __future__ import annotations

from collections.abc import Mapping

from assay.catalogue import PLACEMENT, Order, Pace, Unit, Workload, resolved
from assay.errors import UsageError
from assay.records import EndpointKind, PhasePlan, Role, Value
from assay.settings.knobs import Values, integer, names, number, quantity, texts

SEEN = ("create", "append", "overwrite", "reopen", "truncate", "truncate_shared", "rename", "unlink", "list")
"""Steps after which a reader sees something, in the order in which they are tried."""
LOCKS = ("posix_lock", "flock")
UPDATES = ("counter", "direct_write")
"""Both ends write at the same time, and nothing may be lost."""
STEPS = (*SEEN, *LOCKS, *UPDATES)
FIGURES = {
    **dict.fromkeys(SEEN, "latency_p50_ns"),
    **dict.fromkeys(LOCKS, "granted_twice"),
    **dict.fromkeys(UPDATES, "lost"),
}
ENDS = (Role.WRITER, Role.READER)
RECORD = 4096
KNOBS = (
    texts("steps", f"what is tried: {', '.join(STEPS)}; default: all", STEPS, STEPS),
    number("times", "tries of each step; updates of each end", 20, (1, 100_000)),
    quantity("within", "how long the reader looks before it is never", Unit.NANOSECONDS, 5_000_000_000, (1_000_000, None)),
    quantity("look_every", "pause between two looks", Unit.NANOSECONDS, 1_000_000, (10_000, None)),
    *PLACEMENT,
)


def operations(knobs: Mapping[str, Value]) -> Mapping[str, str]:
    """Return the steps with their default figure."""
    return {name: FIGURES[name] for name in names(resolved(KNOBS, knobs), "steps")}


def check(knobs: Mapping[str, Value]) -> tuple[str, ...]:
    """Return the contradictions between the knobs."""
    values = resolved(KNOBS, knobs)
    chosen = names(values, "steps")
    found = []
    if not chosen:
        found.append("found no steps; expected at least one")
    if twice := sorted({name for name in chosen if chosen.count(name) > 1}):
        found.append(f"found {', '.join(twice)} twice in steps; expected each once")
    if integer(values, "look_every") >= integer(values, "within"):
        found.append("found look_every of at least within; expected less: a reader that looks once has no resolution")
    return tuple(found)


def phases(order: Order) -> tuple[PhasePlan, ...]:
    """Return one phase of both ends. Raises UsageError unless each of two clients has a mount of its own.

    An order without a token only asks for the names, with whatever endpoint.
    """
    values, chosen = resolved(KNOBS, order.knobs), names(resolved(KNOBS, order.knobs), "steps")
    addresses = [endpoint.address for endpoint in order.endpoints]
    if order.token and len(dict.fromkeys(addresses)) != len(ENDS):
        raise UsageError(
            f"workload {order.workload}: found {len(addresses)} clients with {len(dict.fromkeys(addresses))} mounts; "
            f"expected {len(ENDS)} of each: a target that mounts for each client, and clients = [{len(ENDS)}]"
        )
    return (
        PhasePlan(
            name="coherence",
            operations=chosen,
            directions={},
            settings=tuple(
                _settings(order, values, address, role) for address, role in zip(addresses, ENDS[: len(addresses)], strict=True)
            ),
            roles=ENDS[: len(addresses)],
        ),
    )


def _settings(order: Order, values: Values, address: str, role: Role) -> dict[str, object]:
    return {
        "role": role.value,
        "directory": f"{address}/{order.workload}-coherence",
        "meeting": order.token or "plan",
        "steps": list(names(values, "steps")),
        "times": integer(values, "times"),
        "within_ns": integer(values, "within"),
        "look_every_ns": integer(values, "look_every"),
    }


def seconds(knobs: Mapping[str, Value], _pace: Pace) -> float:
    """Estimate: a tenth of the longest time that the reader looks, for each try."""
    values = resolved(KNOBS, knobs)
    return len(names(values, "steps")) * integer(values, "times") * integer(values, "within") / 1e10


WORKLOAD = Workload(
    name="coherence",
    knobs=KNOBS,
    accepts=(EndpointKind.DIRECTORY,),
    operations=operations,
    phases=phases,
    check=check,
    engine="coherence",
    space=lambda knobs: (2 * integer(resolved(KNOBS, knobs), "times") + 2) * RECORD,
    seconds=seconds,
    mounts=len(ENDS),
    nouns={
        "create": "creates",
        "append": "appends",
        "rename": "renames",
        "unlink": "unlinks",
        "list": "listings",
        "overwrite": "overwrites seen",
        "reopen": "overwrites seen after close and open",
        "truncate": "truncates seen",
        "truncate_shared": "truncates of a shared file seen",
        "posix_lock": "POSIX locks passed on",
        "flock": "flocks passed on",
        "counter": "increments under a lock",
        "direct_write": "direct writes of two clients",
    },
)
