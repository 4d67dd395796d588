"""Streams bytes over TCP between two ends, both Assay's: throughput, with the CPU time of each end.

The engine `net` (`docs/engine-protocol.md`) is at both ends: a server on the target's host, and the load.
"""

from __future__ import annotations

from collections.abc import Mapping

from assay.catalogue import Order, Workload, resolved
from assay.records import EndpointKind, PhasePlan, Value
from assay.settings import network
from assay.settings.knobs import choice, integer, messages, switch

KNOBS = (
    choice("direction", "direction of the bytes, seen from the load", *network.WAYS),
    network.message(128 << 10, 1, network.MOST_BYTES),
    *network.ENDS,
    *network.TCP,
    network.nodelay(default=False),
    switch("zerocopy", "send without a copy (MSG_ZEROCOPY)"),
)
TALK = network.Talk(
    name="stream",
    exchange="stream",
    shared=("direction", "message", "window", "nodelay", "congestion", "mptcp", "zerocopy"),
)


def check(knobs: Mapping[str, Value]) -> tuple[str, ...]:
    """Return the contradictions between the knobs."""
    values = resolved(KNOBS, knobs)
    shared = 0 < integer(values, "workers") < integer(values, "connections", 1)
    wrong = (
        (values["zerocopy"] and values["mptcp"], "found zerocopy with mptcp; expected one of them"),
        (values["zerocopy"] and shared, "found zerocopy with fewer workers than connections; expected as many"),
    )
    return (*messages(wrong), *network.mistakes(values))


def phases(order: Order) -> tuple[PhasePlan, ...]:
    """Return one phase of both ends."""
    return TALK.plans(order, resolved(KNOBS, order.knobs))


WORKLOAD = Workload(
    name="net_stream",
    knobs=KNOBS,
    accepts=(EndpointKind.SOCKET,),
    operations=network.operations,
    phases=phases,
    check=check,
    engine="net",
    again=lambda knobs: None,
    servers=lambda knobs: 1,
    only_reads=lambda knobs: True,
    seconds=lambda knobs, pace: network.seconds(resolved(KNOBS, knobs), pace),
    nouns={"send": "sends", "receive": "receives"},
)
