"""What may lie around the messages, each form with its truth: tunnels, SASL buffers, proxies, packed files, copies."""

import gzip
import random
import struct

import pytest

from assay.dissect import result
from stage import ldap_captures as made
from stage.ldap_captures import ACK, MS, START_NS, SYN, Connection, Frame, Interface, replace
from stage.ldap_traffic import Talk, agrees, dissected, everything, of_bytes, of_packets
from stage.rows import each

MAC = bytes(6) + b"\2\0\0\0\0\1"


def ordered(talk):
    return sorted(talk.connection.packets, key=lambda one: one.t_ns)


def ethernet(packet, kind=None):
    return MAC + (struct.pack(">H", kind or (0x86DD if packet[0] >> 4 == 6 else 0x0800))) + packet


def outer(number, payload, six=False):
    """An IP packet with this payload."""
    if six:
        return struct.pack(">IHBB", 6 << 28, len(payload), number, 64) + b"\xfd" * 32 + payload
    head = struct.pack(">BBHHHBBH", 0x45, 0, 20 + len(payload), 1, 0, 64, number, 0) + b"\xc0\0\2\1\xc0\0\2\2"
    return head[:10] + struct.pack(">H", ~made.checksum(head) & 0xFFFF) + head[12:] + payload


def datagram(port, payload):
    return struct.pack(">HHHH", 50_000, port, 8 + len(payload), 0) + payload


def gre(flags, kind, payload, options=b""):
    return struct.pack(">HH", flags, kind) + options + payload


def kind_of(packet):
    return 0x86DD if packet[0] >> 4 == 6 else 0x0800


def tagged(payload, *tags, kind=None):
    """A frame with these tags of VLANs."""
    return MAC + b"".join(struct.pack(">HH", one, 7) for one in tags) + struct.pack(">H", kind or kind_of(payload)) + payload


