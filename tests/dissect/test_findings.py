"""What a capture tells beside counts, with known truth: filters, clients, candidates for an index, habits, shares, network."""

import struct

import pytest

from assay import units
from assay.cli import dissect as verb
from assay.dissect import levels, result, wording
from stage import ldap_captures as made
from stage.ldap_captures import ACK, MS, START_NS, Connection, Frame, Interface, tlv
from stage.ldap_captures import text as octets
from stage.ldap_traffic import Talk, agrees, everything, of_bytes, of_packets, times
from stage.rows import each

SECOND_NS = 1000 * MS


def pair(tag, name, value):
    return tlv(tag, octets(name), octets(value))


def pattern(name, *parts):
    return tlv(0xA4, octets(name), tlv(0x30, *(octets(value, tag) for tag, value in parts)))


SHAPES = {
    "(uid=?)": [made.equal("UID", "a"), made.equal("uid", "b"), made.equal("Uid", "a long value of another kind")],
    "(objectclass=*)": [octets("objectClass", 0x87), octets("OBJECTCLASS", 0x87)],
    "(age>=?)": [pair(0xA5, "Age", "3")],
    "(age<=?)": [pair(0xA6, "age", "3")],
    "(sn~=?)": [pair(0xA8, "SN", "x")],
    "(cn=?*?*?)": [pattern("CN", (0x80, "a"), (0x81, "b"), (0x82, "c"))],
    "(cn=?*)": [pattern("cn", (0x80, "a"))],
    "(cn=*?)": [pattern("cn", (0x82, "a"))],
    "(cn=*?*)": [pattern("cn", (0x81, "a"))],
    "(cn:dn:caseexactmatch:=?)": [
        tlv(0xA9, octets("caseExactMatch", 0x81), octets("CN", 0x82), octets("v", 0x83), tlv(0x84, b"\xff"))
    ],
    "(!(uid=?))": [tlv(0xA2, made.equal("uid", "x"))],
    "(|(a=?)(b=?))": [
        tlv(0xA1, *(made.equal(name, "v") for name in ("b", "A", "a", "B"))),
        tlv(0xA1, made.equal("a", "1"), made.equal("b", "2")),
    ],
    "(&(c=?)(|(x=?)(y=?)))": [
        tlv(0xA0, tlv(0xA1, made.equal("y", "1"), made.equal("x", "2")), made.equal("c", "3")),
        tlv(0xA0, made.equal("C", "9"), tlv(0xA1, made.equal("X", "1"), made.equal("Y", "1"), made.equal("x", "1"))),
    ],
}


def test_filters_are_normalised_and_have_count_codes_entries_and_times(tmp_path):
    talk, truth = Talk(), {}
    talk.open()
    for turn in range(3):
        for shape, filters in SHAPES.items():
            for place, one in enumerate(filters):
                code, entries = (32 if place == 1 else 0), turn
                before = len(talk.truth.response_ns.get("search", []))
                talk.operation(1, made.search(one), (1 + turn + place) * MS, code=code, entries=entries)
                row = truth.setdefault(shape, {"entries": 0, "codes": {}, "times": []})
                row["entries"] += entries
                row["codes"][str(code)] = row["codes"].get(str(code), 0) + 1
                row["times"] += talk.truth.response_ns["search"][before:]
    found = of_packets(tmp_path, talk.connection.packets)
    agrees(found, talk.truth)
    assert {one["filter"]: one for one in found["filters"]}.keys() == truth.keys()
    for one in found["filters"]:
        row = truth[one["filter"]]
        assert (one["count"], one["answered"], one["entries"]) == (len(row["times"]), len(row["times"]), row["entries"])
        assert one["result_codes"] == row["codes"]
        assert one["response_ns"] == times(row["times"])
    answers = sum(one["bytes"] for one in found["filters"])
    assert answers == sum(len(packet.data) for packet in talk.connection.packets if not packet.client)


