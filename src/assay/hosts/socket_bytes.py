"""Counts what each process receives and sends through sockets: two BPF programs at tracepoints that Linux has since 6.3.

The kernel's account of a process (/proc/PID/io) has bytes that came by read(2), from whatever descriptor, and none that came by
recv(2). The tracepoints `sock_recv_length` and `sock_send_length` tell both. Needs root, or CAP_BPF and CAP_PERFMON.
"""

from __future__ import annotations

import ctypes
import errno
import os
import struct
from collections.abc import Iterator
from typing import NamedTuple

CALL_NUMBERS = {"x86_64": 321, "aarch64": 280, "riscv64": 280, "s390x": 351, "ppc64le": 361}
"""bpf(2) of each machine."""
MAP_CREATE, MAP_LOOKUP, MAP_UPDATE, MAP_NEXT, PROG_LOAD, RAW_TRACEPOINT_OPEN = 0, 1, 2, 4, 5, 17
HASH, RAW_TRACEPOINT = 1, 17
LOOKUP_HELPER, UPDATE_HELPER, PID_HELPER, READ_HELPER = 1, 2, 14, 113
"""bpf_map_lookup_elem, bpf_map_update_elem, bpf_get_current_pid_tgid, bpf_probe_read_kernel."""
MOST_PROCESSES = 16384
FAMILY_AT = 16
"""Of `struct sock_common`: behind addresses, hash and ports."""
PEEK = 2
"""MSG_PEEK: the bytes are received once more."""
KEY, MOVED = struct.Struct("=II"), struct.Struct("=QQ")
INSTRUCTION = struct.Struct("=BBhi")
LOCAL, OTHERS = 1, (2, 10, 40)
"""AF_UNIX; AF_INET, AF_INET6, AF_VSOCK. A process asks the kernel itself through all others."""


class SocketUse(NamedTuple):
    """What one process moved through sockets."""

    local_received: int = 0
    local_sent: int = 0
    """Through sockets that cannot leave this machine (AF_UNIX)."""
    received: int = 0
    sent: int = 0
    """Through all others, the loopback included."""


