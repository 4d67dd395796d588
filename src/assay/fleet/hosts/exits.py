"""Hears of every task that ends, with what it used: the kernel's taskstats, whoever waits for the task or does not.

Needs CAP_NET_ADMIN in the first user and process namespace. The kernel cuts each figure of I/O down to whole KiB
(kernel/tsacct.c), calls included, so sums are lower bounds by less than a KiB for each task.
"""

from __future__ import annotations

import contextlib
import errno
import os
import socket
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

NETLINK_GENERIC = 16
SO_RCVBUFFORCE = 33
BUFFER_BYTES = 8 << 20
CUT_BYTES = 1023
"""What a figure of one task may lack at most."""

GENL_CONTROLLER, GET_FAMILY, FAMILY_NAME, FAMILY_ID = 16, 3, 2, 1
TASKSTATS_GET, REGISTER_CPUS, STATS, OF_TASK = 1, 3, 3, 4
REQUEST_AND_ACK = 1 | 4
NLMSG_ERROR = 2

IDENTITY = struct.Struct("=II")
IDENTITY_AT = 128
PROCESSOR = struct.Struct("=QQQQ")
PROCESSOR_AT = 152
"""User and system time in µs, minor and major faults."""
MOVED = struct.Struct("=9Q")
MOVED_AT = 216
"""`struct taskstats` of linux/taskstats.h from `read_char`; the layout of these fields is fixed since version 3."""
MOVED_NAMES = (
    "rchar",
    "wchar",
    "syscr",
    "syscw",
    "read_bytes",
    "write_bytes",
    "cancelled_write_bytes",
    "voluntary_switches",
    "involuntary_switches",
)


class Exit(NamedTuple):
    """A task that has ended: its own account, without that of its children. Most are of others: it is read where it is wanted."""

    pid: int
    parent: int
    record: bytes
    """`struct taskstats`."""

    @property
    def cpu_ns(self) -> int:
        """User and system time."""
        user_us, system_us, _, _ = PROCESSOR.unpack_from(self.record, PROCESSOR_AT)
        return int(user_us + system_us) * 1000

    @property
    def counters(self) -> dict[str, int]:
        """Bytes, calls, switches and faults by name."""
        _, _, minor, major = PROCESSOR.unpack_from(self.record, PROCESSOR_AT)
        moved = dict(zip(MOVED_NAMES, MOVED.unpack_from(self.record, MOVED_AT), strict=True))
        return {**moved, "minor_faults": minor, "major_faults": major}


class Exits:
    """Every task of this machine that ends from now on. Raises OSError where the kernel does not tell us."""

    def __init__(self) -> None:
        self.overflowed = False
        self._socket = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, NETLINK_GENERIC)
        try:
            self._socket.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, BUFFER_BYTES)
            self._socket.bind((0, 0))
            self._socket.settimeout(1.0)
            family = self._family()
            cpus = Path("/sys/devices/system/cpu/possible").read_text(encoding="utf-8").strip()
            self._ask(family, TASKSTATS_GET, _attribute(REGISTER_CPUS, cpus.encode() + b"\0"))
            self._acknowledged()
            self._socket.setblocking(False)
        except BaseException:
            self._socket.close()
            raise

    def drain(self) -> Iterator[Exit]:
        """All that were told since the last call."""
        while True:
            try:
                message = self._socket.recv(1 << 14)
            except BlockingIOError:
                return
            except OSError as error:
                if error.errno != errno.ENOBUFS:
                    raise
                self.overflowed = True
                continue
            yield from _exits(message)

    def close(self) -> None:
        """Hear no more."""
        self._socket.close()

    def _family(self) -> int:
        self._ask(GENL_CONTROLLER, GET_FAMILY, _attribute(FAMILY_NAME, b"TASKSTATS\0"))
        message = self._socket.recv(1 << 14)
        _raise_refused(message)
        found = dict(_attributes(message[20:])).get(FAMILY_ID)
        if found is None:
            raise OSError(errno.ENOENT, "this kernel has no taskstats")
        self._acknowledged()
        return int(struct.unpack_from("=H", found)[0])

    def _acknowledged(self) -> None:
        _raise_refused(self._socket.recv(1 << 14))

    def _ask(self, family: int, command: int, attributes: bytes) -> None:
        body = struct.pack("=BBxx", command, 1) + attributes
        self._socket.send(struct.pack("=IHHII", 16 + len(body), family, REQUEST_AND_ACK, 1, 0) + body)


def listen() -> tuple[Exits | None, str | None]:
    """The exits of this machine, or the reason why they cannot be heard."""
    try:
        return Exits(), None
    except OSError as error:
        return None, f"taskstats: {error.strerror or error}"


def _raise_refused(message: bytes) -> None:
    if struct.unpack_from("=H", message, 4)[0] == NLMSG_ERROR:
        status = -struct.unpack_from("=i", message, 16)[0]
        if status:
            raise OSError(status, os.strerror(status))


def _attribute(kind: int, data: bytes) -> bytes:
    length = 4 + len(data)
    return struct.pack("=HH", length, kind) + data + b"\0" * (-length % 4)


def _attributes(raw: bytes) -> Iterator[tuple[int, bytes]]:
    at = 0
    while at + 4 <= len(raw):
        length, kind = struct.unpack_from("=HH", raw, at)
        if length < 4:
            return
        yield kind & 0x3FFF, raw[at + 4 : at + length]
        at += (length + 3) & ~3


def _exits(message: bytes) -> Iterator[Exit]:
    with contextlib.suppress(struct.error):
        for kind, inner in _attributes(message[20:]):
            for name, record in _attributes(inner) if kind == OF_TASK else ():
                if name == STATS:
                    yield _exit(record)


def _exit(record: bytes) -> Exit:
    MOVED.unpack_from(record, MOVED_AT)  # a record that is too short is none
    pid, parent = IDENTITY.unpack_from(record, IDENTITY_AT)
    return Exit(pid, parent, record)
