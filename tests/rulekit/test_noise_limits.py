"""What noise can have done: no more than physics lets it, and nothing to figures that it cannot change."""

from array import array
from dataclasses import replace

import pytest

from assay.records import Histogram, State, StopRule
from assay.rulekit import noise
from audit.case_builder import SECOND, Made, case_of
from stage.rows import each

FAST, SLOW = 60_000, 2_000_000


def case(figure, value, *, stop=StopRule.WORK, buckets=((FAST, 9_900), (SLOW, 100))):
    """One worker for a second: most reads take 60 us, one in a hundred 2 ms."""
    count = sum(many for _, many in buckets)
    found = case_of(Made(count=count, record_bytes=4096, figure=figure, stop=stop), "N03")
    histogram = Histogram(
        phase=found.phase.name,
        host="local",
        subject="client:0",
        operation="read",
        upper_ns=array("q", [upper for upper, _ in buckets]),
        count=array("q", [many for _, many in buckets]),
    )
    return replace(found, value=value, observations=replace(found.observations, histograms=(histogram,)))


@each(
    "figure value low high",
    ("latency_p99_ns", SLOW, FAST, SLOW),  # no read is faster than the fastest that was seen
    ("latency_mean_ns", 80_000, FAST, 80_000),
    ("ops_per_s", 10_000.0, 10_000.0, SECOND / FAST),  # one read at a time, as fast as the fastest
    ("bytes_per_s", 40.96e6, 40.96e6, 4096 * SECOND / FAST),
)
def test_a_bound_ends_where_physics_does(figure, value, low, high):
    bound = noise.effect(case(figure, value), 0.99).bound
    assert (bound.low, bound.high) == (pytest.approx(low), pytest.approx(high))


@each(
    "figure stop",
    ("cpu_ns_per_op", StopRule.TIME),  # waiting for a CPU is no CPU time
    ("server_cpu_ns_per_op", StopRule.TIME),
    ("user_instructions_per_op", StopRule.TIME),
    ("count", StopRule.WORK),
    ("bytes", StopRule.WORK),
    ("errors", StopRule.WORK),
)
def test_waiting_changes_no_count_and_no_cpu_time(figure, stop):
    found = noise.effect(case(figure, 100.0, stop=stop), 0.9)
    assert (found.state, found.bound) == (State.PASS, None)


def test_what_is_done_in_a_given_time_is_less_beside_noise():
    assert noise.effect(case("count", 100.0, stop=StopRule.TIME), 0.5).bound.high == 200.0


def test_shared_caches_cost_cpu_time():
    bound = noise.effect(case("cpu_ns_per_op", 100.0), 0.9, shared=0.3).bound
    assert (bound.low, bound.high) == (pytest.approx(70.0), 100.0)