ERSPAN_3 = struct.pack(">HHIHH", 0x2000, 0, 7, 0, 0)
TUNNELS = {
    "vxlan": lambda ip: outer(17, datagram(4789, b"\x08\0\0\0\0\0\x2a\0" + ethernet(ip))),
    "vxlan of old Linux": lambda ip: outer(17, datagram(8472, b"\x08\0\0\0\0\0\x2a\0" + ethernet(ip))),
    "vxlan gpe": lambda ip: outer(17, datagram(4790, bytes([0x0C, 0, 0, 2 if ip[0] >> 4 == 6 else 1, 0, 0, 1, 0]) + ip)),
    "gre": lambda ip: outer(47, gre(0, kind_of(ip), ip)),
    "gre with all options": lambda ip: outer(47, gre(0xB000, kind_of(ip), ip, bytes(12))),
    "gre teb": lambda ip: outer(47, gre(0x2000, 0x6558, ethernet(ip), b"\0\0\0\7")),
    "erspan 1": lambda ip: outer(47, gre(0, 0x88BE, ethernet(ip))),
    "erspan 2": lambda ip: outer(47, gre(0x1000, 0x88BE, b"\x10\x01\0\1\0\0\0\0" + ethernet(ip), b"\0\0\0\1")),
    "erspan 3": lambda ip: outer(47, gre(0x1000, 0x22EB, ERSPAN_3 + ethernet(ip), b"\0\0\0\1")),
    "erspan 3, platform": lambda ip: outer(47, gre(0x1000, 0x22EB, ERSPAN_3[:11] + b"\1" + bytes(8) + ethernet(ip), b"\0\0\0\1")),
    "geneve": lambda ip: outer(17, datagram(6081, b"\0\0\x65\x58\0\0\1\0" + ethernet(ip))),
    "geneve with options, IP": lambda ip: outer(17, datagram(6081, b"\2\0" + struct.pack(">H", kind_of(ip)) + bytes(12) + ip)),
    "ipip": lambda ip: outer(41 if ip[0] >> 4 == 6 else 4, ip),
    "ip in IPv6": lambda ip: outer(41 if ip[0] >> 4 == 6 else 4, ip, six=True),
    "mpls in IP": lambda ip: outer(137, b"\0\1\1\x40" + ip),
    "mpls over UDP": lambda ip: outer(17, datagram(6635, b"\0\1\1\x40" + ip)),
    "gre over UDP": lambda ip: outer(17, datagram(4754, gre(0, kind_of(ip), ip))),
    "gre of a redirection": lambda ip: outer(47, gre(0, 0x883E, bytes(4) + ip)),
    "chain in vxlan gpe": lambda ip: outer(17, datagram(4790, b"\x0c\0\0\4\0\0\1\0\0\6\1\3" + bytes(20) + ethernet(ip))),
    "tzsp": lambda ip: outer(17, datagram(37008, b"\1\0\0\1\x0a\1\0\1" + ethernet(ip))),
    "vxlan in gre in IPv6": lambda ip: outer(47, gre(0, 0x0800, TUNNELS["vxlan"](ip)), six=True),
}
FRAMES = {
    **{name: (lambda ip, tunnel=tunnel: ethernet(tunnel(ip))) for name, tunnel in TUNNELS.items()},
    "mpls of two labels": lambda ip: ethernet(b"\0\1\0\x40\0\2\1\x40" + ip, 0x8847),
    "mpls with Ethernet and a word": lambda ip: ethernet(b"\0\1\1\x40" + bytes(4) + ethernet(ip), 0x8848),
    "mpls with Ethernet": lambda ip: ethernet(b"\0\1\1\x40" + ethernet(ip), 0x8847),
    "pppoe": lambda ip: ethernet(struct.pack(">BBHHH", 0x11, 0, 1, len(ip) + 2, 0x57 if ip[0] >> 4 == 6 else 0x21) + ip, 0x8864),
    "tag of 0x9200": lambda ip: tagged(ip, 0x9200),
    "nine tags": lambda ip: tagged(ip, *[0x88A8, 0x8100, 0x8100, 0x8100, 0x9100, 0x9200, 0x9300, 0x8100, 0x8100]),
    "tags of metadata, a port and a bridge": lambda ip: (
        MAC + b"\x89\x09\1\1\0\1\0\5\x89\x26" + bytes(4) + b"\x89\x3f" + bytes(6) + struct.pack(">H", kind_of(ip)) + ip
    ),
    "four tags, then mpls with five": lambda ip: tagged(b"\0\1\1\x40" + tagged(ip, *[0x9100] * 5), *[0x8100] * 4, kind=0x8847),
    "802.2 with SNAP": lambda ip: (
        MAC + struct.pack(">H", len(ip) + 8) + b"\xaa\xaa\3\0\0\0" + struct.pack(">H", kind_of(ip)) + ip
    ),
    "vlan, then mpls": lambda ip: MAC + b"\x81\0\0\7\x88\x47\0\1\1\x40" + ip,
}


@each("name", *FRAMES)
@each("ends", ("10.0.0.1", "10.0.0.2"), ("fd00::1", "fd00::2"))
@each("order", *"<>")
def test_messages_in_every_tunnel(tmp_path, name, ends, order):
    talk = everything(Connection(client=ends[0], server=ends[1]), pieces=(200,))
    frames = [Frame(one.t_ns, FRAMES[name](made.ip(one))) for one in ordered(talk)]
    found = of_bytes(tmp_path, made.pcap(frames, nanoseconds=True, order=order))
    agrees(found, talk.truth)
    assert (found["gaps"], found["malformed"], found["checksums"]["good"]) == (0, 0, len(frames))
    assert [one["client"] for one in found["clients"]] == [ends[0]]
    cut = of_bytes(tmp_path, made.pcap([one.cut(len(one.data) - 20) for one in frames], nanoseconds=True, order=order))
    assert cut["cut_bytes"] > 0
    assert cut["checksums"]["bad"] == 0


