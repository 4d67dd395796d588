"""What lost time does to each kind of figure, and how disturbances add up."""

from array import array
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.audit import judge
from assay.audit.verdicts import common_bound
from assay.measures import latency
from assay.records import Bound, Finding, Histogram, Observations, Severity, State
from assay.rulekit import noise
from stage.noise_cases import run, trial_case
from stage.rows import each


def case(figure, value, seen=None):
    return replace(trial_case("N02", run(), seen or Observations(), figure=figure), value=value)


@each("figure low high", ("ops_per_s", 100.0, 125.0), ("elapsed_ns", 80.0, 100.0), ("latency_mean_ns", 80.0, 100.0))
def test_a_fifth_of_the_time_bounds_rates_above_and_times_below(figure, low, high):
    found = noise.effect(case(figure, 100.0), 0.2)
    assert (found.bound.low, found.bound.high) == (pytest.approx(low), pytest.approx(high))
    assert (found.state, found.severity) == (State.FAIL, Severity.QUALIFIES)


@each("figure", "granted_twice", "lost", "never", "stale")
def test_lost_time_makes_no_event_happen(figure):
    found = noise.effect(case(figure, 2.0), 0.5)
    assert (found.state, found.share, found.bound) == (State.PASS, 0.0, None)


def test_a_few_long_waits_explain_a_percentile_and_not_the_median():
    """1,000 operations of 1 ms, 20 of them of 51 ms: 1 s of waiting would do it, and it is all of the tail."""
    slow = Histogram(
        phase="write", host="local", subject="client:0", operation="write",
        upper_ns=array("q", [1_000_000, 51_000_000]), count=array("q", [980, 20]),
    )  # fmt: skip
    seen = Observations(histograms=(slow,))
    tail, middle = case("latency_p99_ns", 51e6, seen), case("latency_p50_ns", 1e6, seen)
    assert noise.effect(tail, 0.05).bound.low == pytest.approx(1e6)
    assert noise.effect(middle, 0.001).share < 0.05
    assert noise.effect(case("latency_p99_ns", 51e6), 0.1).bound is None, "without a histogram nothing bounds it"


@given(st.lists(st.integers(1, 50), min_size=1, max_size=30), st.floats(0, 1), st.floats(0, 500))
def test_no_way_to_take_the_time_off_makes_a_percentile_lower(latencies, share, taken):
    buckets = sorted((value, latencies.count(value)) for value in set(latencies))
    low = latency.lowered(buckets, share, taken)
    ordered = sorted(latencies)
    rank = max(1, -int(-share * len(ordered) // 1))
    spent = sum(max(0.0, value - low) for value in ordered[:rank])
    assert low <= latency.percentile(buckets, share)
    assert spent <= taken + 1e-6
    assert low == 0 or spent == pytest.approx(taken, abs=1e-6)


def noise_finding(low, high):
    return Finding(
        subject="", phase=None, rule="N02", name="", state=State.FAIL, severity=Severity.QUALIFIES, part="noise",
        statement="", bound=Bound(low=low, high=high, unit="/s"),
    )  # fmt: skip


def test_disturbances_multiply():
    assert common_bound([noise_finding(100.0, 125.0), noise_finding(100.0, 110.0)]).high == pytest.approx(137.5)
    assert common_bound([noise_finding(100.0, 125.0)]).high == 125.0


def test_disturbances_together_make_no_operation_faster_than_the_fastest():
    kept = Histogram(
        phase="write", host="local", subject="client:0", operation="write",
        upper_ns=array("q", [44_000]), count=array("q", [1000]),
    )  # fmt: skip
    tail = case("latency_p99_ns", 450_000.0, Observations(histograms=(kept,)))
    both = [noise_finding(44_000.0, 450_000.0), noise_finding(50_000.0, 450_000.0)]
    assert common_bound(both, tail.value, judge.possible_range(tail)).low == 44_000.0
    assert common_bound(both, tail.value).low < 5_000


def test_what_noise_took_of_a_figure_that_was_proved_false_bounds_nothing():
    """A boast of 100/s from a tool that did 2/s at most: lost time is no reason for more than 100/s."""

    def finding(rule, low, high, part):
        return Finding(
            subject="", phase=None, rule=rule, name="", state=State.FAIL, severity=Severity.INVALIDATES, part=part,
            statement="", bound=Bound(low=low, high=high, unit="/s"),
        )  # fmt: skip

    false, noisy = finding("E05", None, 2.0, "figure"), finding("N02", 100.0, 1e6, "noise")
    assert common_bound([false, noisy]).high == 2.0
    assert common_bound([finding("E05", 90.0, 200.0, "figure"), noisy]) == Bound(low=100.0, high=200.0, unit="/s")
