"""The two ends of a phase over the network in words: where they were, what the server used, what arrived."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator

from assay import measures
from assay.measures.connections import connections, shares
from assay.measures.far_end import far_figure
from assay.records import Client, NetEnd, Phase, SocketBuffer
from assay.units import Unit


def lines(phase: Phase, before: str = "") -> Iterator[str]:
    """A line for each thing worth knowing of both ends; none of a phase without them."""
    servers = [(one, one.net) for one in phase.servers if one.net is not None]
    for client, end in servers:
        yield f"{before}{where(phase, client, end)}"
        if end.refused:
            yield f"{before}{refused(end)}"
    if servers:
        yield from (
            f"{before}{line}" for line in (used(phase), *sockets(phase), *arrived(phase), *unequal(phase), *copied(phase)) if line
        )
        yield from (f"{before}{line}" for line in shared(phase))


def where(phase: Phase, server: Client, end: NetEnd) -> str:
    """`server 127.0.0.1:40001: both ends on one host, over its loopback (no wire)`."""
    if is_loopback(end.address):
        return f"server {end.address}: both ends on one host, over its loopback (no wire)"
    if set(phase.load_hosts) == {server.host}:
        return f"server {end.address}: both ends on one host"
    return f"server {end.address} on host {server.host}"


def is_loopback(address: str) -> bool:
    """Whether an address with a port is on the loopback."""
    try:
        return ipaddress.ip_address(address.rpartition(":")[0].strip("[]")).is_loopback
    except ValueError:
        return False


def refused(end: NetEnd) -> str:
    """How many connections the server did not serve."""
    reasons = ", ".join(f"{count:,} ({reason})" for reason, count in end.refused.items())
    return f"refused connections: {reasons}"


def used(phase: Phase) -> str:
    """CPU time of the server per operation of the load, and of both ends per gigabyte."""
    moves = not {"send", "receive"}.isdisjoint(phase.operations)
    each, both = (far_figure(phase, name, "") for name in ("server_cpu_ns_per_op", "both_cpu_ns_per_gb"))
    if each is None:
        return ""
    time = measures.with_unit(each, Unit.NANOSECONDS)
    per_gb = f"; both ends {measures.with_unit(both, Unit.NANOSECONDS)} per GB" if both is not None and moves else ""
    return f"server {time} of CPU time per operation of the load{per_gb}"


def sockets(phase: Phase) -> Iterator[str]:
    """Congestion control, MTU and buffers of the first connection of each end; nothing of an end without one."""
    for name, clients in (("load", phase.clients), ("server", phase.servers)):
        one = next(iter(connections(clients)), None)
        if one is not None:
            mtu = one.tcp.get("path_mtu")
            path = f", path MTU {mtu:,} bytes" if mtu else ""
            buffers = f"send buffer {in_words(one.send_buffer)}, receive buffer {in_words(one.receive_buffer)}"
            yield f"sockets of the {name}: {one.congestion or one.protocol}{path}; {buffers}"


def in_words(buffer: SocketBuffer) -> str:
    """`512 KiB (asked for 256 KiB)`, or what the kernel made of it by the end."""
    if buffer.asked is None:
        return f"{measures.with_unit(buffer.end, Unit.BYTES)} at the end (sized by the kernel)"
    return f"{measures.with_unit(buffer.got, Unit.BYTES)} (asked for {measures.with_unit(buffer.asked, Unit.BYTES)})"


def arrived(phase: Phase) -> Iterator[str]:
    """The bytes that were sent and never received."""
    share = far_figure(phase, "delivered_share", "send")
    rate = far_figure(phase, "delivered_bytes_per_s", "send")
    if share is not None and rate is not None:
        yield f"{measures.with_unit(rate, Unit.BYTES_PER_S)} arrived, {measures.percent(share)} of the sent bytes"
    for one in phase.servers:
        found = one.net.datagrams if one.net else None
        if found is not None and found.buffer_drops:
            yield f"{found.buffer_drops:,} datagrams were lost in the server's receive buffer"


MOST_STREAMS = 8


def unequal(phase: Phase) -> Iterator[str]:
    """How equally several connections shared the bytes, and those that got least, each in a line."""
    for operation in phase.operations:
        found = shares(phase, operation)
        if found is None:
            continue
        least = sorted(found.each, key=lambda one: one.share)[:MOST_STREAMS]
        of = "" if len(least) == len(found.each) else f"; the {len(least)} that got least"
        yield f"{len(found.each)} connections: Jain's index {found.fairness:.2f}{of}"
        yield from (
            f"    {one.name}: {measures.in_bytes(one.bytes)}, {measures.percent(one.share)} of its fair share{one.since}"
            for one in least
        )


def copied(phase: Phase) -> Iterator[str]:
    """Sends without a copy that the kernel copied all the same."""
    for one in (*phase.clients, *phase.servers):
        found = one.net.zerocopy if one.net else None
        if found is not None and found.copied:
            yield f"zerocopy: the kernel copied {found.copied:,} of {found.completed:,} sends all the same"


def shared(phase: Phase) -> Iterator[str]:
    """How the bytes of MPTCP connections were shared out among their ways, by the addresses of the load."""
    carried: dict[str, int] = {}
    for connection in (each for one in phase.clients if one.net for each in one.net.connections if len(each.subflows) > 1):
        for subflow in connection.subflows:
            moved = [subflow.tcp.get(name) or 0 for name in ("acked_bytes", "received_bytes")]
            way = subflow.local.rpartition(":")[0]
            carried[way] = carried.get(way, 0) + sum(moved)
    total = sum(carried.values())
    if total and len(carried) > 1:
        yield "subflows: " + ", ".join(f"{way} {measures.percent(bytes_ / total)}" for way, bytes_ in carried.items())