@each("name", "vxlan", "gre", "ipip", "erspan 2")
def test_tunnels_whose_packets_are_fragments(tmp_path, name):
    talk, frames = everything(), []
    for number, one in enumerate(ordered(talk)):
        whole = TUNNELS[name](made.ip(one))
        body, head = whole[20:], whole[:20]
        for begin in range(0, len(body), 48):
            part, more = body[begin : begin + 48], begin + 48 < len(body)
            flags = begin // 8 | (0x2000 if more else 0)
            new = head[:2] + struct.pack(">HHH", 20 + len(part), number, flags) + head[8:10] + b"\0\0" + head[12:]
            frames.append(Frame(one.t_ns, ethernet(new[:10] + struct.pack(">H", ~made.checksum(new) & 0xFFFF) + new[12:] + part)))
    found = of_bytes(tmp_path, made.pcap(frames, nanoseconds=True))
    agrees(found, talk.truth)
    assert result.read(found).complete


NTLM = b"\1\0\0\0" + b"\xaa" * 12
MECHANISMS = {
    "GSSAPI checksum first": ("GSSAPI", lambda text, _: b"\5\4\4\xff\0\x0c\0\x0c" + bytes(8) + b"\xaa" * 12 + text),
    "GSSAPI checksum last": ("GSSAPI", lambda text, _: b"\5\4\1\xff\0\x0c\0\0" + bytes(8) + text + b"\xaa" * 12),
    "GSSAPI of SHA-2": ("GSSAPI", lambda text, _: b"\5\4\0\xff\0\x18\0\x18" + bytes(8) + b"\xaa" * 24 + text),
    "GSS-SPNEGO by Kerberos": ("GSS-SPNEGO", lambda text, _: b"\5\4\5\xff\0\x0c\0\x0c" + bytes(8) + b"\xaa" * 12 + text),
    "GSS-SPNEGO by NTLM": ("GSS-SPNEGO", lambda text, _: NTLM + text),
    "GSSAPI by RC4": ("GSSAPI", lambda text, _: OLD + b"\x11\0\xff\xff\xff\xff" + b"\xaa" * 24 + text + b"\1"),
    "DIGEST-MD5": ("DIGEST-MD5", lambda text, number: text + b"\xaa" * 10 + struct.pack(">HI", 1, number)),
}
OLD = bytes.fromhex("6040" + "06092a864886f712010202" + "0201")
SEALED = {
    "GSSAPI": ("GSSAPI", lambda text, _: b"\5\4\6\xff\0\0\0\x1c" + bytes(8) + noise(text)),
    "NTLM": ("GSS-SPNEGO", lambda text, _: NTLM + noise(text)),
    "RC4": ("GSSAPI", lambda text, _: OLD + b"\x11\0\x10\0\xff\xff" + noise(text)),
    "DIGEST-MD5": ("DIGEST-MD5", lambda text, number: noise(text) + b"\xaa" * 10 + struct.pack(">HI", 1, number)),
}


def noise(text):
    return bytes(random.Random(len(text)).choices(range(128, 256), k=len(text)))


def bound(mechanism):
    return made.tlv(0x60, made.integer(3), made.text(""), made.tlv(0xA3, made.text(mechanism), made.text("token")))


def in_buffers(talk, mechanism, wrapped, *, most=10_000, pieces=None):
    """The talk again behind a bind of two messages, in buffers of so many bytes of messages."""
    name, wrap = wrapped if isinstance(wrapped, tuple) else (mechanism, wrapped)
    again = Talk(Connection(first=(2_000, 9_000)))
    again.open()
    again.operation(101, bound(name), code=14)
    again.operation(102, bound(name))
    first_ns = again.t_ns
    for number, one in enumerate(one for one in talk.connection.packets if one.data):
        for at in range(0, len(one.data), most):
            buffer = wrap(one.data[at : at + most], number)
            again.connection.send(
                first_ns + one.t_ns - START_NS + at * 1000, 1 - one.client, struct.pack(">I", len(buffer)) + buffer, pieces=pieces
            )
    return again


def counts(found):
    return {one["operation"]: (one["requests"], one["answered"]) for one in found["operations"]}


