"""W04: clients that start two seconds apart."""

import math
from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.measures import latency
from assay.records import Claim, DrillEnd, Durability, HostClock, PhaseHost, Role, Severity, State
from assay.rules.start_skew import RULE
from audit.case_builder import Made, case_of
from stage.said import FAIL, INVALIDATES, NOT_ASKED, PASS, QUALIFIES, UNBOUNDED, high, hold, low
from test_outages import noted


def judged(starts, ends):
    return RULE.check(case_of(Made(starts=starts, ends=ends), "W04"))


def test_a_writer_and_a_reader_act_in_turn():
    one = case_of(Made(starts=(0.0, 0.0), ends=(10.0, 10.0)), "W04")
    ends = tuple(replace(client, role=role) for client, role in zip(one.phase.clients, (Role.WRITER, Role.READER), strict=True))
    assert "in turn" in RULE.applies(replace(one, phase=replace(one.phase, clients=ends)))
    assert RULE.applies(one) is None


def test_records_that_are_lost_do_not_depend_on_when_clients_work():
    one = case_of(Made(starts=(0.0, 5.0), ends=(1.0, 6.0)), "W04")
    drilled = tuple(replace(client, drill=DrillEnd(acknowledged=9)) for client in one.phase.clients)
    lost = replace(one, measure=replace(one.measure, figure="lost"))
    assert "none is lost" in RULE.applies(replace(lost, phase=replace(lost.phase, clients=drilled)))
    assert RULE.applies(lost) is None, "no drill"


def test_clients_that_get_unequally_much_done_are_a_note():
    def of(*counts):
        one = case_of(Made(starts=(0.0,) * len(counts), ends=(10.0,) * len(counts)), "W04")
        clients = tuple(
            replace(client, operations=tuple(replace(total, count=count) for total in client.operations))
            for client, count in zip(one.phase.clients, counts, strict=True)
        )
        return RULE.check(replace(one, phase=replace(one.phase, clients=clients)))

    assert of(100, 60, 90).state is State.PASS
    uneven = of(1000, 100, 1000)
    assert (uneven.state, uneven.severity, uneven.bound) == (State.FAIL, Severity.NOTES, None)
    assert uneven.observed["fairness"] == pytest.approx(2100**2 / (3 * 2_010_000))
    assert "client 1 on local did 10 % of the fastest (" in uneven.statement


def test_a_client_that_is_slow_later_is_named_with_since_when():
    one = case_of(Made(starts=(0.0, 0.0), ends=(10.0, 10.0), operation="read"), "W04")
    counts = (1000, 600)
    clients = tuple(
        replace(client, operations=tuple(replace(total, count=count) for total in client.operations))
        for client, count in zip(one.phase.clients, counts, strict=True)
    )
    courses = (noted(100, subject="client:0"), noted(150, away=[(4, 10)], subject="client:1"))
    seen = replace(one.observations, series=tuple(course for each in courses for course in each))
    found = RULE.check(replace(one, phase=replace(one.phase, clients=clients), observations=seen))
    assert found.detail == "client 1 on local did 60 % of the fastest, since 4.0 s", "the index is 0.94"


def test_apart_qualifies_with_both_rates_as_bound():
    finding = judged((0.0, 2.0), (10.0, 12.0))
    assert (finding.state, finding.severity) == (State.FAIL, Severity.QUALIFIES)
    assert finding.observed["overlap_share"] == pytest.approx(8 / 12)
    each = 256 * (1 << 20)
    assert finding.bound.high == pytest.approx(2 * each * 0.8 / 8)
    assert finding.bound.low == pytest.approx(2 * each / 12)


def test_a_external_tools_clients_give_no_bound_since_nobody_counted_inside():
    made = Made(starts=(0.0, 2.0), ends=(10.0, 12.0), values={"read.bytes_per_s": 1e8})
    finding = RULE.check(case_of(made, "W04"))
    assert (finding.state, finding.bound) == (State.FAIL, None)
    assert "0 B/s" not in finding.statement


def test_a_charged_drain_is_in_the_bound_too():
    claim = Claim(durability=Durability.STABLE_MEDIA)
    made = Made(operation="write", starts=(0.0, 2.0), ends=(10.0, 12.0), drain_s=4.0, claim=claim)
    case = case_of(made, "W04")
    bound = RULE.check(case).bound
    assert bound.low == pytest.approx(case.value) == pytest.approx(2 * 256 * (1 << 20) / 16)


