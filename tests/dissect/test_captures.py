"""Generated captures of every kind with known truth: every count of the JSON, by the executable that ships."""

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.dissect import result
from assay.dissect.result import ClientUse, FilterUse, OperationKind
from assay.errors import MissingError
from stage import ldap_captures as made
from stage.ldap_captures import ACK, MS, PSH, RST, START_NS, Connection, Interface
from stage.ldap_traffic import Talk, agrees, dissected, everything, of_bytes, of_packets
from stage.rows import each

QUIET = dict.fromkeys(
    [
        "gaps",
        "gap_bytes",
        "cut_bytes",
        "retransmitted",
        "out_of_order",
        "capture_drops",
        "malformed",
        "skipped_bytes",
        "answers_lost",
        "untimed",
        "answers_without_request",
        "opaque_connections",
    ],
    0,
)


def is_quiet(found, **but):
    expected = {**QUIET, **but}
    assert {name: found[name] for name in expected} == expected


def is_everything(found, talk, **but):
    agrees(found, talk.truth)
    is_quiet(found, **but)
    expected = {"connections": 1, "unanswered": 0, "abandoned": 1, "notices": 1, "unbinds": 1, "slower_1s": 1, "intermediate": 1}
    assert {name: found[name] for name in expected} == expected
    shapes = {one["filter"]: one["count"] for one in found["filters"]}
    assert shapes == {"(uid=?)": 3, "(&(cn=?)(ou=?))": 1}
    assert found["profile"]["scopes"] == [0, 1, 3, 0]


@each("link", *made.LINKS)
@each("server", "10.0.0.2", "fd00::2")
def test_every_link_layer(tmp_path, link, server):
    client = "10.0.0.1" if "." in server else "fd00::1"
    talk = everything(Connection(client=client, server=server))
    found = of_bytes(tmp_path, made.pcap(made.frames(talk.connection.packets, link), link=link, nanoseconds=True))
    is_everything(found, talk)
    assert found["frames"] == len(talk.connection.packets)
    assert found["checksums"] == {"good": found["frames"], "bad": 0, "offloaded": 0, "unchecked": 0}
    assert [one["client"] for one in found["clients"]] == [client]


@each("order", *"<>")
@each("nanoseconds", False, True)
def test_pcap_of_both_orders_and_precisions(tmp_path, order, nanoseconds):
    talk = everything()
    frames = made.frames(talk.connection.packets)
    found = of_bytes(tmp_path, made.pcap(frames, order=order, nanoseconds=nanoseconds))
    is_everything(found, talk)
    assert found["start_ns"] == START_NS
    assert found["bytes"] == sum(len(one.data) for one in frames)
    assert found["files"] == [
        {"path": str(tmp_path / "capture"), "format": "pcap", "frames": len(frames), "ended": {"kind": "whole"}}
    ]


@each("order", *"<>")
def test_pcapng_with_several_interfaces(tmp_path, order):
    first, second = everything(), everything(Connection(port=40_001))
    frames = made.frames(first.connection.packets)
    frames += [made.replace(one, interface=1) for one in made.frames(second.connection.packets, "cooked")]
    interfaces = (Interface(resolution=9, offset_s=5, dropped=3), Interface(link="cooked", resolution=0x80 | 30, dropped=4))
    found = of_bytes(tmp_path, made.pcapng(sorted(frames, key=lambda one: one.t_ns), interfaces=interfaces, order=order))
    kinds = {one["operation"]: one for one in found["operations"]}
    assert kinds["search"]["requests"] == 8
    assert (found["connections"], found["capture_drops"], found["slower_1s"]) == (2, 7, 2)
    both = sum(2 * ns for ns in first.truth.response_ns["search"])
    assert abs(kinds["search"]["response_ns"]["sum"] - both) < 10  # the second clock ticks in parts of a nanosecond's size


def test_snoop(tmp_path):
    talk = everything()
    found = of_bytes(tmp_path, made.snoop(made.frames(talk.connection.packets), drops=5))
    is_everything(found, talk, capture_drops=5)
    assert found["files"][0]["format"] == "snoop"