@each("name", *MECHANISMS)
@each("most pieces", (10_000, None), (10_000, (1,)), (10_000, (7, 50)), (40, None), (33, (13,)))
@each("seen", "bind", "middle")
def test_signed_buffers_of_every_mechanism_are_read(tmp_path, name, most, pieces, seen):
    talk = everything()
    again = in_buffers(talk, name, MECHANISMS[name], most=most, pieces=pieces)
    packets = ordered(again)
    if seen == "middle":
        begin = next(place for place, one in enumerate(packets) if one.data[:1] == b"\0" and one.t_ns > START_NS + 5 * MS)
        packets = packets[begin:] if pieces is None and most > 1000 else packets
    found = of_packets(tmp_path, packets)
    kinds = counts(found)
    expected = {one: (count, talk.truth.answered.get(one, 0)) for one, count in talk.truth.requests.items()}
    if packets[0].flags == SYN:
        requests, answered = expected["bind"]
        expected["bind"] = (requests + 2, answered + 2)
    assert kinds == expected
    assert (found["signed"], found["malformed"], found["opaque_connections"]) == (1, 0, 0)
    assert (found["entries"], result.read(found).complete) == (talk.truth.entries, True)


@each("name", *SEALED)
@each("seen", "bind", "middle")
def test_sealed_buffers_are_opaque_and_the_counts_lower_bounds(tmp_path, name, seen):
    again = in_buffers(everything(), name, SEALED[name])
    packets = ordered(again)
    size = sum(len(one.data) for one in packets if one.data[:1] == b"\0")
    packets = (
        packets[next(place for place, one in enumerate(packets) if one.data[:1] == b"\0") :] if seen == "middle" else packets
    )
    found = of_packets(tmp_path, packets)
    assert (found["opaque"]["sasl"], found["opaque_bytes"], found["malformed"]) == (1, size, 0)
    assert counts(found) == ({"bind": (2, 2)} if seen == "bind" else {})
    assert not result.read(found).complete
    if seen == "bind":
        assert [(one["mechanism"], one["layer"], one["binds"]) for one in found["binds"]] == [(SEALED[name][0], "sealed", 1)]


@each("lost", *range(3, 12))
def test_signed_buffers_go_on_behind_a_hole(tmp_path, lost):
    talk = Talk()
    talk.open()
    for number in range(10):
        talk.operation(number + 1, made.search(made.equal("uid", "a")), entries=2)
    again = in_buffers(talk, "GSSAPI", MECHANISMS["GSSAPI checksum first"])
    data = [place for place, one in enumerate(ordered(again)) if one.data[:1] == b"\0"]
    found = of_packets(tmp_path, [one for place, one in enumerate(ordered(again)) if place != data[lost]])
    requests, answered = counts(found)["search"]
    assert 9 <= requests <= 10
    assert 9 <= answered + found["answers_lost"] <= 10
    assert (found["gaps"], found["unanswered"]) == (1, 0)


V1 = b"PROXY TCP4 192.0.2.7 10.0.0.2 50000 389\r\n"
V2 = b"\r\n\r\n\0\r\nQUIT\n\x21\x21" + struct.pack(">H", 36) + b"\xfd" * 16 + b"\xfe" * 16 + b"\1\2\3\4"


@each("header client", (V1, "192.0.2.7"), (V2, "fdfd:fdfd:fdfd:fdfd:fdfd:fdfd:fdfd:fdfd"), (b"PROXY UNKNOWN\r\n", "10.0.0.1"))
@each("pieces", None, (1,), (9, 30))
@each("port", 389, 1389)
def test_the_header_of_a_proxy_names_the_client(tmp_path, header, client, pieces, port):
    if port == 1389 and pieces == (1,):
        return  # what has one byte is not recognised by its content
    talk = Talk(Connection(server_port=port))
    talk.open()
    talk.connection.send(talk.t_ns, 0, header, pieces=pieces)
    talk.t_ns += MS
    for number in range(3):
        talk.operation(number + 1, made.search(made.equal("uid", "a")))
    talk.connection.close(talk.t_ns)
    found = of_packets(tmp_path, talk.connection.packets)
    agrees(found, talk.truth)
    if port == 389:
        assert (found["proxied"], found["malformed"], found["skipped_bytes"]) == (1, 0, 0)
        assert [(one["client"], one["connections"]) for one in found["clients"]] == [(client, 1)]


