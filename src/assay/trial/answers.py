"""One client's result of a phase, and what it says over time: curves, latencies, the kernel's account of connections. Pure."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from assay import plain
from assay.frozen import dataclass
from assay.records import Histogram, NetEnd, PhasePlan, Role, Series

SOURCE = "engine"
METRICS = {"count": "count", "bytes": "bytes", "busy_ns": "ns"}
FAR_END = "far_end"
"""The layer of what servers among the clients count."""
SOCKET_SOURCE = "engine:TCP_INFO"
UNITS: Mapping[str, str] = {
    "delivery_rate": "bytes/s",
    "send_window": "bytes",
    "receive_window": "bytes",
    "receive_threshold": "bytes",
}
"""Columns whose name does not end with their unit."""
AT = "at_ns"


@dataclass(frozen=True, kw_only=True)
class ClientReport:
    """One client's result of one phase, and T0 in its host's clock."""

    phase: str
    plan: PhasePlan
    client: int
    host: str
    t0_ns: int
    result: Mapping[str, Any]

    @property
    def subject(self) -> str:
        """The client as evidence names it."""
        return f"{'server' if self.is_server else 'client'}:{self.client}"

    @property
    def is_server(self) -> bool:
        """Whether the client answered the load."""
        return self.plan.role(self.client) is Role.SERVER

    def at(self, mono_ns: int) -> int:
        """A time of that client relative to T0."""
        return mono_ns - self.t0_ns


def curves(answer: ClientReport) -> Iterator[Series]:
    """Count, bytes, summed latency and spread of the latencies of each operation over time, cumulative."""
    for name, found in answer.result["operations"].items():
        points = found["checkpoints"]
        at_ns = array("q", map(answer.at, points["at_ns"]))
        for metric, unit in METRICS.items():
            yield over_time(answer, (f"{name}.{metric}", unit), at_ns, points[metric])
        yield from spread(answer, name, found.get("spread") or {"at_ns": ()})


def sockets(answer: ClientReport) -> Iterator[Series]:
    """What the kernel said of a client's connections at each look, all of them together."""
    for layer, metric, unit, at_ns, values in columns(answer.result.get("net")):
        own_ns = array("q", map(answer.at, at_ns))
        yield replace(over_time(answer, (metric, unit), own_ns, values), source=SOCKET_SOURCE, layer=layer)


def spread(answer: ClientReport, name: str, found: Mapping[str, Any]) -> Iterator[Series]:
    """Latencies that fell into each latency bucket over time, cumulative; none of a phase that was too short for two looks."""
    if len(found["at_ns"]) < 2:
        return
    at_ns = array("q", map(answer.at, found["at_ns"]))
    for place, upper_ns in enumerate(found["upper_ns"]):
        counts = [row[place] for row in found["count"]]
        yield over_time(answer, (f"{name}.bucket_{upper_ns}_ns", "count"), at_ns, counts)


def over_time(answer: ClientReport, what: tuple[str, str], at_ns: array[int], values: Sequence[float]) -> Series:
    """One client's values of something (metric, unit)."""
    metric, unit = what
    return Series(
        phase=answer.phase,
        source=SOURCE,
        layer=FAR_END if answer.is_server else "application",
        host=answer.host,
        subject=answer.subject,
        metric=metric,
        unit=unit,
        at_ns=at_ns,
        value=array("d", values),
    )


def histograms(answer: ClientReport) -> Iterator[Histogram]:
    """The latencies of each operation that was done, and how long those had waited that were given up: at least so long."""
    for name, found in answer.result["operations"].items():
        buckets = dict(zip(found["histogram"]["upper_ns"], found["histogram"]["count"], strict=True))
        for upper_ns, count in waits(found.get("unfinished")):
            buckets[upper_ns] = buckets.get(upper_ns, 0) + count
        if buckets:
            yield Histogram(
                phase=answer.phase,
                host=answer.host,
                subject=answer.subject,
                operation=name,
                upper_ns=array("q", sorted(buckets)),
                count=array("q", (buckets[upper_ns] for upper_ns in sorted(buckets))),
            )


def waits(found: Mapping[str, Any] | None) -> Iterator[tuple[int, int]]:
    """The longest wait of operations that were given up, and the mean of the others, each with how many there are."""
    if found is None:
        return
    yield found["longest_ns"], 1
    if others := found["count"] - 1:
        yield (found["waited_ns"] - found["longest_ns"]) // others, others


def net_end(found: Mapping[str, Any] | None, at: Callable[[int], int]) -> NetEnd | None:
    """The record of the result's section `net`, its times relative to T0; None without connections. Raises DamagedError."""
    if found is None:
        return None
    connections = [{**one, "tcp": one.get("tcp") or {}, "mptcp": one.get("mptcp") or {}} for one in found["connections"]]
    names = {"address", "accepted", "unlisted", "refused", "unfinished", "zerocopy", "datagrams"}
    own = {name: value for name, value in found.items() if name in names}
    return plain.from_plain(NetEnd, {**own, "connections": [_known(one, at) for one in connections]})


def _known(connection: Mapping[str, Any], at: Callable[[int], int]) -> dict[str, Any]:
    """What the record has of a connection."""
    since_ns = connection.get("slow_since_ns")
    known = {name: value for name, value in connection.items() if name != "datagrams"}
    return known if since_ns is None else {**known, "slow_since_ns": at(since_ns)}


def columns(found: Mapping[str, Any] | None) -> Iterator[tuple[str, str, str, array[int], list[float]]]:
    """Layer, metric, unit, times (the client's clock) and values of each column that the kernel filled at every look."""
    names = found["intervals"]["columns"] if found else []
    rows = found["intervals"]["rows"] if found else []
    if not rows:
        return
    layer = "udp" if found and found["exchange"] == "datagram" else "tcp"
    at_ns = array("q", (row[names.index(AT)] for row in rows))
    for place, name in enumerate(names):
        values = [row[place] for row in rows]
        if name != AT and None not in values:
            yield layer, name, unit_of(name), at_ns, values


def unit_of(metric: str) -> str:
    """The unit of a column."""
    if metric in UNITS:
        return UNITS[metric]
    return {"ns": "ns", "bytes": "bytes"}.get(metric.rpartition("_")[2], "count")
