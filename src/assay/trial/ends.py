"""What an end of connections says of them in its result: the record of that end, and the kernel's account over time. Pure."""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Mapping
from typing import Any

from assay import plain
from assay.records import NetEnd

UNITS: Mapping[str, str] = {
    "delivery_rate": "bytes/s",
    "send_window": "bytes",
    "receive_window": "bytes",
    "receive_threshold": "bytes",
}
"""Columns whose name does not end with their unit."""
AT = "at_ns"


def net_end(found: Mapping[str, Any] | None) -> NetEnd | None:
    """The record of the result's section `net`; None of an engine without connections. Raises DamagedError."""
    if found is None:
        return None
    connections = [{**one, "tcp": one.get("tcp") or {}, "mptcp": one.get("mptcp") or {}} for one in found["connections"]]
    names = {"address", "accepted", "unlisted", "refused", "unfinished", "zerocopy", "datagrams"}
    own = {name: value for name, value in found.items() if name in names}
    return plain.from_plain(NetEnd, {**own, "connections": [_known(one) for one in connections]})


def _known(connection: Mapping[str, Any]) -> dict[str, Any]:
    """What the record has of a connection."""
    return {name: value for name, value in connection.items() if name not in ("client", "number", "datagrams")}


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