def test_files_are_read_in_the_order_of_their_frames(tmp_path):
    talk = everything()
    frames = made.frames(talk.connection.packets)
    pieces = [frames[at : at + 9] for at in range(0, len(frames), 9)]
    paths = []
    for number, piece in enumerate(pieces):
        paths.append(tmp_path / f"{len(pieces) - number:03d}.pcap")
        paths[-1].write_bytes(made.pcap(piece, nanoseconds=True))
    is_everything(dissected(*sorted(paths)), talk)


@each("pieces", (1,), (2, 3, 5, 7), (13,))
@each("long", False, True)
def test_messages_in_pieces_and_long_lengths(tmp_path, pieces, long):
    talk = everything(long=long, pieces=pieces)
    is_everything(of_packets(tmp_path, talk.connection.packets), talk)


def test_wrapped_numbers_and_extension_headers(tmp_path):
    talk = everything(Connection(first=(2**32 - 100, 2**32 - 3)), pieces=(40,))
    is_everything(of_packets(tmp_path, talk.connection.packets), talk)
    talk = everything(Connection(client="fd00::1", server="fd00::2"))
    frames = made.frames(talk.connection.packets, extension=True)
    is_everything(of_bytes(tmp_path, made.pcap(frames, nanoseconds=True)), talk)


def test_fragments(tmp_path):
    for client, server in (("10.0.0.1", "10.0.0.2"), ("fd00::1", "fd00::2")):
        talk = everything(Connection(client=client, server=server))
        frames = []
        for number, packet in enumerate(talk.connection.packets):
            parts = made.fragments(packet, (24, 40), identification=number, extension=True)
            order = reversed(parts) if number % 2 else parts
            frames += [made.Frame(packet.t_ns, made.framed(part, "ethernet")) for part in order]
        found = of_bytes(tmp_path, made.pcap(frames, nanoseconds=True))
        is_everything(found, talk)
        assert found["fragments"] > len(talk.connection.packets)
        assert found["incomplete_datagrams"] == 0


def test_fragments_that_never_become_whole_have_a_bound(tmp_path):
    packet = made.Packet(START_NS, True, 1, 1, ACK, bytes(64))
    frames = [
        made.Frame(START_NS + number, made.framed(made.fragments(packet, (40,), identification=number)[0], "ethernet"))
        for number in range(1000)
    ]
    assert of_bytes(tmp_path, made.pcap(frames))["incomplete_datagrams"] == 1000


def test_repeated_and_swapped_and_overlapping_segments(tmp_path):
    talk = everything(pieces=(20,))
    packets, data = [], 0
    repeated = swapped = 0
    ordered = sorted(talk.connection.packets, key=lambda one: one.t_ns)
    for packet in ordered:
        data += bool(packet.data)
        packets.append(packet)
        if packet.data and data % 7 == 0:
            packets.append(made.replace(packet, identification=8))
            repeated += 1
        previous = packets[-2] if len(packets) > 1 else None
        fresh = previous is not None and packets[-1] is packet and any(previous is one for one in ordered)
        # Whole pieces of requests: none of them ends one, whose time would be another one then.
        if fresh and packet.client and previous.client and len(packet.data) == len(previous.data) == 20:
            packets[-2:] = made.replace(packet, t_ns=previous.t_ns), made.replace(previous, t_ns=packet.t_ns)
            swapped += 1
    frames = [made.Frame(one.t_ns, made.framed(made.ip(one), "ethernet")) for one in packets]
    found = of_bytes(tmp_path, made.pcap(frames, nanoseconds=True))
    assert repeated > 5
    assert swapped > 3
    is_everything(found, talk, retransmitted=repeated, out_of_order=swapped)


def test_a_retransmission_with_other_borders(tmp_path):
    connection = Connection()
    talk = Talk(connection)
    talk.open()
    talk.operation(1, made.search(made.equal("cn", "a")), entries=1)
    first = next(one for one in connection.packets if one.data)
    half = len(first.data) // 2
    early = made.replace(first, data=first.data[:half])
    packets = [early if one is first else one for one in connection.packets]
    packets.insert(packets.index(early) + 1, first)  # the whole, of which half is there
    found = of_bytes(
        tmp_path, made.pcap([made.Frame(one.t_ns, made.framed(made.ip(one), "ethernet")) for one in packets], nanoseconds=True)
    )
    agrees(found, talk.truth)
    is_quiet(found, retransmitted=1)


