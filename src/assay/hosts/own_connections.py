"""What the lab's own connections to hosts moved, by the kernel's count of each (TCP_INFO).

The interfaces of a host count them beside the traffic of a load. Headers are left out, so it is never more than what
passed there.
"""

from __future__ import annotations

import ipaddress
import socket
import struct
import weakref
from typing import Protocol

ACKED_AND_RECEIVED = struct.Struct("=QQ")
ACKED_AT = 120
"""Of tcpi_bytes_acked in `struct tcp_info`, before tcpi_bytes_received: Linux has both since 4.1."""
TCP_INFO = 11


class Connection(Protocol):
    """Tells its `socket` and its `peername`, as connections of asyncio do."""

    def get_extra_info(self, name: str, default: object = None) -> object: ...


class Door(Protocol):
    """A way to a host over connections of the lab's own."""

    def moved(self) -> int:
        """Return the bytes that passed interfaces in both directions, at least; it never falls."""
        ...


DOORS: weakref.WeakSet[Door] = weakref.WeakSet()
"""All that there are: each passes an interface of this machine."""


def passed(connection: Connection) -> int:
    """Return the bytes that passed an interface in both directions; 0 over the loopback, and where the kernel does not tell."""
    peer, own = connection.get_extra_info("peername"), connection.get_extra_info("socket")
    try:
        if ipaddress.ip_address(str(peer[0]).partition("%")[0]).is_loopback:  # type: ignore[index]
            return 0
        told = own.getsockopt(socket.IPPROTO_TCP, TCP_INFO, ACKED_AT + ACKED_AND_RECEIVED.size)  # type: ignore[attr-defined]
        return sum(ACKED_AND_RECEIVED.unpack_from(told, ACKED_AT))
    except (
        TypeError,
        AttributeError,
        ValueError,
        OSError,
        struct.error,
    ):
        return 0  # no socket of ours, one that is closed, an older kernel


def moved() -> int:
    """Return the bytes of all of them."""
    return sum(door.moved() for door in tuple(DOORS))
