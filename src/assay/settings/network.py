"""The two ends of a workload over the network: its knobs, and the settings of the engine `net` for the load and its server.

For a workload on a socket:

- `ENDS`: the knobs that all of them have; add them to KNOBS with those of `settings/load.py`.
- `Talk`: what is exchanged, with `plans(order)`: one phase whose clients are the load and, last, one server for all of it.
- `mistakes(values)`: contradictions between these knobs. Add them to `check`.

The server is armed first, and the engine takes the address that its arming returns in the setting `address` of the load.
`values` are knobs with their defaults (`knobs.resolved`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from assay.catalogue import PLACEMENT, Knob, KnobKind, Order, Pace, Unit
from assay.records import Direction, PhasePlan, Role, Value
from assay.settings import load
from assay.settings.knobs import Values, choice, integer, messages, number, quantity, switch, text

ADDRESS = "{server.address}"
"""In the settings of the load: replaced by the address that the arming of its server returned."""
USUAL_NS = 10_000_000_000
MOST_CONNECTIONS = 4_096
MOST_BYTES = 1 << 30
DIRECTIONS: Mapping[str, Direction] = {
    "send": Direction.SEND,
    "receive": Direction.RECEIVE,
    "transaction": Direction.REQUEST,
}
WAYS = ("send", "receive", "both")
PLACES = ("none", "same", "different")

ENDS = (
    number("connections", "connections of each client", 1, (1, MOST_CONNECTIONS)),
    number(
        "workers", "threads for each direction of a client's connections; default: one a connection", None, (1, MOST_CONNECTIONS)
    ),
    quantity("window", "socket buffers of both ends; default and 0: sized by the kernel", Unit.BYTES, None, (0, MOST_BYTES)),
    number("ops", "operations of each connection"),
    quantity("duration", "stop after this time; 10 s without another end", Unit.NANOSECONDS),
    *load.LOAD,
    *load.STEADY,
    Knob(name="server_cpus", kind=KnobKind.CPUS, help="CPUs for the server: a count or a list of numbers"),
    choice("placement", "both ends on the same CPU, each on a different CPU, or not pinned", *PLACES),
    *PLACEMENT,
)
"""The knobs of every workload with two ends."""

TCP = (
    Knob(name="congestion", kind=KnobKind.TEXT, help="congestion control of both ends; default: that of the kernel"),
    switch("mptcp", "MPTCP: one connection over several paths"),
)
"""The knobs of connections."""


def nodelay(*, default: bool) -> Knob:
    """Declare the knob for small segments, on or off by default."""
    help_text = "send small segments at once (TCP_NODELAY)"
    return Knob(name="nodelay", kind=KnobKind.SWITCH, help=help_text, default=default)


def message(default: int, least: int, most: int) -> Knob:
    """Declare the knob for the bytes of one operation."""
    return quantity("message", "bytes of one send", Unit.BYTES, default, (least, most))


@dataclass(frozen=True, kw_only=True)
class Talk:
    """What both ends exchange: the engine's word for it, and the knobs that are settings of both ends under the same name."""

    name: str
    exchange: str
    shared: tuple[str, ...]

    def plans(self, order: Order, values: Values) -> tuple[PhasePlan, ...]:
        """Return one phase: the clients of the load, then their server."""
        clients, ends = len(order.endpoints), ended_by(values)
        given = {**values, "window": integer(values, "window") or None}
        both = {
            "exchange": self.exchange,
            "token": order.token,
            **{name: given[name] for name in self.shared if given.get(name) is not None},
        }
        way = text(values, "direction") or "send"
        loads = {
            **both,
            "role": "load",
            "address": ADDRESS,
            "connections": integer(values, "connections", 1),
            "workers": values.get("workers"),
            **ends,
            "load": load.load_setting(values, clients) if way != "receive" else thinking(values),
        }
        server = {
            **both,
            "role": "server",
            "address": bound(order.endpoints[0].address),
            "connections": integer(values, "connections", 1) * clients,
            "workers": integer(values, "workers") * clients or None,
            **(ends if way != "send" else {}),
            "load": load.load_setting(values, 1) if way == "receive" and not integer(values, "think") else {},
        }
        names = ("send", "receive") if way == "both" else (way,) if self.exchange != "transaction" else ("transaction",)
        return (
            PhasePlan(
                name=self.name,
                operations=names,
                directions={name: DIRECTIONS[name] for name in names},
                stop=load.stop_rule(values, is_timed=ends["duration_ns"] is not None or load.lasts_ns(values) is not None),
                settings=(*(loads,) * clients, server),
                roles=(*(Role.LOAD,) * clients, Role.SERVER),
            ),
        )