@given(
    inside=st.lists(st.integers(1, 1000), min_size=1, max_size=50),
    outside=st.lists(st.integers(1, 1000), max_size=50),
    share=st.sampled_from([0.5, 0.9, 0.99, 1.0]),
)
def test_the_bracket_holds_the_percentile_of_every_part(inside, outside, share):
    of_all = sorted(Counter(inside + outside).items())
    low, high = latency.bracket(of_all, share, len(inside) / (len(inside) + len(outside)))
    assert low <= latency.percentile(sorted(Counter(inside).items()), share) <= high


def calls_of(*spans, operation="read"):
    """An external command in which a tool was called several times, each call with what it said and when it ran."""
    made = Made(starts=tuple(start for start, _ in spans), ends=tuple(end for _, end in spans))
    case = case_of(made, "W04")
    clients = tuple(
        replace(client, operations=tuple(replace(one, operation=operation, count=1) for one in client.operations))
        for client in case.phase.clients
    )
    values = {"read.bytes": 5e8, "read.bytes_per_s": 5e7}
    return replace(case, phase=replace(case.phase, clients=clients, values=values), value=5e7)


def test_calls_that_told_what_they_moved_are_bounded():
    finding = RULE.check(calls_of((0.0, 10.0), (2.0, 12.0)))
    assert (finding.state, finding.severity) == (State.FAIL, Severity.QUALIFIES)
    each = 256 * (1 << 20)
    assert finding.bound.low == pytest.approx(2 * each / 12)
    assert finding.bound.high == pytest.approx(2 * each / 10)


def test_calls_that_did_something_else_are_not_idle():
    case = calls_of((0.0, 10.0), (2.0, 12.0))
    reader, writer = case.phase.clients
    wrote = tuple(replace(one, operation="write") for one in writer.operations)
    phase = replace(case.phase, clients=(reader, replace(writer, operations=wrote)), operations=("read", "write"))
    assert RULE.check(replace(case, phase=phase)).state is State.PASS


def on_hosts(starts, ends, hosts, errors_ns):
    one = case_of(Made(starts=starts, ends=ends), "W04")
    clients = tuple(replace(client, host=host) for client, host in zip(one.phase.clients, hosts, strict=True))
    parts = tuple(
        PhaseHost(host=host, clock=HostClock(host=host, offset_ns=7, error_ns=error, t0_mono_ns=0))
        for host, error in errors_ns.items()
    )
    return RULE.check(replace(one, phase=replace(one.phase, clients=clients, hosts=parts)))


def test_clocks_decide_only_what_they_can():
    starts, ends, hosts = (0.0, 0.4), (10.0, 10.4), ("c.1", "c.2")
    assert on_hosts(starts, ends, hosts, {"c.1": 0, "c.2": 1000}).state is State.FAIL, "9.6 of 10.4 s"
    found = on_hosts(starts, ends, hosts, {"c.1": 0, "c.2": 200_000_000})
    assert (found.state, "only (W08)" in found.statement) == (State.UNVERIFIED, True)
    assert on_hosts((0.0, 0.2), (10.0, 10.2), hosts, {"c.1": 0, "c.2": 1000}).state is State.PASS
    assert on_hosts((0.0, 0.2), (10.0, 10.2), hosts, {"c.1": 0, "c.2": 100_000_000}).state is State.UNVERIFIED
    assert on_hosts((0.0, 0.2), (10.0, 10.2), ("c.1", "c.1"), {"c.1": 10**10}).state is State.PASS, "one clock"


def test_states():
    hold(
        ("together passes", judged((0.0, 0.01), (10.0, 10.02)), PASS),
        ("hardly together is invalid", judged((0.0, 8.0), (10.0, 18.0)), INVALIDATES),
        ("never together has no bound", judged((0.0, 11.0), (10.0, 20.0)), INVALIDATES, UNBOUNDED),
        ("one client is not its business", RULE.applies(case_of(Made(), "W04")), NOT_ASKED),
        "a percentile is bracketed by two of all operations",
        (
            RULE.check(
                case_of(
                    Made(figure="latency_p99_ns", starts=(0.0, 2.0), ends=(10.0, 12.0), latencies_ns=tuple(range(1, 257))), "W04"
                )
            ),
            FAIL,
            QUALIFIES,
            low(math.ceil(0.792 * 256)),
            high(math.ceil(0.992 * 256)),
        ),
        "the last to start is named with its host, and the last to end",
        (
            on_hosts((0.0, 2.0, 0.1), (10.0, 12.0, 10.0), ("c.1", "c.2", "c.1"), {"c.1": 1000, "c.2": 1000}),
            *(FAIL, QUALIFIES, "Last to start: client 1 on c.2, 2 s after the first."),
        ),
        (judged((0.0, 0.0), (10.0, 14.0)), FAIL, "Last to end: client 1 on local, 4 s after the first."),
    )
