"""Looks at HTTP answers that arrive on this machine: the first bytes of what the server's port sends, for some milliseconds.

A load generator may count a redirection or an empty page as a success; the answer's first line and its headers tell. A socket of
packets with a filter sees all interfaces of our network namespace. Needs root or CAP_NET_RAW. TLS and HTTP/2 cannot be seen.
"""

from __future__ import annotations

import contextlib
import ctypes
import re
import select
import socket
import struct
import time
from collections import Counter
from typing import NamedTuple

ALL_PROTOCOLS, ATTACH_FILTER, OUTGOING = 3, 26, 4
"""ETH_P_ALL; SO_ATTACH_FILTER; PACKET_OUTGOING: what the loopback carries is seen once as that."""
HEAD_BYTES, BUFFER_BYTES, MOST_TAKEN = 1024, 1 << 18, 200
STATUS = re.compile(rb"HTTP/1\.[01] ([1-5][0-9]{2})")
EMPTY = re.compile(rb"\r\ncontent-length: *0\r\n", re.IGNORECASE)
HTTP = 0x48545450
INSTRUCTION = struct.Struct("=HBBI")
LOAD_BYTE, LOAD_HALF_X, LOAD_BYTE_X, LOAD_X, HEADER_LENGTH = 0x30, 0x48, 0x50, 0x40, 0xB1
AND, SHIFT_RIGHT, ADD_X, TO_X, X_IS, EQUAL, RETURN = 0x54, 0x74, 0x0C, 0x07, 0x01, 0x15, 0x06


class Answer(NamedTuple):
    """What an answer told of itself."""

    status: int
    is_empty: bool


def program(port: int) -> bytes:
    """Return a filter of whole IP packets: TCP from this port whose data begin with `HTTP`."""
    wanted = [
        (LOAD_BYTE, 0, 0, 0),
        (AND, 0, 0, 0xF0),
        (EQUAL, 0, 4, 0x40),  # IPv4: TCP, and the length of the header
        (LOAD_BYTE, 0, 0, 9),
        (EQUAL, 0, 15, 6),
        (HEADER_LENGTH, 0, 0, 0),
        (EQUAL, 4, 4, 6),  # always: on with the port
        (EQUAL, 0, 12, 0x60),  # IPv6
        (LOAD_BYTE, 0, 0, 6),
        (EQUAL, 0, 10, 6),
        (X_IS, 0, 0, 40),
        (LOAD_HALF_X, 0, 0, 0),
        (EQUAL, 0, 7, port),
        (LOAD_BYTE_X, 0, 0, 12),
        (AND, 0, 0, 0xF0),
        (SHIFT_RIGHT, 0, 0, 2),
        (ADD_X, 0, 0, 0),
        (TO_X, 0, 0, 0),
        (LOAD_X, 0, 0, 0),
        (EQUAL, 1, 0, HTTP),
        (RETURN, 0, 0, 0),
        (RETURN, 0, 0, HEAD_BYTES),
    ]
    return b"".join(INSTRUCTION.pack(*one) for one in wanted)


def look(port: int, seconds: float) -> Counter[Answer]:
    """Return the answers that arrive from a port in this time, or as many as are enough. Raises OSError where nobody may look."""
    code = program(port)
    kept = ctypes.create_string_buffer(code)
    found: Counter[Answer] = Counter()
    with contextlib.closing(socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(ALL_PROTOCOLS))) as packets:
        packets.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, BUFFER_BYTES)
        given = struct.pack("HL", len(code) // INSTRUCTION.size, ctypes.addressof(kept))
        packets.setsockopt(socket.SOL_SOCKET, ATTACH_FILTER, given)
        with contextlib.suppress(BlockingIOError):  # what came before the filter
            while packets.recv(1, socket.MSG_DONTWAIT | socket.MSG_TRUNC):
                pass
        until = time.monotonic() + seconds
        while found.total() < MOST_TAKEN and (left := until - time.monotonic()) > 0:
            if not select.select([packets], [], [], left)[0]:
                break
            data, address = packets.recvfrom(HEAD_BYTES + 60)
            if address[2] != OUTGOING and (answer := told(data)) is not None:
                found[answer] += 1
    return found


def told(packet: bytes) -> Answer | None:
    """Return what the answer in a packet tells; None where it is none."""
    at = packet.find(b"HTTP/1.")
    match = STATUS.match(packet, at) if at >= 0 else None
    if match is None:
        return None
    head = packet[at:].partition(b"\r\n\r\n")[0] + b"\r\n"
    return Answer(status=int(match[1]), is_empty=EMPTY.search(head) is not None or int(match[1]) == 204)