def zstd(content):
    """A file of one frame whose block is not packed, behind one without data."""
    blocks = [content[at : at + 100_000] for at in range(0, len(content), 100_000)]
    head = struct.pack("<IBB", 0xFD2FB528, 0, 0x58)
    parts = [struct.pack("<I", len(one) << 3 | (at == len(blocks) - 1))[:3] + one for at, one in enumerate(blocks)]
    return b"\x50\x2a\x4d\x18\3\0\0\0abc" + head + b"".join(parts)


@each("form", made.pcap, made.pcapng, made.snoop)
@each(
    "pack name",
    (gzip.compress, "gzip"),
    (zstd, "zstd"),
    (lambda text: gzip.compress(text[:99]) + gzip.compress(text[99:]), "gzip"),
)
def test_packed_files_are_read(tmp_path, form, pack, name):
    talk = everything()
    content = form(made.frames(talk.connection.packets))
    found = of_bytes(tmp_path, pack(content))
    assert counts(found) == counts(of_bytes(tmp_path, content))
    assert (found["files"][0]["packed"], found["files"][0]["ended"]["kind"]) == (name, "whole")
    if pack is gzip.compress:
        assert of_bytes(tmp_path, pack(content)[:-30])["files"][0]["ended"]["kind"] == "unread"


@each("ends", ("10.0.0.1", "10.0.0.2"), ("fd00::1", "fd00::2"))
@each("sums", "good", "offloaded")
@each("later_ns", 1, 300_000)
def test_what_was_captured_twice_is_a_copy_and_what_was_sent_again_is_none(tmp_path, ends, sums, later_ns):
    talk = everything(Connection(client=ends[0], server=ends[1]))
    sent = [replace(one, identification=number + 1) for number, one in enumerate(ordered(talk))]
    twice = [*sent, *(replace(one, t_ns=one.t_ns + later_ns) for one in sent)]
    found = of_bytes(tmp_path, made.pcap(made.frames(twice, sums=sums), nanoseconds=True))
    agrees(found, talk.truth)
    assert (found["copies"], found["retransmitted"], found["gaps"]) == (sum(1 for one in sent if one.data), 0, 0)
    again = [replace(one, t_ns=one.t_ns + 250 * MS, identification=one.identification + 1000) for one in sent if one.data]
    found = of_bytes(tmp_path, made.pcap(made.frames([*sent, *again], sums=sums), nanoseconds=True))
    agrees(found, talk.truth)
    assert (found["copies"], found["retransmitted"]) == (0, len(again))


def test_the_two_directions_of_a_tap_are_merged_also_with_buffers_and_any_number_of_files(tmp_path):
    again = in_buffers(everything(), "GSSAPI", MECHANISMS["GSSAPI checksum first"])
    for parts in (2, 20):
        paths = []
        for number in range(parts):
            chosen = [one for place, one in enumerate(ordered(again)) if (one.client if parts == 2 else place % parts) == number]
            paths.append(tmp_path / f"{parts}-{number}")
            paths[-1].write_bytes(made.pcap(made.frames(chosen), nanoseconds=True))
        found = dissected(*paths)
        assert counts(found) == counts(of_packets(tmp_path, again.connection.packets))
        assert (found["gaps"], found["unanswered"], found["backwards"]) == (0, 0, 0)