def thinking(values: Values) -> dict[str, object]:
    """Return the load of a client that only receives: pauses between its reads, or none. The rate is its server's."""
    think = integer(values, "think")
    return {"think_ns": think} if think else {}


def ended_by(values: Values) -> dict[str, int | None]:
    """Return the settings that end the work of an end that leads."""
    ops, duration = integer(values, "ops") or None, integer(values, "duration") or None
    other = ops or load.lasts_ns(values)
    return {"ops": ops, "duration_ns": duration or (None if other else USUAL_NS)}


def bound(address: str) -> str:
    """Return where a server listens: at the target's address, at a free port if it names none."""
    host, port = split(address)
    return f"{f'[{host}]' if ':' in host else host}:{port or 0}"


def split(address: str) -> tuple[str, str]:
    """Return the host of an address without brackets, and its port; no port where it names none."""
    if address.startswith("["):
        host, _, rest = address[1:].partition("]")
        return host, rest.removeprefix(":")
    host, _, port = address.partition(":") if address.count(":") == 1 else (address, "", "")
    return host, port


def operations(knobs: Mapping[str, Value]) -> Mapping[str, str]:
    """Return the operations of a load that moves bytes, with their default figure, the bytes per second."""
    way = str(knobs.get("direction") or "send")
    return dict.fromkeys(("send", "receive") if way == "both" else (way,), "bytes_per_s")


def mistakes(values: Values) -> tuple[str, ...]:
    """Return the contradictions between the knobs of both ends, and those of the load."""
    connections, workers = integer(values, "connections", 1), integer(values, "workers")
    clients, way = integer(values, "clients", 1), text(values, "direction")
    pinned = values.get("cpus") is not None or values.get("server_cpus") is not None
    wrong = (
        (workers > connections, f"found {workers} workers; expected at most the {connections} connections"),
        (
            connections * clients > MOST_CONNECTIONS,
            f"found {connections} connections of {clients} clients; expected at most {MOST_CONNECTIONS:,} together",
        ),
        (
            workers and workers < connections and integer(values, "think"),
            "found think with fewer workers than connections; expected as many",
        ),
        (
            text(values, "placement") not in ("", "none") and pinned,
            f"found placement {values.get('placement')} with cpus or server_cpus; expected one of them",
        ),
        (way == "both" and load.is_open(values), "found a rate with direction both; expected direction send or receive"),
        (way in ("receive", "both") and integer(values, "ops"), f"found ops with direction {way}; expected duration"),
    )
    return (*messages(wrong), *load.load_mistakes(values), *load.timed_mistakes(values), *load.steady_mistakes(values))


def seconds(values: Values, _pace: Pace) -> float:
    """Estimate: the time limit, or the time of the load's rate; 10 s for a number of operations."""
    limit = (ended_by(values)["duration_ns"] or load.lasts_ns(values) or 0) / 1e9
    count = integer(values, "ops") * integer(values, "connections", 1) * integer(values, "clients", 1)
    return limit or load.least_s(values, count, max(1, integer(values, "connections", 1))) or USUAL_NS / 1e9