def lossy(seed, share=0.01, searches=2000):
    """Many searches, and the packets of which one in so many is lost by the capture."""
    chance = random.Random(seed)
    talk = Talk(Connection())
    talk.open()
    for number in range(searches):
        took_ns = chance.randrange(1, 9) * MS // 4
        talk.operation(1 + number % 3, made.search(made.equal("uid", "v")), took_ns, entries=number % 4, pieces=(60,))
    talk.connection.close(talk.t_ns)
    ordered = sorted(talk.connection.packets, key=lambda one: one.t_ns)
    lost = {place for place in range(3, len(ordered)) if chance.random() < share}
    return talk, ordered, lost


@each("seed", *range(3))
def test_one_frame_in_a_hundred_lost(tmp_path, seed):
    talk, ordered, lost = lossy(seed)
    found = of_packets(tmp_path, [one for place, one in enumerate(ordered) if place not in lost])
    assert found["gap_bytes"] == sum(len(ordered[place].data) for place in lost)
    (search,) = (one for one in found["operations"] if one["operation"] == "search")
    assert 0.95 * 2000 <= search["requests"] <= 2000
    assert search["response_ns"]["max"] <= max(talk.truth.response_ns["search"])
    assert search["response_ns"]["n"] >= 0.9 * 2000
    assert found["slower_1s"] == 0
    assert found["unanswered"] == 0


def test_answers_that_are_lost_and_that_never_came(tmp_path):
    talk = Talk()
    talk.open()
    for number in range(10):
        talk.operation(number + 1, made.search(made.equal("cn", "a")))
    ordered = sorted(talk.connection.packets, key=lambda one: one.t_ns)
    answers = [place for place, one in enumerate(ordered) if one.data and not one.client]
    found = of_packets(tmp_path, [one for place, one in enumerate(ordered) if place != answers[4]])
    assert (found["unanswered"], found["answers_lost"], found["gaps"]) == (0, 1, 1)
    assert found["gap_bytes"] == len(ordered[answers[4]].data)
    talk = Talk()
    talk.open()
    talk.operation(1, made.search(made.equal("cn", "a")))
    talk.alone(2, made.search(made.equal("cn", "a")))
    talk.operation(3, made.DELETE)
    found = of_packets(tmp_path, talk.connection.packets)
    is_quiet(found)
    assert (found["unanswered"], found["open"]) == (0, 1)
    talk.connection.close(talk.t_ns)
    found = of_packets(tmp_path, talk.connection.packets)
    assert (found["unanswered"], found["open"]) == (1, 0)


def test_a_start_in_mid_stream(tmp_path):
    talk = Talk()
    talk.open()
    for number in range(20):
        talk.operation(1 + number, made.search(made.equal("cn", "a")), entries=1, pieces=(30,))
    ordered = sorted(talk.connection.packets, key=lambda one: one.t_ns)
    for start in range(1, len(ordered) - 40, 3):
        rest = ordered[start:]
        begun = {packet.seq for packet in rest if packet.client and packet.data}
        found = of_packets(tmp_path, rest)
        whole = sum(1 for packet in ordered if packet.client and packet.data[:1] == b"0" and packet.seq in begun)
        (search,) = (one for one in found["operations"] if one["operation"] == "search")
        assert search["requests"] == whole, start
        assert found["gaps"] == 0
        assert search["answered"] == whole


@each("most", 80, 96, 128, 200)
def test_frames_cut_short(tmp_path, most):
    talk = everything()
    frames = [one.cut(most) for one in made.frames(talk.connection.packets)]
    found = of_bytes(tmp_path, made.pcap(frames, nanoseconds=True))
    missing = sum(max(0, one.wire_bytes - max(most, 54)) for one in frames)
    assert found["cut_bytes"] == missing
    kinds = {one["operation"]: one for one in found["operations"]}
    assert {name: one["requests"] for name, one in kinds.items()} == talk.truth.requests
    assert {name: one["answered"] for name, one in kinds.items() if one["answered"]} == talk.truth.answered
    assert kinds["search"]["response_ns"]["sum"] == sum(talk.truth.response_ns["search"])
    assert found["gaps"] == 0


