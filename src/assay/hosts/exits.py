"""Hears of every task that ends, with what it used: the kernel's taskstats, whoever waits for the task or does not.

Needs CAP_NET_ADMIN in the first user and process namespace, and is told in the first network namespace alone. The kernel cuts
each figure of I/O down to whole KiB (kernel/tsacct.c), calls included, so sums are lower bounds by less than a KiB for each task.
"""

from __future__ import annotations

import errno
import os
import socket
import struct
import threading
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

NETLINK_GENERIC = 16
SO_RCVBUFFORCE = 33
BUFFER_BYTES = 8 << 20
PATIENCE_S = 1.0
CUT_BYTES = 1023
"""What a figure of one task may lack at most."""

GENL_CONTROLLER, GET_FAMILY, FAMILY_NAME, FAMILY_ID = 16, 3, 2, 1
TASKSTATS_GET, REGISTER_CPUS, STATS, OF_TASK = 1, 3, 3, 4
REQUEST_AND_ACK = 1 | 4
NLMSG_ERROR = 2
HEADERS_BYTES = 20
"""Of netlink and of its generic family."""

WAIT, WAIT_AT = struct.Struct("=Q"), 24
"""`cpu_delay_total`: how long the task was ready without a CPU (ns)."""
IDENTITY = struct.Struct("=II")
IDENTITY_AT = 128
LENGTH = struct.Struct("=I")
PROCESSOR = struct.Struct("=QQQQ")
PROCESSOR_AT = 152
"""User and system time in µs, minor and major faults."""
MOVED = struct.Struct("=9Q")
MOVED_AT = 216
"""`struct taskstats` of linux/taskstats.h from `read_char`; the layout of these fields is fixed since version 3."""
RECORD_BYTES = MOVED_AT + MOVED.size
"""No record is shorter."""
GROUP_AT, GROUP_SINCE, GROUP_NOT_IN = 368, 12, 15
"""The process of a thread: since which version, and the one version that put other fields before it (Linux 6.14)."""
KEPT_BYTES = GROUP_AT + LENGTH.size
"""Of a record so much is kept."""
MESSAGE_BYTES = 1 << 14
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
    """A task that has ended: its own account, without that of its children."""

    pid: int
    parent: int
    record: bytes
    """The first `KEPT_BYTES` of `struct taskstats`; empty for a child of a process that is known to be outside."""

    @property
    def group(self) -> int | None:
        """The process that the task was a thread of; None where the kernel does not tell."""
        (release,) = struct.unpack_from("=H", self.record)
        if release < GROUP_SINCE or release == GROUP_NOT_IN or len(self.record) < KEPT_BYTES:
            return None
        return int(LENGTH.unpack_from(self.record, GROUP_AT)[0])

    @property
    def cpu_ns(self) -> int:
        """User and system time."""
        user_us, system_us, _, _ = PROCESSOR.unpack_from(self.record, PROCESSOR_AT)
        return int(user_us + system_us) * 1000

    @property
    def cpu_wait_ns(self) -> int:
        """How long it was ready without a CPU."""
        return int(WAIT.unpack_from(self.record, WAIT_AT)[0])

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
        self._buffer = bytearray(MESSAGE_BYTES)
        self._places: dict[int, int | None] = {}
        """Bytes of a message -> where in it the record of the task stands: the same in all messages of a kernel of one length."""
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
            self._hear_one()
        except BaseException:
            self._socket.close()
            raise

    def drain(self, inside: Mapping[int, bool]) -> Iterator[Exit]:
        """All that were told since the last call; nothing is read of what processes used that are known not to be inside."""
        told = memoryview(self._buffer)
        while True:
            try:
                size = self._socket.recv_into(told)
            except BlockingIOError:
                return
            except OSError as error:
                if error.errno != errno.ENOBUFS:
                    raise
                self.overflowed = True
                continue
            if size not in self._places:
                self._places[size] = _place(bytes(told[:size]))
            at = self._places[size]
            if at is not None:
                pid, parent = IDENTITY.unpack_from(told, at + IDENTITY_AT)
                yield Exit(pid, parent, bytes(told[at : at + KEPT_BYTES]) if inside.get(parent, True) else b"")

    def close(self) -> None:
        """Hear no more."""
        self._socket.close()

    def _family(self) -> int:
        self._ask(GENL_CONTROLLER, GET_FAMILY, _attribute(FAMILY_NAME, b"TASKSTATS\0"))
        message = self._socket.recv(MESSAGE_BYTES)
        _raise_refused(message)
        found = dict(_attributes(message[HEADERS_BYTES:])).get(FAMILY_ID)
        if found is None:
            raise OSError(errno.ENOENT, "this kernel has no taskstats")
        self._acknowledged()
        return int(struct.unpack_from("=H", found)[0])

    def _hear_one(self) -> None:
        """End a thread and hear of it. Raises OSError where that is not told, though the kernel has taken the listener."""
        thread = threading.Thread(target=int)
        thread.start()
        task = Path(f"/proc/self/task/{thread.native_id}")
        thread.join()
        since = time.monotonic()
        while task.exists() and time.monotonic() - since < PATIENCE_S:  # it is told before it is gone
            time.sleep(0.0002)
        try:
            self._socket.recv_into(self._buffer)
        except BlockingIOError:
            raise OSError(errno.EOPNOTSUPP, "no end of a task is reported in this network namespace") from None

    def _acknowledged(self) -> None:
        _raise_refused(self._socket.recv(MESSAGE_BYTES))

    def _ask(self, family: int, command: int, attributes: bytes) -> None:
        body = struct.pack("=BBxx", command, 1) + attributes
        self._socket.send(struct.pack("=IHHII", 16 + len(body), family, REQUEST_AND_ACK, 1, 0) + body)


def listen() -> tuple[Exits | None, str | None]:
    """Return the exits of this machine, or the reason why they cannot be heard."""
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
    for kind, start, end in _bounds(raw, 0, len(raw)):
        yield kind, raw[start:end]


def _bounds(raw: bytes, at: int, end: int) -> Iterator[tuple[int, int, int]]:
    """Kind, begin and end of each attribute."""
    while at + 4 <= end:
        length, kind = struct.unpack_from("=HH", raw, at)
        if length < 4:
            return
        yield kind & 0x3FFF, at + 4, min(at + length, end)
        at += (length + 3) & ~3


def _place(message: bytes) -> int | None:
    """Return where the record of the ended task begins; None where the message has none that is whole."""
    for kind, start, end in _bounds(message, HEADERS_BYTES, len(message)):
        for name, first, last in _bounds(message, start, end) if kind == OF_TASK else ():
            if name == STATS and last - first >= RECORD_BYTES:
                return first
    return None
