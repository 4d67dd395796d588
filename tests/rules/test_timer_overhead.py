"""G07: operations of tens of nanoseconds, of microseconds, and those of which the cost of the clock is not known."""

from array import array
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.audit import limits
from assay.records import EngineCost, Histogram, LoadTotal, State, WorkloadSpec
from assay.rules.timer_overhead import RULE
from audit.case_builder import Made, case_of
from stage.rows import each
from stage.said import FAIL, PASS, QUALIFIES, UNVERIFIED, high, hold, low

LIMITS = limits.thresholds("G07")


def case(latencies, *, user_ns=0, clock="tsc", figure="latency_p50_ns", **made):
    """A client with these latencies, and so much time in user mode for each operation."""
    count = len(latencies)
    found = case_of(Made(count=count, record_bytes=64, latencies_ns=tuple(sorted(latencies)), figure=figure, **made), "G07")
    cost = EngineCost(cpu_user_ns=user_ns * count, cpu_system_ns=0) if user_ns else None
    clients = tuple(replace(one, cost=cost, clock_source=clock) for one in found.phase.clients)
    phase = replace(found.phase, clients=clients)
    return replace(found, phase=phase, run=replace(found.run, phases=(phase,)))


def test_what_is_not_timed_by_us_is_not_judged():
    assert "external" in (RULE.applies(case_of(Made(values={"read.bytes": 1.0}), "G07")) or "")
    assert "neither" in (RULE.applies(case([100], figure="errors")) or "")
    empty = case([30])
    loop = replace(empty.experiment, workloads=(WorkloadSpec(name="w", kind="null"),))
    assert "own loop" in (RULE.applies(replace(empty, experiment=loop)) or "")
    opened = case([100], figure="ops_per_s")
    load = LoadTotal(late=0, unstarted=0, backlog_max_ns=0)
    paced = replace(opened.phase, clients=tuple(replace(one, load=load) for one in opened.phase.clients))
    assert "schedule" in (RULE.applies(replace(opened, phase=paced)) or "")


def test_a_rate_holds_two_stamps_and_may_be_higher():
    one = case([100] * 100, user_ns=50, figure="ops_per_s")
    found = RULE.check(one)
    assert found.observed["least_share"] == pytest.approx(2 * LIMITS["tsc_ns"] / 100)
    assert (found.bound.low, found.bound.high) == (one.value, pytest.approx(2 * one.value))


def measured(one, **cost):
    """The case with what its engine measured of itself."""
    clients = tuple(replace(client, **cost) for client in one.phase.clients)
    phase = replace(one.phase, clients=clients)
    return replace(one, phase=phase, run=replace(one.run, phases=(phase,)))


@each("figure long unknown", ("latency_p50_ns", 700, 500), ("ops_per_s", 1_700, 1_500))
def test_what_the_engine_measured_of_itself_settles_what_a_hypervisor_might_have_cost(figure, long, unknown):
    """Three times 10 ns of a latency, three times 27 ns of a rate."""
    for median, state in ((long, State.PASS), (unknown, State.UNVERIFIED)):
        one = case([median] * 9, figure=figure)
        assert RULE.check(measured(one, stamp_ns=10, own_ns=27)).state is state
        assert RULE.check(one).state is State.UNVERIFIED


def test_the_shortest_of_another_phase_counts_where_the_clock_is_the_same():
    one = case([10_000] * 9)
    assert RULE.check(one).state is State.UNVERIFIED
    empty = Histogram(
        phase="n", host="local", subject="client:0", operation="null", upper_ns=array("q", [25]), count=array("q", [9])
    )
    both = replace(one, observations=replace(one.observations, histograms=(*one.observations.histograms, empty)))
    for source, state in (("tsc", State.PASS), ("clock_gettime", State.UNVERIFIED)):
        clients = tuple(replace(client, clock_source=source) for client in one.phase.clients)
        phases = (replace(one.phase, name="n", clients=clients), one.phase)
        assert RULE.check(replace(both, run=replace(one.run, phases=phases))).state is state


@given(st.integers(1, 10**7), st.integers(1, 10**6))
def test_it_never_fails_where_the_clock_cannot_be_the_reason(median, user):
    found = RULE.check(case([median] * 5, user_ns=user))
    if median * LIMITS["cost_share"] > LIMITS["tsc_ns"]:
        assert found.state is not State.FAIL
    else:
        assert found.state is (State.FAIL if median * LIMITS["cost_share"] < LIMITS["tsc_ns"] else found.state)


def test_no_latency_is_unverified():
    one = case([100])
    assert RULE.check(replace(one, observations=replace(one.observations, histograms=()))).state is State.UNVERIFIED


def test_states():
    hold(
        "a copy out of a buffer is as short as the clock",
        (
            RULE.check(case([20] * 50 + [30] * 50, user_ns=15)),
            FAIL,
            QUALIFIES,
            {"least_share": LIMITS["tsc_ns"] / 20},
            {"most_share": 0.75},
            low(5.0),
            high(20.0),
        ),
        (RULE.check(case([20] * 9)), low(None)),
        "another clock is dearer",
        (RULE.check(case([200] * 9, user_ns=9)), PASS),
        (RULE.check(case([200] * 9, user_ns=9, clock="clock_gettime")), FAIL),
        "long operations pass by the time in user mode or by the shortest of all",
        (RULE.check(case([100_000] * 9, user_ns=900)), PASS),
        (RULE.check(case([300] + [10_000] * 9)), PASS),
        (RULE.check(case([300] + [10_000] * 9, figure="ops_per_s")), UNVERIFIED),
        "a trapped clock is as dear as it was measured",
        (
            RULE.check(measured(case([30_000] * 9, figure="ops_per_s"), stamp_ns=2_000, own_ns=4_100)),
            {"most_share": 3 * 4_100 / 30_000},
        ),
    )
