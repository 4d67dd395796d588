"""G02: all that was due done, half of it, a backlog of seconds in a long run, work that took longer than its rate."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.records import LoadTotal, OperationTotal, Severity, State
from assay.rules.offered_rate import RULE
from audit.case_builder import DIRECTIONS, SECOND, Made, case_of
from stage.rows import each
from stage.said import ASKED, FAIL, NOT_ASKED, UNVERIFIED, hold


def case(*, count=1000, unstarted=0, waited_s=0.001, late=None, seconds=10.0, clients=1, flushes=0, **made):
    """Clients that did so many of what was due."""
    figure, knobs = made.pop("figure", "latency_p99_ns"), made.pop("knobs", {"rate": 100, "duration": round(seconds * SECOND)})
    described = Made(count=count, record_bytes=4096, seconds=seconds, starts=(0.0,) * clients, figure=figure, knobs=knobs, **made)
    found = case_of(described, "G02")
    late = (count if unstarted > 4 or waited_s > 1 else 3) if late is None else late
    load = LoadTotal(late=late, unstarted=unstarted, backlog_max_ns=round(waited_s * SECOND))
    flush = OperationTotal(operation="flush", count=flushes, bytes=0, errors=0, busy_ns=1, first_ns=0, last_ns=1)
    working = tuple(replace(one, load=load, operations=(*one.operations, flush)) for one in found.phase.clients)
    return replace(found, phase=replace(found.phase, clients=working, directions=DIRECTIONS))


def test_all_that_was_due_was_done():
    found = RULE.check(case())
    assert found.state is State.PASS
    assert found.observed == {"attained_share": 1.0, "backlog_s": 0.0, "late_share": 0.003, "longest_wait_ns": 1e6}


@each(
    "figure severity",
    ("latency_p99_ns", Severity.INVALIDATES),
    ("latency_mean_ns", Severity.INVALIDATES),
    ("ops_per_s", Severity.QUALIFIES),
    ("bytes_per_s", Severity.QUALIFIES),
    ("cpu_ns_per_op", Severity.NOTES),
)
def test_half_of_it_is_the_rate_of_a_saturated_target(figure, severity):
    one = case(unstarted=1000, figure=figure, knobs={"rate": 200, "duration": 10 * SECOND})
    found = RULE.check(one)
    assert (found.state, found.severity) == (State.FAIL, severity)
    assert found.relabel == "saturated: the offered rate was not attained"
    assert found.detail == "100/s done of 200/s offered"
    assert found.observed["backlog_s"] == pytest.approx(5, rel=0.01)
    if severity is Severity.QUALIFIES:
        assert (found.bound.low, found.bound.high) == (one.value, None)
    else:
        assert found.bound is None


@each("figure", "latency_p99_ns", "ops_per_s")
def test_a_stall_at_the_end_leaves_the_latencies_too_low(figure):
    """Two per cent did not begin, but hardly any of the others was late: no saturation, and what waited longest is missing."""
    one = case(unstarted=21, late=40, figure=figure)
    found = RULE.check(one)
    assert (found.state, found.severity) == (State.FAIL, Severity.QUALIFIES)
    assert (found.bound.low, found.bound.high) == (one.value, None)
    assert RULE.check(case(unstarted=21, late=40, figure="cpu_ns_per_op")).severity is Severity.NOTES


def test_a_backlog_of_seconds_fails_though_99_per_cent_were_done():
    assert RULE.check(case(count=99_500, unstarted=501, seconds=100.0)).state is State.PASS
    found = RULE.check(case(count=99_500, unstarted=501, seconds=1000.0, late=40))
    assert found.severity is Severity.INVALIDATES
    assert found.observed["attained_share"] > 0.99
    assert found.state is State.FAIL


@given(st.integers(0, 2000))
def test_what_each_worker_was_at_when_the_time_was_over_is_no_backlog(unstarted):
    found = RULE.check(case(unstarted=unstarted, workers=4))
    assert (found.state is State.PASS) == (unstarted - 4 <= 10)


def test_work_that_took_longer_than_its_rate_was_not_attained():
    """A thousand operations at 200/s are due in 5 s; they took 10 s, and the last one waited 5 s to begin."""
    knobs = {"rate": 200, "ops": 1000}
    found = RULE.check(case(waited_s=5.0, knobs=knobs))
    assert (found.state, found.detail) == (State.FAIL, "100/s done of 200/s offered")
    assert RULE.check(case(waited_s=5.0, knobs={"rate": 100, "ops": 1000})).state is State.PASS, "a stall that was made good"
    assert RULE.check(case(waited_s=0.01, knobs=knobs)).state is State.PASS, "arrivals by chance, none of which waited"


def test_states():
    hold(
        "a closed loop is promised no rate",
        (RULE.applies(case_of(Made(), "G02")), NOT_ASKED),
        (RULE.applies(case()), ASKED),
        # 12 of 1,000 at each client did not begin: with the flushes counted as done it would pass.
        "clients are added up and flushes left out",
        (RULE.check(case(count=988, unstarted=13, clients=3, flushes=50_000)), FAIL, {"attained_share": 988 / 1000}),
        "the rate of a schedule is what was due",
        (RULE.check(case(unstarted=1001, knobs={"schedule": ("10 s at 200 /s",), "duration": 10 * SECOND})), "100"),
        ("nothing done is unverified", RULE.check(case(count=0, unstarted=50)), UNVERIFIED),
    )
