"""One short session with an iSCSI server, by the shell alone: whether a disk says that its write cache is on.

A login, the disk's caching page (MODE SENSE) and a logout are sent at once, since nothing of them hangs on an answer.
Sources: RFC 7143 (the messages), SPC-4 and SBC-3 (MODE SENSE, page 8).
"""

from __future__ import annotations

import struct
from collections.abc import Iterator

from assay.catalogue import Host
from assay.errors import TrialError

ON, OFF = "on", "off"
INITIATOR = "iqn.2001-04.com.example:look"
SCRIPT = """exec 3<>"/dev/tcp/$1/$2" && printf %b "$3" >&3 && timeout 5 cat <&3 | od -An -v -tx1"""
"""bash opens the connection; od writes what the server answers until it closes."""
TOOLS = ("bash", "timeout", "od")
HEADER_BYTES = 48
LOGIN, COMMAND, LOGOUT = 0x43, 0x01, 0x46
LOGGED_IN, DATA = 0x23, 0x25
"""Opcodes: of requests (login and logout at once, whatever is queued), and of answers."""
STRAIGHT_ON = 0x87
"""From the operational stage to the full feature phase."""
READS, ENDS = 0xC1, 0x80
CACHING, WRITE_CACHE = 0x08, 0x04
"""The mode page, and its bit WCE."""
ANSWER_BYTES = 192
TRIES = 4
"""The first commands of a session may be answered by what has happened to the disk before (UNIT ATTENTION)."""


def write_cache(host: Host, namespace: str, portal: tuple[str, int], target: str, lun: int) -> str:
    """Return `on` or `off`, as the disk itself says to a client in a network namespace. Raises TrialError without an answer."""
    asked = "".join(f"\\0{byte:03o}" for byte in _requests(target, lun))
    argv = ["nsenter", f"--net={namespace}", "--", "bash", "-c", SCRIPT, "bash", portal[0], str(portal[1]), asked]
    answer = bytes.fromhex("".join(host.run(argv, check=False, timeout_s=10.0).stdout.split()))
    for header, data in _messages(answer):
        code = header[0] & 0x3F
        if code == LOGGED_IN and header[36]:
            raise TrialError(f"the iSCSI server refuses a login at {target} (status {header[36]}, {header[37]})")
        page = data[4 + data[3] :] if code == DATA and len(data) > 3 else b""
        if len(page) > 2 and page[0] & 0x3F == CACHING:
            return ON if page[2] & WRITE_CACHE else OFF
    raise TrialError(f"the iSCSI server says nothing of the write cache of {target}, disk {lun}")


def _requests(target: str, lun: int) -> bytes:
    words = (f"InitiatorName={INITIATOR}", f"TargetName={target}", "SessionType=Normal", "HeaderDigest=None", "DataDigest=None")
    text = b"".join(word.encode() + b"\0" for word in words)
    session = bytes((0x80, 0, 0, 0, 0, 1))
    login = struct.pack(">BB2xI6sHIHHII16x", LOGIN, STRAIGHT_ON, len(text), session, 0, 0, 0, 0, 1, 0)
    sense = bytes((0x1A, 0x08, CACHING, 0, ANSWER_BYTES, 0)).ljust(16, b"\0")
    address = bytes((0, lun)).ljust(8, b"\0")
    commands = (
        struct.pack(">BB2xI8sIIII", COMMAND, READS, 0, address, number, ANSWER_BYTES, number, 0) + sense
        for number in range(1, TRIES + 1)
    )
    logout = struct.pack(">BB2xI8xIHHII16x", LOGOUT, ENDS, 0, TRIES + 1, 0, 0, TRIES + 1, 0)
    return login + _padded(text) + b"".join(commands) + logout


def _messages(answer: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Yield header and data of each whole message."""
    at = 0
    while at + HEADER_BYTES <= len(answer):
        header = answer[at : at + HEADER_BYTES]
        size = int.from_bytes(header[5:8], "big")
        at += HEADER_BYTES + 4 * header[4]
        yield header, answer[at : at + size]
        at += size + -size % 4


def _padded(data: bytes) -> bytes:
    return data + bytes(-len(data) % 4)
