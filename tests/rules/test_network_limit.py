"""L03: a full line, lost segments, and ways without a limit."""

from dataclasses import replace

import pytest

from assay.records import Claim, Direction, Severity, State, Tier, Unfinished
from assay.rules.network_limit import RULE
from audit.case_builder import Made, case_of
from stage.network_cases import between, connection, end
from stage.rows import each
from stage.said import FAIL, NOT_ASKED, NOTES, PASS, QUALIFIES, UNVERIFIED, hold
from stage.server_cases import counted, served

DEVICE = Claim(tier=Tier.DEVICE)
SHAPED = {"route": "veth0", "route_kind": "virtual", "limit_bytes_per_s": "12500000", "limit": "tbf on veth0, 100 Mbit/s"}


def judged(sent, facts=SHAPED, segments=(5000, 0), claim=DEVICE, received=1000, needless=None):
    rungs = [] if sent is None else [("L4", "write", sent), ("L4", "read", received)]
    gauges = {"sent_segments": (0, segments[0]), "retransmitted_segments": (0, segments[1])}
    if needless is not None:
        gauges["needless_segments"] = (0, needless)
    return RULE.check(served("L03", rungs, gauges, facts, claim=claim))


def test_a_full_line_qualifies_a_claim_of_the_device():
    found = judged(12_000_000)
    assert (found.state, found.severity) == (State.FAIL, Severity.QUALIFIES)
    assert found.relabel == "limited by tbf on veth0, 100 Mbit/s"
    assert found.bound.low is not None
    assert judged(12_000_000, claim=Claim()).severity is Severity.NOTES


@each("kind state", ("loopback", State.PASS), ("virtual", State.PASS), ("physical", State.UNVERIFIED))
def test_without_a_known_limit_only_ways_within_the_machine_pass(kind, state):
    assert judged(1_000_000, {"route": "x", "route_kind": kind}).state is state


def test_a_tool_leaves_its_own_start_out_of_its_rate():
    """Ruler: a shaper of 3 MB/s, 2.85 MB/s by the tool; over the whole phase with the tool's start 2.64 MB/s."""
    rungs = [("L4", "write", 10_600_000), ("L4", "read", 1000)]

    def by_tool(value):
        case = served("L03", rungs, {}, SHAPED, claim=DEVICE, figure="bytes_per_s")
        return RULE.check(replace(case, value=value, phase=replace(case.phase, values={"write.bytes_per_s": value})))

    hold(
        ("88 % over the phase, 95 % by the tool", by_tool(11_900_000.0), FAIL),
        ("less", by_tool(10_700_000.0), PASS),
        ("a cache answered", by_tool(500e6), PASS),
    )


def test_more_than_a_shaper_lets_through_is_credit_or_another_way():
    """Ruler: a shaper of 12.5 MB/s with a burst of 10 MB lets 20 MB pass in a second."""

    def passing(passed, at_client, **more):
        rungs = [("L4", "write", passed), ("L4", "read", 1000)]
        case = served("L03", rungs, {}, {**SHAPED, "route": "veth0"}, claim=DEVICE, **more)
        here = [] if at_client is None else [counted(1.0, "L3", way, at_client, "interface:veth0") for way in ("read", "write")]
        return RULE.check(replace(case, observations=replace(case.observations, readings=(*case.observations.readings, *here))))

    rate = passing(20_000_000, 20_000_000, figure="bytes_per_s")
    hold(
        ("a burst on credit", rate, FAIL, QUALIFIES, "burst credit of tbf on veth0", {"used_share": 1.6}),
        ("of a figure that is no rate", passing(20_000_000, 20_000_000, figure="count"), FAIL, NOTES),
        ("half of it went another way", passing(20_000_000, 10_000_000), UNVERIFIED, "another way"),
        ("nobody counted the client's interface", passing(20_000_000, None), UNVERIFIED),
        ("full, and no more", passing(12_900_000, 12_900_000), FAIL, "limited by"),
    )
    assert rate.bound.high == rate.bound.low * rate.observed["used_share"]


def test_a_dead_path_is_not_called_innocent():
    (client,) = (case := served("L03", [("L4", "write", 1_000_000), ("L4", "read", 1)], {}, SHAPED)).phase.clients
    waits = Unfinished(count=1, from_ns=0, waited_ns=9, longest_ns=9)
    client = replace(client, operations=tuple(replace(one, unfinished=waits) for one in client.operations))
    case = replace(case, phase=replace(case.phase, clients=(client,)))
    hold(("an operation without an end", RULE.check(case), UNVERIFIED, "W12"))


def test_what_is_behind_a_router_is_unknown():
    """A shaper of 40 Mbit/s on the second of two hops: no shaper is on the first one."""
    routed = {"route": "veth0", "route_kind": "virtual", "router": "198.18.91.2"}
    hold(
        ("no limit up to the router", judged(1_000_000, routed), UNVERIFIED, "198.18.91.2"),
        ("a link up to the router", judged(1_000_000, {**SHAPED, **routed, "route_kind": "physical"}), UNVERIFIED),
        ("the link itself is full", judged(12_000_000, {**SHAPED, **routed, "route_kind": "physical"}), FAIL),
        ("the lab's own box", judged(1_000_000, {**SHAPED, **routed}), PASS),
    )


