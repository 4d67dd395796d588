"""What the other end of a load did and used: its servers' CPU time, and the bytes that arrived there.

The servers are clients of the phase on the target's host. Their cost is a figure of its own and in no sum of the load.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from assay.measures.cost import processor_ns
from assay.records import Client, Phase
from assay.units import Unit

FAR_UNITS: Mapping[str, Unit] = {
    "server_cpu_ns_per_op": Unit.NANOSECONDS,
    "server_cpu_ns_per_gb": Unit.NANOSECONDS,
    "both_cpu_ns_per_gb": Unit.NANOSECONDS,
    "delivered_bytes_per_s": Unit.BYTES_PER_S,
    "delivered_share": Unit.SHARE,
}
"""Every figure of the other end with its unit."""
GB = 1e9
ARRIVED = ("delivered_bytes_per_s", "delivered_share")
ARRIVES_AS = {"send": "receive"}
"""Operation of the load -> the operation of its server that takes the same bytes."""


def far_figure(phase: Phase, figure: str, operation: str) -> float | None:
    """One figure of the other end; None of a phase without servers, and where an end does not tell."""
    return OF[figure](phase, operation) if phase.servers and phase.clients else None


def processor_time(clients: tuple[Client, ...]) -> float | None:
    """User and system time in nanoseconds; None where a client does not tell."""
    costs = [client.cost for client in clients]
    return float(sum(processor_ns(cost) for cost in costs if cost)) if costs and None not in costs else None


def _sum(clients: tuple[Client, ...], field: str, operation: str | None = None) -> int:
    totals = (total for client in clients for total in client.operations if operation in (None, total.operation))
    return sum(getattr(total, field) for total in totals)


def _per(spent_ns: float | None, amount: float) -> float | None:
    return spent_ns / amount if spent_ns is not None and amount else None


def _both(phase: Phase) -> float | None:
    return processor_time((*phase.clients, *phase.servers))


def _delivered_rate(phase: Phase, operation: str) -> float | None:
    """Bytes that arrived, from the first arrival at any server to the last one, or to the end of the load's time."""
    arriving = ARRIVES_AS.get(operation)
    totals = [total for one in phase.servers for total in one.operations if total.operation == arriving and total.count]
    if not totals:
        return 0.0 if arriving and any(one.operation == arriving for end in phase.servers for one in end.operations) else None
    until_ns = max(client.until_ns for client in phase.clients)
    took_ns = max(until_ns, *(total.last_ns for total in totals)) - min(total.first_ns for total in totals)
    return sum(total.bytes for total in totals) * 1e9 / took_ns if took_ns > 0 else None


def _delivered_share(phase: Phase, operation: str) -> float | None:
    """Bytes that arrived among the bytes that were sent."""
    arriving, sent = ARRIVES_AS.get(operation), _sum(phase.clients, "bytes", operation)
    return _sum(phase.servers, "bytes", arriving) / sent if arriving and sent else None


OF: Mapping[str, Callable[[Phase, str], float | None]] = {
    "server_cpu_ns_per_op": lambda phase, operation: _per(processor_time(phase.servers), _sum(phase.clients, "count")),
    "server_cpu_ns_per_gb": lambda phase, operation: _per(processor_time(phase.servers), _sum(phase.clients, "bytes") / GB),
    "both_cpu_ns_per_gb": lambda phase, operation: _per(_both(phase), _sum(phase.clients, "bytes") / GB),
    "delivered_bytes_per_s": _delivered_rate,
    "delivered_share": _delivered_share,
}
