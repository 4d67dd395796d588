"""Captures of LDAP with known truth: messages, TCP connections, IP packets, link layers and files, written by hand."""

from __future__ import annotations

import ipaddress
import itertools
import struct
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

MS = 1_000_000
"""Nanoseconds of a millisecond."""
START_NS = 1_700_000_000_000_000_000


def tlv(tag: int, *parts: bytes, long: bool = False) -> bytes:
    """An element; with `long` its length takes five bytes, as some servers write it."""
    content = b"".join(parts)
    size = len(content)
    if long:
        return bytes([tag, 0x84]) + struct.pack(">I", size) + content
    if size < 0x80:
        return bytes([tag, size]) + content
    digits = size.to_bytes((size.bit_length() + 7) // 8, "big")
    return bytes([tag, 0x80 | len(digits)]) + digits + content


def integer(value: int, tag: int = 2) -> bytes:
    return tlv(tag, value.to_bytes(value.bit_length() // 8 + 1, "big"))


def text(value: str | bytes, tag: int = 4) -> bytes:
    return tlv(tag, value.encode() if isinstance(value, str) else value)


def message(number: int, operation: bytes, *, long: bool = False, controls: bool = False) -> bytes:
    extra = (tlv(0xA0, tlv(0x30, text("1.2.840.113556.1.4.319"))),) if controls else ()
    return tlv(0x30, integer(number), operation, *extra, long=long)


def equal(name: str, value: str) -> bytes:
    return tlv(0xA3, text(name), text(value))


def search(
    flt: bytes, *, base: str = "dc=example", scope: int = 2, attributes: Sequence[str] = ("cn",), size_limit: int = 0
) -> bytes:
    head = (text(base), integer(scope, 10), integer(0, 10), integer(size_limit), integer(0), tlv(1, b"\0"))
    return tlv(0x63, *head, flt, tlv(0x30, *map(text, attributes)))


def result(tag: int, code: int = 0, extra: bytes = b"") -> bytes:
    return tlv(tag, integer(code, 10), text(""), text(""), extra)


def entry(name: str, size: int = 30) -> bytes:
    return tlv(0x64, text(name), tlv(0x30, tlv(0x30, text("cn"), tlv(0x31, text("x" * size)))))


def reference(url: str = "ldap://other/") -> bytes:
    return tlv(0x73, text(url))


BIND = tlv(0x60, integer(3), text("cn=admin,dc=example"), text("TopSecret", 0x80))
SASL_BIND = tlv(0x60, integer(3), text(""), tlv(0xA3, text("GSSAPI"), text("token")))
UNBIND = tlv(0x42)
DELETE = text("cn=gone,dc=example", 0x4A)
COMPARE = tlv(0x6E, text("cn=a,dc=example"), tlv(0x30, text("cn"), text("a")))
ADD = tlv(0x68, text("cn=n,dc=example"), tlv(0x30, tlv(0x30, text("cn"), tlv(0x31, text("n")))))
MODIFY = tlv(0x66, text("cn=a,dc=example"), tlv(0x30, tlv(0x30, integer(2, 10), tlv(0x30, text("mail"), tlv(0x31, text("m@x"))))))
RENAME = tlv(0x6C, text("cn=a,dc=example"), text("cn=b"), tlv(1, b"\xff"))
WHO_AM_I = tlv(0x77, text("1.3.6.1.4.1.4203.1.11.3", 0x80))
START_TLS = tlv(0x77, text("1.3.6.1.4.1.1466.20037", 0x80))
NOTICE = tlv(0x78, integer(52, 10), text(""), text(""), text("1.3.6.1.4.1.1466.20036", 0x8A))
INTERMEDIATE = tlv(0x79, text("1.2.3", 0x80))
ANSWERS = {0x60: 0x61, 0x63: 0x65, 0x66: 0x67, 0x68: 0x69, 0x4A: 0x6B, 0x6C: 0x6D, 0x6E: 0x6F, 0x77: 0x78}


def abandon(number: int) -> bytes:
    return integer(number, 0x50)


FIN, SYN, RST, PSH, ACK = 1, 2, 4, 8, 16


@dataclass(frozen=True)
class Packet:
    """One TCP segment on its way."""

    t_ns: int
    client: bool
    """Whether the client sends it."""
    seq: int
    ack: int
    flags: int
    data: bytes = b""
    window: int = 64_000
    pair: tuple[str, int, str, int] = ("10.0.0.1", 40_000, "10.0.0.2", 389)
    identification: int = 7
    """The number of its IP packet; one that is sent again has another one."""


@dataclass
class Connection:
    """A TCP connection that makes packets; each side's bytes are acknowledged by the other's next packet."""

    client: str = "10.0.0.1"
    port: int = 40_000
    server: str = "10.0.0.2"
    server_port: int = 389
    first: tuple[int, int] = (1_000, 5_000)
    """Initial sequence numbers of client and server."""
    mss: int = 1_448
    packets: list[Packet] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.next = [number + 1 & 0xFFFFFFFF for number in self.first]

    @property
    def pair(self) -> tuple[str, int, str, int]:
        return (self.client, self.port, self.server, self.server_port)

    def packet(self, t_ns: int, side: int, flags: int, data: bytes = b"", seq: int | None = None, window: int = 64_000) -> Packet:
        ack = 0 if flags == SYN else self.next[1 - side]
        made = Packet(t_ns, side == 0, self.next[side] if seq is None else seq, ack, flags, data, window, self.pair)
        self.packets.append(made)
        return made

    def open(self, t_ns: int) -> None:
        self.packet(t_ns, 0, SYN, seq=self.first[0])
        self.packet(t_ns + 1000, 1, SYN | ACK, seq=self.first[1])
        self.packet(t_ns + 2000, 0, ACK)

    def send(self, t_ns: int, side: int, data: bytes, *, pieces: Sequence[int] | None = None) -> None:
        """Send bytes in segments, all at the same time but for a microsecond each."""
        sizes = list(pieces) if pieces else [self.mss]
        at = 0
        while data:
            size = sizes[min(at, len(sizes) - 1)]
            part, data = data[:size], data[size:]
            self.packet(t_ns + at * 1000, side, ACK | PSH, part)
            self.next[side] = self.next[side] + len(part) & 0xFFFFFFFF
            at += 1

    def acknowledge(self, t_ns: int, side: int, window: int = 64_000) -> None:
        self.packet(t_ns, side, ACK, window=window)

    def close(self, t_ns: int) -> None:
        for side in (0, 1):
            self.packet(t_ns + side * 1000, side, FIN | ACK)
            self.next[side] = self.next[side] + 1 & 0xFFFFFFFF
        self.packet(t_ns + 2000, 0, ACK)


def checksum(data: bytes) -> int:
    if len(data) % 2:
        data += b"\0"
    total = sum(struct.unpack(f">{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return total


def tcp(packet: Packet, *, sums: str = "good") -> bytes:
    """The segment with its checksum: `good`, `bad`, or `offloaded`."""
    client, port, server, server_port = packet.pair
    ends = ((client, port), (server, server_port)) if packet.client else ((server, server_port), (client, port))
    addresses = b"".join(ipaddress.ip_address(address).packed for address, _ in ends)
    ports = struct.pack(">HH", ends[0][1], ends[1][1])
    body = ports + struct.pack(">IIBBHHH", packet.seq, packet.ack, 0x50, packet.flags, packet.window, 0, 0) + packet.data
    pseudo = addresses + struct.pack(">HH" if len(addresses) == 8 else ">IHBB", *pseudo_tail(len(body), len(addresses)))
    value = checksum(pseudo) if sums == "offloaded" else ~checksum(pseudo + body) & 0xFFFF
    if sums == "bad":
        value ^= 0x5555
    return body[:16] + struct.pack(">H", value) + body[18:]


def pseudo_tail(size: int, addresses: int) -> tuple[int, ...]:
    return (6, size) if addresses == 8 else (size, 0, 0, 6)


def ip(packet: Packet, *, sums: str = "good", extension: bool = False) -> bytes:
    """The whole IP packet."""
    return b"".join(fragments(packet, (), sums=sums, extension=extension, identification=packet.identification))


def fragments(
    packet: Packet, cuts: Iterable[int], *, sums: str = "good", extension: bool = False, identification: int = 7
) -> list[bytes]:
    """IP packets with the segment's parts, cut at multiples of 8."""
    segment = tcp(packet, sums=sums)
    edges = [0, *sorted({cut // 8 * 8 for cut in cuts if 0 < cut // 8 * 8 < len(segment)}), len(segment)]
    client, _, server, _ = packet.pair
    ends = (client, server) if packet.client else (server, client)
    packed = b"".join(ipaddress.ip_address(address).packed for address in ends)
    made = []
    for begin, end in itertools.pairwise(edges):
        part, more, whole = segment[begin:end], end < len(segment), len(edges) == 2
        if len(packed) == 8:
            flags = begin // 8 | (0x2000 if more else 0)
            head = struct.pack(">BBHHHBBH", 0x45, 0, 20 + len(part), identification, flags, 64, 6, 0) + packed
            made.append(head[:10] + struct.pack(">H", ~checksum(head) & 0xFFFF) + head[12:] + part)
            continue
        chain = b"" if whole else struct.pack(">BBHI", 6, 0, begin | more, identification)
        following = 6 if whole else 44
        if extension:
            chain = struct.pack(">BB6x", following, 0) + chain
            following = 0
        made.append(struct.pack(">IHBB", 6 << 28, len(chain) + len(part), following, 64) + packed + chain + part)
    return made


LINKS = {
    "ethernet": 1,
    "vlan": 1,
    "double vlan": 1,
    "cooked": 113,
    "cooked2": 276,
    "raw": 101,
    "null": 0,
    "loop": 108,
    "hdlc": 104,
    "pktap": 258,
    "pflog": 117,
    "enc": 109,
}


def framed(packet: bytes, link: str) -> bytes:
    """An IP packet in a frame of a link layer."""
    six = packet[0] >> 4 == 6
    kind = struct.pack(">H", 0x86DD if six else 0x0800)
    ethernet = bytes(6) + b"\2\0\0\0\0\1"
    return {
        "ethernet": ethernet + kind,
        "vlan": ethernet + b"\x81\0\0\x07" + kind,
        "double vlan": ethernet + b"\x88\xa8\0\x07\x81\0\0\x08" + kind,
        "cooked": b"\0\0\0\1\0\6" + bytes(8) + kind,
        "cooked2": kind + b"\0\0" + struct.pack(">I", 2) + b"\0\1\0\6" + bytes(8),
        "raw": b"",
        "null": struct.pack("<I", 30 if six else 2),
        "loop": struct.pack(">I", 24 if six else 2),
        "hdlc": b"\x0f\0" + kind,
        "pktap": struct.pack("<III", 108, 1, 1) + bytes(96) + ethernet + kind,
        "pflog": bytes([61, 30 if six else 2]) + bytes(62),
        "enc": struct.pack("<I", 24 if six else 2) + bytes(8),
    }[link] + packet


@dataclass(frozen=True)
class Frame:
    """A frame as it goes into a file."""

    t_ns: int
    data: bytes
    wire_bytes: int = 0
    interface: int = 0

    def cut(self, most: int) -> Frame:
        return replace(self, data=self.data[:most], wire_bytes=self.wire_bytes or len(self.data))


def frames(packets: Iterable[Packet], link: str = "ethernet", **how: object) -> list[Frame]:
    ordered = sorted(packets, key=lambda one: one.t_ns)
    return [Frame(one.t_ns, framed(ip(one, **how), link)) for one in ordered]  # type: ignore[arg-type]


def pcap(found: Iterable[Frame], *, link: str = "ethernet", order: str = "<", nanoseconds: bool = False) -> bytes:
    magic = 0xA1B23C4D if nanoseconds else 0xA1B2C3D4
    made = [struct.pack(f"{order}IHHiIII", magic, 2, 4, 0, 0, 262_144, LINKS[link])]
    for one in found:
        seconds, rest = divmod(one.t_ns, 10**9)
        sizes = (len(one.data), one.wire_bytes or len(one.data))
        made.append(struct.pack(f"{order}IIII", seconds, rest if nanoseconds else rest // 1000, *sizes) + one.data)
    return b"".join(made)


def block(order: str, kind: int, content: bytes) -> bytes:
    content += bytes(-len(content) % 4)
    size = struct.pack(f"{order}I", 12 + len(content))
    return struct.pack(f"{order}I", kind) + size + content + size


def option(order: str, code: int, value: bytes) -> bytes:
    return struct.pack(f"{order}HH", code, len(value)) + value + bytes(-len(value) % 4)


@dataclass(frozen=True)
class Interface:
    """An interface of a section: its link layer, the resolution of its clock, the frames that it dropped."""

    link: str = "ethernet"
    resolution: int = 6
    offset_s: int = 0
    dropped: int = 0

    def units(self, t_ns: int) -> int:
        since_ns = t_ns - self.offset_s * 10**9
        if self.resolution & 0x80:
            return since_ns * 2 ** (self.resolution & 0x7F) // 10**9
        return since_ns * 10**self.resolution // 10**9


def pcapng(found: Iterable[Frame], *, interfaces: Sequence[Interface] = (Interface(),), order: str = "<") -> bytes:
    """One section with its interfaces."""
    made = [block(order, 0x0A0D0D0A, struct.pack(f"{order}IHHq", 0x1A2B3C4D, 1, 0, -1))]
    for one in interfaces:
        options = option(order, 9, bytes([one.resolution])) + option(order, 14, struct.pack(f"{order}q", one.offset_s))
        made.append(block(order, 1, struct.pack(f"{order}HHI", LINKS[one.link], 0, 262_144) + options + option(order, 0, b"")))
    for frame in found:
        units = interfaces[frame.interface].units(frame.t_ns)
        sizes = (len(frame.data), frame.wire_bytes or len(frame.data))
        head = struct.pack(f"{order}IIIII", frame.interface, units >> 32, units & 0xFFFFFFFF, *sizes)
        made.append(block(order, 6, head + frame.data))
    for number, one in enumerate(interfaces):
        if one.dropped:
            drops = option(order, 5, struct.pack(f"{order}Q", one.dropped)) + option(order, 0, b"")
            made.append(block(order, 5, struct.pack(f"{order}III", number, 0, 0) + drops))
    return b"".join(made)


def snoop(found: Iterable[Frame], *, drops: int = 0) -> bytes:
    made = [b"snoop\0\0\0" + struct.pack(">II", 2, 4)]
    for one in found:
        seconds, rest = divmod(one.t_ns, 10**9)
        padding = -len(one.data) % 4
        sizes = (one.wire_bytes or len(one.data), len(one.data), 24 + len(one.data) + padding)
        made.append(struct.pack(">IIIIII", *sizes, drops, seconds, rest // 1000) + one.data + bytes(padding))
    return b"".join(made)