def test_checksums(tmp_path):
    talk = everything()
    ordered = sorted(talk.connection.packets, key=lambda one: one.t_ns)
    frames = made.frames(ordered, sums="offloaded")
    found = of_bytes(tmp_path, made.pcap(frames, nanoseconds=True))
    is_everything(found, talk)
    assert found["checksums"]["offloaded"] == len(frames)
    damaged = next(place for place, one in enumerate(ordered) if place > 8 and one.data)
    spoilt = made.replace(ordered[damaged], data=b"\xff" * len(ordered[damaged].data))
    frames = made.frames(ordered)
    frames.insert(damaged, made.Frame(spoilt.t_ns - 1, made.framed(made.ip(spoilt, sums="bad"), "ethernet")))
    found = of_bytes(tmp_path, made.pcap(frames, nanoseconds=True))
    is_everything(found, talk)
    assert found["checksums"]["bad"] == 1


TLS = b"\x16\x03\x01\x00\x10" + bytes(16)


def test_ldaps_start_tls_and_sasl_layers_are_opaque(tmp_path):
    ldaps = Connection(port=1, server_port=636)
    ldaps.open(START_NS)
    ldaps.send(START_NS + MS, 0, TLS)
    upgraded = Talk(Connection(port=2))
    upgraded.open()
    upgraded.operation(1, made.START_TLS)
    sasl = Talk(Connection(port=3))
    sasl.open()
    sasl.operation(1, made.SASL_BIND)
    for side, data in ((0, TLS), (1, TLS), (0, TLS)):
        upgraded.connection.send(upgraded.t_ns, side, data)
        sasl.connection.send(sasl.t_ns, side, b"\0\0\0\x40" + bytes(range(64)))
        upgraded.t_ns += MS
        sasl.t_ns += MS
    elsewhere = Connection(port=4, server_port=389)
    elsewhere.open(START_NS)
    elsewhere.send(START_NS + MS, 0, TLS)
    elsewhere.send(START_NS + 2 * MS, 1, TLS)
    packets = [packet for one in (ldaps, upgraded.connection, sasl.connection, elsewhere) for packet in one.packets]
    found = of_packets(tmp_path, packets)
    assert found["opaque"] == {"ldaps": 2, "start_tls": 1, "sasl": 1, "no_ldap": 0}
    assert found["opaque_connections"] == 4
    assert found["opaque_bytes"] == 6 * len(TLS) + 3 * 68
    assert {one["operation"]: one["answered"] for one in found["operations"]} == {"extended": 1, "bind": 1}
    is_quiet(found, opaque_connections=4)


def test_passwords_and_values_are_not_in_the_result(tmp_path):
    text = str(of_packets(tmp_path, everything().connection.packets))
    assert "TopSecret" not in text
    assert "secret-value" not in text
    assert "dc=example" not in text


def test_ids_in_turn_and_pipelining(tmp_path):
    talk = Talk()
    connection = talk.connection
    talk.open()
    batch = b"".join(made.message(number, made.search(made.equal("cn", "a"))) for number in (1, 2, 3))
    answers = b"".join(made.message(number, made.result(0x65)) for number in (1, 2, 3))
    for _ in range(50):
        connection.send(talk.t_ns, 0, batch)
        connection.send(talk.t_ns + 2 * MS, 1, answers)
        talk.t_ns += 3 * MS
    found = of_packets(tmp_path, connection.packets)
    (search,) = found["operations"]
    assert (search["requests"], search["answered"], found["profile"]["depth_max"]) == (150, 150, 3)
    assert (search["response_ns"]["sum"], search["response_ns"]["max"]) == (150 * 2 * MS, 2 * MS)


@each("entries references", (0, 3), (2, 3), (0, 1))
def test_a_search_has_one_first_entry_or_reference(tmp_path, entries, references):
    talk = Talk()
    talk.open()
    talk.operation(1, made.search(made.equal("cn", "a")), 8 * MS, entries=entries, references=references)
    talk.connection.close(talk.t_ns)
    found = of_packets(tmp_path, talk.connection.packets)
    agrees(found, talk.truth)
    assert found["operations"][0]["first_entry_ns"]["n"] == 1


