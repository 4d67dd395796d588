"""G03: enough operations and too few, what is certain of the few, percentiles of several programs."""

import random

from hypothesis import given
from hypothesis import strategies as st

from assay.records import Claim, Regime, Severity, State, Tier
from assay.rules.percentile_quality import RULE, highest_rank, least
from audit.case_builder import Made, case_of
from stage.rows import each
from stage.said import ASKED, FAIL, NOT_ASKED, NOTES, PASS, QUALIFIES, UNBOUNDED, UNVERIFIED, hold

DEVICE = Claim(tier=Tier.DEVICE)


def case(count, *, figure="latency_p99_ns", claim=DEVICE, **made):
    latencies = tuple(range(1000, 1000 + count)) if not made.get("values") else ()
    return case_of(Made(count=count, record_bytes=4096, figure=figure, claim=claim, latencies_ns=latencies, **made), "G03")


@each(
    "figure needed",
    ("latency_p50_ns", 5),
    ("latency_p90_ns", 29),
    ("latency_p95_ns", 59),
    ("latency_p99_ns", 299),
    ("latency_p999_ns", 2995),
)
def test_so_many_are_needed_and_no_more(figure, needed):
    assert RULE.check(case(needed, figure=figure)).state is State.PASS
    found = RULE.check(case(needed - 1, figure=figure))
    assert (found.state, found.severity, found.threshold["operations"]) == (State.FAIL, Severity.QUALIFIES, needed)


def test_of_a_hundred_the_fourth_longest_bounds_the_p99_from_below():
    """P(binomial(100, 0.99) >= 98) is 0.921, >= 97 is 0.982."""
    found = RULE.check(case(100))
    assert (found.bound.low, found.bound.high) == (1096, None)
    assert (found.relabel, found.detail) == ("p99 of too few operations", "100 operations")
    assert "1.10 µs" in found.statement


@given(st.sampled_from([0.5, 0.9, 0.95, 0.99, 0.999]), st.integers(1, 3000))
def test_the_rank_is_sure_and_the_next_one_is_not(share, count):
    count = min(count, least(share, 0.95) - 1)
    rank = highest_rank(count, share, 0.95)
    assert rank is None or 1 <= rank <= count
    draw = random.Random(1)
    if rank is not None and count <= 30:
        below = [sum(draw.random() <= share for _ in range(count)) for _ in range(2000)]
        assert sum(one >= rank for one in below) / 2000 >= 0.93
        assert rank == count or sum(one >= rank + 1 for one in below) / 2000 <= 0.97


@each("figure", "latency_max_ns", "latency_mean_ns", "ops_per_s")
def test_other_figures_are_no_percentiles(figure):
    assert RULE.applies(case(9, figure=figure)) == "not a percentile"


TOLD = {"read.latency_p99_ns": 5e6, "read.count": 298.0}


def test_the_largest_of_several_programs_is_a_bound_from_above():
    found = RULE.check(case(1, values={**TOLD, "read.count": 1e6}, starts=(0.0, 0.0)))
    assert (found.state, found.severity) == (State.FAIL, Severity.QUALIFIES)
    assert (found.bound.low, found.bound.high) == (None, 5e6)
    assert (found.relabel, found.detail) == ("the largest p99 of several programs", "2 programs")


def test_states():
    hold(
        ("of two nothing is certain of a median", RULE.check(case(2, figure="latency_p50_ns")), FAIL, UNBOUNDED),
        "operations of all clients count together",
        (RULE.check(case(150, starts=(0.0, 0.0))), PASS),
        (RULE.check(case(149, starts=(0.0, 0.0))), FAIL),
        "a steady percentile is left to another rule",
        (RULE.applies(case(9, claim=Claim(regime=Regime.STEADY))), NOT_ASKED),
        (RULE.applies(case(9, claim=Claim(regime=Regime.BURST))), ASKED),
        "of what is called nobodys it is a note",
        (RULE.check(case(9, claim=Claim())), NOTES),
        (RULE.check(case(9, claim=Claim(regime=Regime.COLD))), QUALIFIES),
        ("nothing done is unverified", RULE.check(case(0, timed=0)), UNVERIFIED),
        "a external tool is judged by the number that it tells",
        (RULE.check(case(1, values=TOLD)), FAIL, UNBOUNDED),
        (RULE.check(case(1, values={**TOLD, "read.count": 299.0})), PASS),
        (RULE.check(case(1, values={"read.latency_p99_ns": 5e6})), UNVERIFIED),
    )
