"""Sends datagrams over UDP between two ends, both Assay's: rate, loss, and the queue that dropped them.

The engine `net` (`docs/engine-protocol.md`) is at both ends: a server on the target's host, and the load.
"""

from __future__ import annotations

from collections.abc import Mapping

from assay.catalogue import Order, Workload, resolved
from assay.records import EndpointKind, PhasePlan, Value
from assay.settings import network
from assay.settings.knobs import choice, integer, messages, switch

LEAST, USUAL, MOST = 16, 1_472, 65_507
"""Bytes of a datagram: its tag and number; the payload of an Ethernet frame; all that UDP carries."""
KNOBS = (
    choice("direction", "direction of the datagrams, seen from the load", *network.WAYS),
    network.message(USUAL, LEAST, MOST),
    *network.ENDS,
    switch("segment", "many datagrams a call, cut up and joined by the kernel (UDP GSO and GRO)"),
)
TALK = network.Talk(name="datagram", exchange="datagram", shared=("direction", "message", "window", "segment"))


def check(knobs: Mapping[str, Value]) -> tuple[str, ...]:
    """Return the contradictions between the knobs."""
    values = resolved(KNOBS, knobs)
    shared = 0 < integer(values, "workers") < integer(values, "connections", 1)
    wrong = ((shared, "found fewer workers than connections for datagrams; expected as many"),)
    return (*messages(wrong), *network.mistakes(values))


def phases(order: Order) -> tuple[PhasePlan, ...]:
    """Return one phase of both ends."""
    return TALK.plans(order, resolved(KNOBS, order.knobs))


WORKLOAD = Workload(
    name="net_udp",
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