def test_an_upload_is_sent_again_in_the_namespace_of_its_client():
    """Ruler: a client sends 8 MB through a policer: the server's namespace sends nothing again, the client's 3 %."""

    def upload(again, received, needless=0):
        counts = {"sent_segments": 6000, "retransmitted_segments": again, "dsacks": needless}
        rows = [("end_network", "net:[1]", f"tcp_{name}", (0, count)) for name, count in counts.items()]
        more = between("L03", gauges=rows).observations.series
        rungs = [("L4", "read", received), ("L4", "write", 100_000)]
        case = served("L03", rungs, {"sent_segments": (0, 5000), "retransmitted_segments": (0, 0)}, SHAPED, seconds=2.0)
        return RULE.check(replace(case, observations=replace(case.observations, series=(*case.observations.series, *more))))

    hold(
        ("the client's segments", upload(180, 8_000_000), FAIL, "3 %"),
        ("none", upload(0, 8_000_000), PASS),
        ("they had arrived", upload(180, 8_000_000, needless=170), PASS),
        ("mostly others' segments", upload(180, 800_000), UNVERIFIED, "whether they are the load's"),
    )


def own_ends(**tcp):
    """A stream between two ends of Assay over the loopback, whose server has no process that the target names."""
    case = between("L03", load=end(connection(**tcp)), facts=[("target.server.route_kind", "loopback")])
    return RULE.check(case)


def test_segments_that_had_arrived_are_no_loss():
    """Ruler: two ways of unlike length, 415 sent again, 353 of them reported as duplicates, no queue full."""
    assert own_ends(segments_out=37_054, retransmits=415, dsacks=353).state is State.PASS
    assert own_ends(segments_out=37_054, retransmits=415, dsacks=100).state is State.FAIL


def of_line(*, lost, dropped, **more):
    """Retransmissions through a path of the lab that counts what it lost and what its queue dropped."""
    gauges = [
        ("line", "line:wan.up", f"{name}_segments", (0, count)) for name, count in {"lost": lost, "dropped": dropped}.items()
    ]
    load = end(connection(segments_out=100_000, retransmits=1_000, **more))
    return RULE.check(between("L03", load=load, gauges=gauges, facts=[("target.server.route_kind", "loopback")]))


@each("limit state", (1.05, State.FAIL), (1.5, State.PASS))
def test_two_ends_of_assay_fill_a_shaper_by_their_payload(limit, state):
    case = between("L03", load=end(connection(segments_out=5000)))
    rate = case.phase.clients[0].operations[0].bytes / ((case.phase.end_ns - case.phase.start_ns) / 1e9)
    shaped = {**SHAPED, "limit_bytes_per_s": str(round(rate * limit)), "limit": "tbf of the box, 200 Mbit/s"}
    facts = [(f"target.server.{name}", value) for name, value in shaped.items()]
    found = RULE.check(between("L03", load=end(connection(segments_out=5000)), facts=facts))
    assert found.state is state
    if state is State.FAIL:
        assert found.relabel == "limited by tbf of the box, 200 Mbit/s"
        assert "of payload" in found.statement


def test_a_transaction_has_half_of_its_bytes_in_each_direction():
    """Requests and responses of one size: 55 % of the shaper in each direction, 110 % in both."""
    case = between("L03", load=end(connection(segments_out=5000)))
    rate = case.phase.clients[0].operations[0].bytes / ((case.phase.end_ns - case.phase.start_ns) / 1e9)
    shaped = {**SHAPED, "limit_bytes_per_s": str(round(rate / 1.1)), "limit": "tbf of the box, 200 Mbit/s"}
    facts = [(f"target.server.{name}", value) for name, value in shaped.items()]
    case = between("L03", load=end(connection(segments_out=5000)), facts=facts)
    both = dict.fromkeys(case.phase.directions, Direction.REQUEST)
    found = RULE.check(replace(case, phase=replace(case.phase, directions=both)))
    assert found.state is State.PASS
    assert found.observed["used_share"] == pytest.approx(0.55, rel=0.01)


def test_states():
    hold(
        ("the fuller direction counts", judged(1000, received=12_000_000), FAIL),
        ("a half full line passes", judged(6_000_000), PASS),
        "lost segments are told",
        (judged(1_000_000, segments=(5000, 50)), FAIL, "1 %"),
        (judged(1_000_000, segments=(500, 50)), PASS),
        # 29 of 55,000 segments on a busy machine, none of them dropped: each came with the receiver's word that it had it.
        "what was sent again though it had arrived is not lost",
        (judged(1_000_000, segments=(5000, 29), needless=29), PASS),
        (judged(1_000_000, segments=(5000, 29), needless=31), {"sent_again_share": 0}),
        (judged(1_000_000, segments=(5000, 29), needless=9), FAIL),
        (judged(1_000_000, segments=(5000, 29)), FAIL),
        "losses of a namespace are not those of a loopback",
        (judged(1_000_000, {"route": "lo", "route_kind": "loopback"}, segments=(13_147, 92)), PASS),
        (judged(1_000_000, {"route": "v", "route_kind": "virtual"}, segments=(13_147, 92)), FAIL),
        "uncounted bytes are unverified",
        (judged(None), UNVERIFIED),
        (RULE.applies(case_of(Made(), "L03")), NOT_ASKED),
        "own ends tell what they lost",
        (own_ends(segments_out=100_000), PASS),
        (own_ends(segments_out=100_000, retransmits=1_000, dsacks=10), "sent again: a full queue or a bad path"),
        (of_line(lost=900, dropped=20), "limited by packet loss"),
        (of_line(lost=900, dropped=20, congestion="bbr"), "segments lost by the path"),
        (of_line(lost=0, dropped=900), "sent again: a full queue"),
        (own_ends(segments_out=100_000, retransmits=1_000, dsacks=990), PASS),
    )
