"""One end of connections in a phase, as the engine `net` and the kernel of its host count it."""

from __future__ import annotations

from collections.abc import Mapping

from assay.frozen import dataclass, field


@dataclass(frozen=True, kw_only=True)
class SocketBuffer:
    """A socket's buffer in bytes, as the kernel counts it (with its own overhead)."""

    asked: int | None
    """None where its size was left to the kernel."""
    got: int
    """At the beginning."""
    end: int
    """At the end: the kernel may have changed a size that was left to it."""


@dataclass(frozen=True, kw_only=True)
class Subflow:
    """One subflow of an MPTCP connection, as it was last seen."""

    local: str
    peer: str
    tcp: Mapping[str, int | None] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class NetConnection:
    """One connection, at its end."""

    protocol: str
    """`tcp`, `mptcp` or `udp`."""
    local: str
    peer: str
    ended: str
    """`finished` (this end's work was done), `closed` (the other end's), `interrupted` or `broken`."""
    send_buffer: SocketBuffer
    receive_buffer: SocketBuffer
    congestion: str | None = None
    nodelay: bool | None = None
    tcp: Mapping[str, int | None] = field(default_factory=dict)
    """TCP_INFO, by the names of docs/engine-protocol.md; None where this kernel does not say it."""
    mptcp: Mapping[str, int | None] = field(default_factory=dict)
    subflows: tuple[Subflow, ...] = ()
    """Of an MPTCP connection, where the kernel tells (Linux 5.16 or newer)."""
    client: int | None = None
    """The client of the load that began it; None in runs of before it was kept."""
    number: int | None = None
    """Which connection of that client it is: both ends have the same two numbers."""
    slow_since_ns: int | None = None
    """Since when, from T0, this end moved less than half of the mean here; None where it does not at the end."""


@dataclass(frozen=True, kw_only=True)
class ZerocopyTotal:
    """Sends without a copy: asked for, confirmed by the kernel, and of these copied all the same."""

    sent: int
    completed: int
    copied: int


@dataclass(frozen=True, kw_only=True)
class DatagramTotal:
    """The datagrams of one end; None where it cannot know."""

    sent: int | None = None
    received: int | None = None
    lost: int | None = None
    """Numbers that never arrived."""
    reordered: int | None = None
    duplicated: int | None = None
    malformed: int | None = None
    buffer_drops: int | None = None
    """Of those that arrived at the host: found this socket's receive buffer full."""


@dataclass(frozen=True, kw_only=True)
class NetEnd:
    """All connections of one client."""

    address: str
    """Where the server listened."""
    accepted: int
    connections: tuple[NetConnection, ...]
    """The first of them; `unlisted` more there were."""
    unlisted: int = 0
    refused: Mapping[str, int] = field(default_factory=dict)
    """Why connections were not served -> how many: `stranger`, `token`, `settings`, `full`, `socket`."""
    unfinished: int = 0
    """Operations that were broken off at the end."""
    zerocopy: ZerocopyTotal | None = None
    datagrams: DatagramTotal | None = None
