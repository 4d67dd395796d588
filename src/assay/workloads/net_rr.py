"""Sends requests over TCP and waits for each answer: transactions per second and their latency, both ends Assay's.

The engine `net` (`docs/engine-protocol.md`) is at both ends: a server on the target's host, and the load.
"""

from __future__ import annotations

from collections.abc import Mapping

from assay.catalogue import Order, Unit, Workload, resolved
from assay.records import EndpointKind, PhasePlan, Value
from assay.settings import network
from assay.settings.knobs import quantity

OPERATION = "transaction"
KNOBS = (
    quantity("request", "bytes of a request", Unit.BYTES, 1, (1, network.MOST_BYTES)),
    quantity("response", "bytes of its answer", Unit.BYTES, 1, (1, network.MOST_BYTES)),
    *network.ENDS,
    *network.TCP,
    network.nodelay(default=True),
)
TALK = network.Talk(
    name=OPERATION, exchange=OPERATION, shared=("request", "response", "window", "nodelay", "congestion", "mptcp")
)


def check(knobs: Mapping[str, Value]) -> tuple[str, ...]:
    """Return the contradictions between the knobs."""
    return network.mistakes(resolved(KNOBS, knobs))


def phases(order: Order) -> tuple[PhasePlan, ...]:
    """Return one phase of both ends."""
    return TALK.plans(order, resolved(KNOBS, order.knobs))


WORKLOAD = Workload(
    name="net_rr",
    knobs=KNOBS,
    accepts=(EndpointKind.SOCKET,),
    operations=lambda knobs: {OPERATION: "ops_per_s"},
    phases=phases,
    check=check,
    engine="net",
    again=lambda knobs: None,
    servers=lambda knobs: 1,
    only_reads=lambda knobs: True,
    seconds=lambda knobs, pace: network.seconds(resolved(KNOBS, knobs), pace),
    nouns={"transaction": "transactions", "answer": "answers"},
)