@each("sides", (0,), (1,), (0, 1))
@each("pure", False, True)
def test_a_bad_checksum_that_is_acknowledged_is_used(tmp_path, sides, pure):
    talk = Talk()
    talk.open()
    for number in range(6):
        talk.operation(number + 1, made.search(made.equal("uid", "a")), entries=1)
        if pure:
            talk.connection.acknowledge(talk.t_ns - MS // 2, 0)
    talk.connection.close(talk.t_ns)
    spoilt = [one for one in ordered(talk) if one.data and (1 - one.client) in sides]
    frames = [
        Frame(one.t_ns, made.framed(made.ip(one, sums="bad" if one in spoilt else "good"), "ethernet")) for one in ordered(talk)
    ]
    found = of_bytes(tmp_path, made.pcap(frames, nanoseconds=True))
    agrees(found, talk.truth)
    assert (found["bad_used"], found["gaps"], found["answers_without_request"]) == (len(spoilt), 0, 0)


def test_a_request_with_the_syn_is_read(tmp_path):
    talk = Talk()
    connection = talk.connection
    request = made.message(1, made.search(made.equal("uid", "a")))
    connection.packet(START_NS, 0, SYN, request, seq=connection.first[0])
    connection.next[0] += len(request)
    connection.packet(START_NS + 1000, 1, SYN | ACK, seq=connection.first[1])
    connection.send(START_NS + MS, 1, made.message(1, made.result(0x65)))
    talk.t_ns = START_NS + 2 * MS
    talk.operation(2, made.search(made.equal("uid", "a")))
    found = of_packets(tmp_path, connection.packets)
    assert (counts(found), found["gaps"], found["malformed"]) == ({"search": (2, 2)}, 0, 0)
    assert found["connect_ns"]["p50"] == 1000


def test_a_time_that_is_not_known_is_none(tmp_path):
    talk = Talk()
    talk.open()
    for number in range(5):
        talk.operation(number + 1, made.search(made.equal("uid", "a")), entries=1)
    frames = made.frames(talk.connection.packets)
    simple = made.pcapng([], interfaces=(Interface(),)) + b"".join(
        made.block("<", 3, struct.pack("<I", len(one.data)) + one.data) for one in frames
    )
    for content in (simple, made.pcap([replace(one, t_ns=START_NS) for one in frames])):
        found = of_bytes(tmp_path, content)
        assert counts(found) == {"search": (5, 5)}
        assert (found["untimed"], found["operations"][0]["response_ns"]["p50"]) == (5, None)
        assert found["operations"][0]["first_entry_ns"]["n"] == 0


@each("begin", 0, 3, 4, 9)
@each("ports", (40_000, 1389), (389, 50_041), (3268, 389), (636, 389))
def test_ldap_is_found_on_any_port_from_any_message_on(tmp_path, begin, ports):
    talk = Talk(Connection(port=ports[0], server_port=ports[1]))
    talk.open()
    for number in range(8):
        talk.operation(number + 1, made.search(made.equal("uid", "a")), entries=1)
    found = of_packets(tmp_path, ordered(talk)[begin:])
    requests, answered = counts(found)["search"]
    assert (requests, found["malformed"]) == (8 - max(0, begin - 1) // 3, 0)
    assert answered == requests
    assert [one["client"] for one in found["clients"]] == ["10.0.0.1"]


def handshake(port, records):
    connection = Connection(server_port=port)
    connection.open(START_NS)
    for number, (side, kind) in enumerate(records):
        connection.send(START_NS + (number + 1) * MS, side, bytes([kind, 3, 3, 0, 40]) + b"\7" * 40)
    return connection


def test_connect_and_handshake_times(tmp_path):
    records = [(0, 22), (1, 22), (0, 22), (0, 20), (1, 20), (0, 23), (1, 23)]
    found = of_packets(tmp_path, handshake(636, records).packets)
    assert (found["opaque"]["ldaps"], found["opaque_bytes"]) == (1, 45 * len(records))
    assert (found["connect_ns"]["p50"], found["tls_handshake_ns"]["p50"]) == (1000, 4 * MS)


def test_a_scan_of_ports_of_tls_is_no_encryption(tmp_path):
    packets = []
    for port in range(5):
        connection = Connection(port=50_000 + port, server_port=636)
        connection.packet(START_NS + port * MS, 0, SYN, seq=7)
        packets += connection.packets
    found = of_packets(tmp_path, packets)
    assert (found["unanswered_syns"], found["opaque_connections"], found["opaque_bytes"]) == (5, 0, 0)


def test_who_binds_how_and_what_fails(tmp_path):
    simple = made.BIND
    anonymous = made.tlv(0x60, made.integer(3), made.text(""), made.text("", 0x80))
    packets = []
    for number, (bind, code, times) in enumerate([(simple, 0, 3), (simple, 49, 2), (anonymous, 0, 1), (bound("EXTERNAL"), 0, 1)]):
        talk = Talk(Connection(client=f"10.0.1.{number}"), t_ns=START_NS + number * 1000 * MS)
        talk.open()
        for turn in range(times):
            talk.operation(1 + turn, bind, code=code)
            talk.operation(50 + turn, made.search(made.equal("uid", "a")), code=0 if code == 0 else 1, entries=turn)
        packets += talk.connection.packets
    found = of_packets(tmp_path, packets)
    rows = [(one["client"], one["mechanism"], one["layer"], one["binds"], one["failed"]) for one in found["binds"]]
    assert sorted(rows) == [
        ("10.0.1.0", "simple", "none", 3, 0),
        ("10.0.1.1", "simple", "none", 2, 2),
        ("10.0.1.2", "anonymous", "none", 1, 0),
        ("10.0.1.3", "EXTERNAL", "none", 1, 0),
    ]
    assert found["failed_binds"] == [{"client": "10.0.1.1", "mechanism": "simple", "code": 49, "count": 2}]
    uses = {
        (one["client"], one["operation"], one["filter"], one["code"]): (one["count"], one["entries"]) for one in found["uses"]
    }
    assert uses["10.0.1.0", "search", "(uid=?)", 0] == (3, 3)
    assert uses["10.0.1.1", "search", "(uid=?)", 1] == (2, 1)
    assert sum(count for count, _ in uses.values()) == 14


def cldap(packet, port=389, six=False):
    client, (t_ns, text) = packet
    ports = (50_000, port) if client else (port, 50_000)
    return Frame(t_ns, ethernet(outer(17, struct.pack(">HHHH", *ports, 8 + len(text), 0) + text, six)))


@each("six", False, True)
@each("port", 389, 3268)
def test_ldap_over_udp_is_counted_apart(tmp_path, six, port):
    search, done = made.search(made.equal("uid", "a")), made.result(0x65)
    sent = []
    for number in range(1, 6):
        sent.append((True, (START_NS + number * MS, made.message(number, search))))
        if number < 5:
            both = made.message(number, made.entry("")) + made.message(number, done)
            sent.append((False, (START_NS + number * MS + 70_000, both)))
    frames = [cldap(one, port, six) for one in sent]
    if not six:  # both ends have an address of their own only in the outer header of IPv4
        frames = [
            replace(one, data=swapped(one.data)) if not client else one for one, (client, _) in zip(frames, sent, strict=True)
        ]
        found = of_bytes(tmp_path, made.pcap(frames, nanoseconds=True))
        seen = found["cldap"]
        assert (seen["requests"], seen["answered"], seen["entries"], seen["response_ns"]["p50"]) == (5, 4, 4, 70_000)
        assert (found["connections"], found["messages"]) == (0, 0)
        return
    found = of_bytes(tmp_path, made.pcap(frames, nanoseconds=True))["cldap"]
    assert (found["requests"], found["answered"]) == (5, 4)


def swapped(data):
    return data[:26] + data[30:34] + data[26:30] + data[34:]


@pytest.mark.parametrize("seed", range(4))
def test_frames_out_of_order_within_the_window_change_nothing(tmp_path, seed):
    talk, chance = everything(pieces=(30,)), random.Random(seed)
    sent = made.frames(talk.connection.packets)
    expected = of_bytes(tmp_path, made.pcap(sent, nanoseconds=True))
    for _ in range(400):
        at = chance.randrange(len(sent) - 8)
        block = sent[at : at + 8]
        chance.shuffle(block)
        sent[at : at + 8] = block
    found = of_bytes(tmp_path, made.pcap(sent, nanoseconds=True))
    assert found["backwards"] > 10
    apart = {"backwards", "reordered", "slowest"}
    assert {name: value for name, value in found.items() if name not in apart} == {
        name: value for name, value in expected.items() if name not in apart
    }