class SocketBytes:
    """Counts for every process of this machine from now on. Raises OSError where the kernel does not let us."""

    def __init__(self) -> None:
        self._number = CALL_NUMBERS.get(os.uname().machine)
        if self._number is None:
            raise OSError(errno.ENOSYS, f"bpf(2) of {os.uname().machine} is not known")
        self._libc = ctypes.CDLL(None, use_errno=True)
        self._held: list[int] = []
        try:
            self._map = self._kept(MAP_CREATE, struct.pack("=IIIII", HASH, KEY.size, MOVED.size, MOST_PROCESSES, 0))
            for at, tracepoint in enumerate((b"sock_recv_length", b"sock_send_length")):
                self._attach(tracepoint, _program(self._map, at * 8))
        except BaseException:
            self.close()
            raise

    def used(self) -> dict[int, SocketUse] | None:
        """Return what each process moved by now; None where there were too many to count all."""
        found: dict[int, SocketUse] = {}
        for family, process, moved in self._entries():
            if family == LOCAL or family in OTHERS:
                one = found.get(process, SocketUse())
                local, others = (moved, (0, 0)) if family == LOCAL else ((0, 0), moved)
                found[process] = SocketUse(*(old + new for old, new in zip(one, (*local, *others), strict=True)))
        return None if self._is_full() else found

    def close(self) -> None:
        """Count no more."""
        while self._held:
            os.close(self._held.pop())

    def _attach(self, tracepoint: bytes, program: bytes) -> None:
        code, licence, name = (ctypes.create_string_buffer(text) for text in (program, b"GPL", tracepoint))
        where = (ctypes.addressof(code), ctypes.addressof(licence))
        loaded = struct.pack("=IIQQIIQ", RAW_TRACEPOINT, len(program) // INSTRUCTION.size, *where, 0, 0, 0)
        descriptor = self._kept(PROG_LOAD, loaded)
        self._kept(RAW_TRACEPOINT_OPEN, struct.pack("=QII", ctypes.addressof(name), descriptor, 0))

    def _entries(self) -> Iterator[tuple[int, int, tuple[int, int]]]:
        key, after, value = (ctypes.create_string_buffer(size) for size in (KEY.size, KEY.size, MOVED.size))
        at = 0
        while True:
            try:
                self._call(MAP_NEXT, struct.pack("=IIQQ", self._map, 0, at, ctypes.addressof(after)))
                self._call(MAP_LOOKUP, struct.pack("=IIQQQ", self._map, 0, ctypes.addressof(after), ctypes.addressof(value), 0))
            except FileNotFoundError:
                return
            key.raw, at = after.raw, ctypes.addressof(key)
            family, process = KEY.unpack(key.raw)
            yield family, process, MOVED.unpack(value.raw)

    def _is_full(self) -> bool:
        """Whether a process more would have found no place."""
        key, value = ctypes.create_string_buffer(KEY.size), ctypes.create_string_buffer(MOVED.size)
        try:
            self._call(MAP_UPDATE, struct.pack("=IIQQQ", self._map, 0, ctypes.addressof(key), ctypes.addressof(value), 0))
        except OSError as error:
            if error.errno != errno.E2BIG:
                raise
            return True
        return False

    def _kept(self, command: int, attributes: bytes) -> int:
        self._held.append(self._call(command, attributes))
        return self._held[-1]

    def _call(self, command: int, attributes: bytes) -> int:
        given = ctypes.create_string_buffer(attributes, len(attributes))
        done = int(self._libc.syscall(self._number, command, given, len(attributes)))
        if done < 0:
            raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
        return done


def listen() -> tuple[SocketBytes | None, str | None]:
    """Return the count of what goes through sockets, or the reason why there is none."""
    try:
        return SocketBytes(), None
    except OSError as error:
        return None, f"bytes of sockets: {error.strerror or error}"


def _instruction(code: int, to: int = 0, of: int = 0, offset: int = 0, value: int = 0) -> bytes:
    return INSTRUCTION.pack(code, of << 4 | to, offset, value)


def _program(table: int, at: int) -> bytes:
    """Return a program that adds the tracepoint's length to a process's count at `at` in its entry.

    Its arguments are the socket, the length (negative: an error) and the flags of the call.
    """
    one = _instruction
    end, insert = "end", "insert"
    load, move, add = 0x79, 0xBF, 0x07
    lines: list[bytes | tuple[str, bytes] | str] = [
        one(load, 8, 1, 0),  # r8 = the socket
        one(load, 6, 1, 8),  # r6 = the length, with its sign
        one(0x67, 6, value=32),
        one(0xC7, 6, value=32),
        (end, one(0xD5, 6)),  # <= 0
        one(load, 7, 1, 16),  # r7 = the flags
        one(0x57, 7, value=PEEK),
        (end, one(0x55, 7)),
        one(0xB7, 1),
        one(0x7B, 10, 1, -8),  # key: family, process
        one(move, 1, 10),
        one(add, 1, value=-8),
        one(0xB7, 2, value=2),
        one(move, 3, 8),
        one(add, 3, value=FAMILY_AT),
        one(0x85, value=READ_HELPER),
        one(0x85, value=PID_HELPER),
        one(0x77, value=32),
        one(0x63, 10, 0, -4),
        one(0x18, 1, 1, value=table),
        one(0),
        one(move, 2, 10),
        one(add, 2, value=-8),
        one(0x85, value=LOOKUP_HELPER),
        (insert, one(0x15)),
        one(0xDB, 0, 6, at),  # an entry is there: add
        (end, one(0x05)),
        insert,
        one(0xB7, 1),
        one(0x7B, 10, 1, -24),
        one(0x7B, 10, 1, -16),
        one(0x7B, 10, 6, at - 24),
        one(0x18, 1, 1, value=table),
        one(0),
        one(move, 2, 10),
        one(add, 2, value=-8),
        one(move, 3, 10),
        one(add, 3, value=-24),
        one(0xB7, 4),
        one(0x85, value=UPDATE_HELPER),
        end,
        one(0xB7),
        one(0x95),
    ]
    return b"".join(_linked(lines))


def _linked(lines: list[bytes | tuple[str, bytes] | str]) -> Iterator[bytes]:
    """Yield the instructions with the distances of their jumps."""
    places: dict[str, int] = {}
    at = 0
    for line in lines:
        if isinstance(line, str):
            places[line] = at
        else:
            at += 1
    at = 0
    for line in lines:
        if isinstance(line, str):
            continue
        at += 1
        if isinstance(line, tuple):
            code, registers, _, value = INSTRUCTION.unpack(line[1])
            yield INSTRUCTION.pack(code, registers, places[line[0]] - at, value)
        else:
            yield line