def test_clients_have_their_operations_and_times(tmp_path):
    packets, truth = [], {}
    for number, searches in enumerate((5, 40, 2)):
        address, slow = f"10.0.1.{number + 1}", 200 if number == 2 else 1
        for turn in range(2):
            talk = Talk(Connection(client=address, port=40_000 + turn), t_ns=START_NS + (10 * number + turn) * SECOND_NS)
            talk.open()
            talk.operation(1, made.BIND)
            for _ in range(searches):
                talk.operation(2, made.search(made.equal("cn", "a")), slow * MS)
            talk.connection.close(talk.t_ns)
            packets += talk.connection.packets
            row = truth.setdefault(address, {"requests": {"bind": 0, "search": 0}, "times": []})
            row["requests"]["bind"] += 1
            row["requests"]["search"] += searches
            row["times"] += [ns for each in talk.truth.response_ns.values() for ns in each]
    found = of_packets(tmp_path, packets)
    assert {one["client"] for one in found["clients"]} == truth.keys()
    for one in found["clients"]:
        row = truth[one["client"]]
        assert (one["connections"], one["requests"], one["answered"]) == (2, row["requests"], len(row["times"]))
        assert (one["response_sum_ns"], one["response_max_ns"]) == (sum(row["times"]), max(row["times"]))
    read = result.read(found)
    assert [one.client for one in read.clients] == ["10.0.1.2", "10.0.1.1", "10.0.1.3"]
    assert [row[0] for row in wording.client_rows(read, 2)] == ["10.0.1.2", "10.0.1.3"], "the second by time"


@each("share", 0.05, 0.7)
def test_slow_searches_with_few_entries_are_candidates_for_an_index(tmp_path, share):
    """Also where most searches are such: the fastest common filter is the measure."""
    talk, slow = Talk(), round(200 * share)
    talk.open()
    for number in range(200):
        if number < slow:
            talk.operation(1, made.search(made.equal("employeeNumber", "7")), 40 * MS, entries=1)
        else:
            talk.operation(1, made.search(made.equal("uid", "a")), MS, entries=1)
    for _ in range(20):
        talk.operation(1, made.search(octets("objectClass", 0x87)), 40 * MS, entries=60)  # slow as it has much to send
    talk.operation(1, made.search(made.equal("title", "x")), 90 * MS)  # once is no habit
    read = result.read(of_packets(tmp_path, talk.connection.packets))
    assert [one.filter for one in result.unindexed(read)] == ["(employeenumber=?)"]
    assert "(employeenumber=?) (p50 40 ms)" in " ".join(wording.remarks(read))


def test_a_bind_for_each_search_and_connections_that_stay_open_are_habits(tmp_path):
    packets = []
    for number in range(8):
        talk = Talk(Connection(port=41_000 + number), t_ns=START_NS + number * MS)
        talk.open()
        for _ in range(4 if number < 3 else 1):
            talk.operation(1, made.BIND)
            talk.operation(2, made.search(made.equal("uid", "a")))
        for _ in range(9 if number >= 3 else 0):
            talk.operation(2, made.search(made.equal("uid", "a")))
        if number < 2:
            talk.alone(9, made.UNBIND)
            talk.connection.close(talk.t_ns)
        packets += talk.connection.packets
    found = of_packets(tmp_path, packets)
    assert found["habits"] == {
        "one_operation": 0,
        "rebinding": 3,
        "readable": 8,
        "reset": 0,
        "reset_by_server": 0,
        "open_at_end": 6,
        "without_unbind": 0,
        "open_at_once": 8,
    }
    said = " ".join(wording.habits(result.read(found)))
    assert "3 connections bind before each operation: bind once." in said
    assert "6 of 8 connections were never closed in the capture." in said


def test_the_share_above_a_second_and_above_a_level_is_exact(tmp_path):
    talk = Talk()
    talk.open()
    for number in range(300):
        took_ns = SECOND_NS + 1 if number < 6 else SECOND_NS if number < 10 else 60 * MS if number < 25 else 2 * MS
        talk.operation(1, made.search(made.equal("uid", "a")), took_ns)
    words = verb.CaptureWords(files=("x",), levels=("search p90 <= 50 ms", "search p99 <= 50 ms", "all max <= 2 s"))
    resolved = verb.resolve(words, verb.CaptureOutputs())
    limits = [{"operation": one.operation if one.operation != "all" else None, "ns": one.limit_ns} for one in resolved.levels]
    read = result.read(of_packets(tmp_path, talk.connection.packets, limits=limits))
    judged = levels.judged(resolved.levels, read)
    assert [(one.state.value, one.slower, one.n) for one in judged] == [("met", 25, 300), ("not met", 25, 300), ("met", 0, 300)]
    said = verb.text(read, resolved, judged)
    assert "6 slower than 1 s (2 %)" in said
    assert "25 of 300 above it, 8.3 %" in said