def test_windows_resets_and_habits(tmp_path):
    connections = []
    for port in range(10):
        talk = Talk(Connection(port=port + 1), t_ns=START_NS + port * MS)
        talk.open()
        talk.operation(1, made.BIND)
        talk.operation(2, made.search(made.equal("cn", "a")))
        if port == 0:
            talk.connection.acknowledge(talk.t_ns, 0, window=0)
            talk.t_ns += 3 * MS // 2
            talk.connection.acknowledge(talk.t_ns, 0, window=9)
            talk.t_ns += MS
        if port < 4:
            talk.connection.packet(talk.t_ns, 0, RST | ACK)
        else:
            talk.connection.close(talk.t_ns)
        connections.append(talk.connection)
    found = of_packets(tmp_path, [packet for one in connections for packet in one.packets])
    assert found["habits"]["one_operation"] == 10
    assert (found["habits"]["reset"], found["habits"]["without_unbind"], found["habits"]["open_at_end"]) == (4, 10, 0)
    assert (found["zero_windows"], found["stalled_ns"]) == (1, 3 * MS // 2)


def test_a_port_that_is_used_again_is_another_connection(tmp_path):
    packets = []
    for turn in range(3):
        talk = Talk(Connection(first=(turn * 1_000_000 + 7, turn * 77_777)), t_ns=START_NS + turn * 1000 * MS)
        talk.open()
        talk.operation(1, made.search(made.equal("cn", "a")))
        if turn:
            talk.connection.close(talk.t_ns)
        packets += talk.connection.packets
    found = of_packets(tmp_path, packets)
    is_quiet(found)
    assert (found["connections"], found["operations"][0]["answered"]) == (3, 3)


def test_limits_are_counted_exactly(tmp_path):
    talk = everything()
    limits = [{"operation": "search", "ns": 7 * MS}, {"operation": "search", "ns": 7 * MS - 1}, {"operation": None, "ns": 3 * MS}]
    found = of_packets(tmp_path, talk.connection.packets, limits=limits)
    every = [ns for values in talk.truth.response_ns.values() for ns in values]
    assert [one["slower"] for one in found["limits"]] == [2, 3, sum(ns > 3 * MS for ns in every)]


def test_the_fields_are_those_that_are_expected_of_this_version(tmp_path):
    found = of_packets(tmp_path, everything().connection.packets)
    assert found.keys() == result.FIELDS
    for name, kind in (("operations", OperationKind), ("filters", FilterUse), ("clients", ClientUse)):
        assert found[name][0].keys() == kind.__dataclass_fields__.keys()


def test_a_result_of_another_version_is_refused_and_more_fields_are_none(tmp_path):
    found = of_packets(tmp_path, everything().connection.packets)
    newer = {**found, "more": 1, "clients": [{**one, "more": 1} for one in found["clients"]]}
    assert result.read(newer).clients == result.read(found).clients
    del newer["filters"][0]["bytes"]
    with pytest.raises(MissingError, match=r"lacks bytes\. .* Run `make build`"):
        result.read(newer)


def test_the_timeline_adds_up(tmp_path):
    talk = everything()
    found = of_packets(tmp_path, talk.connection.packets)
    timeline = found["timeline"]
    assert sum(timeline["bytes"]) == found["bytes"]
    assert {name: sum(values) for name, values in timeline["requests"].items()} == talk.truth.requests
    assert sum(timeline["answered"]) == sum(talk.truth.answered.values())


@settings(max_examples=40)
@given(
    first=st.tuples(st.integers(0, 2**32 - 1), st.integers(0, 2**32 - 1)),
    pieces=st.lists(st.integers(1, 60), min_size=1, max_size=8),
    seed=st.integers(0, 2**16),
)
def test_any_segmentation_repetition_and_order(tmp_path_factory, first, pieces, seed):
    talk = everything(Connection(first=first), pieces=pieces)
    chance = random.Random(seed)
    ordered = sorted(talk.connection.packets, key=lambda one: one.t_ns)
    mixed = [ordered[:3]]
    for packet in ordered[3:]:  # runs of one side are mixed: the other side's numbers do not move meanwhile
        if mixed[-1][-1].client == packet.client and packet.flags == ACK | PSH == mixed[-1][-1].flags and len(mixed) > 1:
            mixed[-1].append(packet)
        else:
            mixed.append([packet])
    sent = mixed[0]
    for run in mixed[1:]:
        shuffled = chance.sample(run, len(run)) + [one for one in run if chance.random() < 0.2]
        sent += shuffled
    frames = [made.Frame(one.t_ns, made.framed(made.ip(one), "ethernet")) for one in sent]
    found = of_bytes(tmp_path_factory.mktemp("any"), made.pcap(frames, nanoseconds=True))
    is_everything(found, talk, retransmitted=found["retransmitted"], out_of_order=found["out_of_order"])