def test_percentiles_of_many_operations_are_at_most_a_128th_too_high(tmp_path):
    talk = Talk()
    talk.open()
    for number in range(6000):
        talk.operation(1, made.search(made.equal("uid", "a")), 1000 + number * 7919 % 6000 * 1009, gap_ns=1000)
    (search,) = of_packets(tmp_path, talk.connection.packets)["operations"]
    truth = times(talk.truth.response_ns["search"])
    found = search["response_ns"]
    assert (found["n"], found["sum"], found["max"], found["exact"]) == (6000, truth["sum"], truth["max"], False)
    for name in ("p50", "p90", "p99", "p999"):
        assert truth[name] <= found[name] <= truth[name] * (1 + 1 / 128)


def test_bytes_over_time_stand_against_the_link(tmp_path):
    talk = Talk()
    talk.open()
    for second in range(4):
        talk.t_ns = START_NS + second * SECOND_NS + MS
        for _ in range(100 if second == 2 else 10):
            talk.operation(1, made.search(made.equal("uid", "a")), entries=8, gap_ns=1000)
    frames = made.frames(talk.connection.packets)
    read = result.read(of_bytes(tmp_path, made.pcap(frames, nanoseconds=True)))
    busy = sum(len(one.data) for one in frames if (one.t_ns - START_NS) // SECOND_NS == 2)
    seen = result.traffic(read)
    assert seen is not None
    assert sum(read.values["timeline"]["bytes"]) == sum(len(one.data) for one in frames)
    assert seen.highest_bytes_per_s == pytest.approx(busy, rel=0.1)  # intervals begin at multiples of their length
    resolved = verb.resolve(verb.CaptureWords(files=("x",), link="100 Mbit/s"), verb.CaptureOutputs())
    assert resolved.link is not None
    share = seen.highest_bytes_per_s / resolved.link[1]
    assert f"(at most {units.percent(share)} of 100 Mbit/s one way)" in wording.total(read, resolved.link)
    assert share == pytest.approx(busy / 12.5e6, rel=0.1)


# ------------------------------------------------------------------------------------------------ the network


def test_a_window_that_stays_full_and_repeated_segments_of_both_sides(tmp_path):
    talk = Talk()
    connection = talk.connection
    talk.open()
    for number in range(10):
        talk.operation(number + 1, made.search(made.equal("uid", "a")), entries=2)
        if number in (2, 5):
            side = 0 if number == 2 else 1
            connection.acknowledge(talk.t_ns, side, window=0)
            connection.acknowledge(talk.t_ns + MS, side, window=0)  # still the same stall
            connection.acknowledge(talk.t_ns + 4 * MS, side)
            talk.t_ns += 5 * MS
    ordered = sorted(connection.packets, key=lambda one: one.t_ns)
    again = [made.replace(one, t_ns=one.t_ns + 1, identification=8) for one in ordered if one.data][:7]
    found = of_packets(tmp_path, [*ordered, *again])
    agrees(found, talk.truth)
    assert (found["zero_windows"], found["stalled_ns"]) == (2, 8 * MS)
    assert (found["retransmitted"], found["out_of_order"]) == (7, 0)
    said = " ".join(wording.remarks(result.read(found)))
    assert "7 segments retransmitted, 0 out of order." in said
    assert "A receive window was full 2 times, for 8 ms in all." in said


def test_a_window_that_is_full_to_the_end_stalls_to_the_end(tmp_path):
    talk = Talk()
    talk.open()
    talk.operation(1, made.search(made.equal("uid", "a")))
    for _ in range(4):
        talk.connection.acknowledge(talk.t_ns, 1, window=0)
        talk.t_ns += 250 * MS
    found = of_packets(tmp_path, talk.connection.packets)
    assert (found["zero_windows"], found["stalled_ns"]) == (1, 750 * MS)


def test_short_frames_are_padded_on_the_wire(tmp_path):
    talk = everything(pieces=(3,))
    frames = [Frame(one.t_ns, one.data.ljust(60, b"\0")) for one in made.frames(talk.connection.packets)]
    found = of_bytes(tmp_path, made.pcap(frames, nanoseconds=True))
    agrees(found, talk.truth)
    assert (found["checksums"]["bad"], found["gaps"], found["retransmitted"]) == (0, 0, 0)


@each("link", "cooked", "cooked2")
@each("ends", ("10.0.0.1", "10.0.0.2"), ("fd00::1", "fd00::2"))
def test_fragments_and_tags_in_cooked_frames(tmp_path, link, ends):
    talk = everything(Connection(client=ends[0], server=ends[1]))
    frames = []
    for number, packet in enumerate(sorted(talk.connection.packets, key=lambda one: one.t_ns)):
        for part in made.fragments(packet, (32,), identification=number):
            frame, six = made.framed(part, link), ":" in ends[0]
            kind = struct.pack(">H", 0x86DD if six else 0x0800)
            head = frame[: len(frame) - len(part)].replace(kind, b"\x81\0", 1)
            frames.append(Frame(packet.t_ns, head + b"\0\x07" + kind + part if number % 2 else frame))
    found = of_bytes(tmp_path, made.pcap(frames, link=link, nanoseconds=True))
    agrees(found, talk.truth)
    assert (found["incomplete_datagrams"], found["unreadable_frames"]) == (0, 0)


def test_pcapng_with_sections_of_both_byte_orders(tmp_path):
    talk = everything()
    frames = made.frames(talk.connection.packets)
    half = len(frames) // 2
    sections = [
        made.pcapng(frames[:half], interfaces=(Interface(resolution=9, dropped=2),), order="<"),
        made.pcapng(
            [made.replace(one, interface=1) for one in frames[half:]],
            interfaces=(Interface(dropped=1), Interface(resolution=9, offset_s=-7, dropped=4)),
            order=">",
        ),
    ]
    found = of_bytes(tmp_path, b"".join(sections))
    agrees(found, talk.truth)
    assert (found["capture_drops"], found["frames"], found["start_ns"]) == (7, len(frames), START_NS)


def test_packet_blocks_of_old_writers_and_simple_ones(tmp_path):
    """The obsolete packet block has a time; the simple one has none and counts at the time of the frame before."""
    talk = everything()
    frames = made.frames(talk.connection.packets)
    whole = made.pcapng(frames[:3], interfaces=(Interface(resolution=9),))
    for place, one in enumerate(frames[3:]):
        units = (one.t_ns >> 32, one.t_ns & 0xFFFFFFFF)
        head = struct.pack("<HHIIII", 0, 0xFFFF if place else 3, *units, len(one.data), len(one.data))
        whole += made.block("<", 2, head + one.data)
    pure = Talk(Connection(port=42_000))
    pure.open()
    extra = made.frames(pure.connection.packets)[:1]
    whole += made.block("<", 3, struct.pack("<I", len(extra[0].data)) + extra[0].data)
    found = of_bytes(tmp_path, whole)
    agrees(found, talk.truth)
    assert (found["frames"], found["connections"], found["capture_drops"]) == (len(frames) + 1, 2, 3)


def test_snoop_with_cut_frames_and_drops(tmp_path):
    talk = everything()
    frames = [one.cut(100) for one in made.frames(talk.connection.packets)]
    found = of_bytes(tmp_path, made.snoop(frames, drops=9))
    kinds = {one["operation"]: one["requests"] for one in found["operations"]}
    assert kinds == talk.truth.requests
    assert found["cut_bytes"] == sum(max(0, one.wire_bytes - 100) for one in frames)
    assert (found["capture_drops"], found["files"][0]["ended"]["kind"]) == (9, "whole")


@each("order", *"<>")
def test_families_of_loopback_in_both_byte_orders(tmp_path, order):
    talk = everything(Connection(client="::1", server="::1"))
    frames = [
        Frame(one.t_ns, struct.pack(f"{order}I", 24) + made.ip(one))
        for one in sorted(talk.connection.packets, key=lambda one: one.t_ns)
    ]
    found = of_bytes(tmp_path, made.pcap(frames, link="null", nanoseconds=True))
    agrees(found, talk.truth)
    assert found["clients"][0]["client"] == "::1"


def test_a_frame_of_its_own_acknowledgement_alone_is_no_retransmission(tmp_path):
    talk = Talk()
    talk.open()
    talk.operation(1, made.search(made.equal("uid", "a")))
    for _ in range(5):  # a question whether the other end lives: one byte before the next
        before = talk.connection.next[0] - 1 & 0xFFFFFFFF
        talk.connection.packet(talk.t_ns, 0, ACK, b"\0", seq=before)
        talk.connection.acknowledge(talk.t_ns + 1000, 1)
        talk.t_ns += SECOND_NS
    found = of_packets(tmp_path, talk.connection.packets)
    agrees(found, talk.truth)
    assert (found["retransmitted"], found["gaps"], found["malformed"]) == (0, 0, 0)
