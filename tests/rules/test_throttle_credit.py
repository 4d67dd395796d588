"""W11: a disk of 2,000 writes a second: how many it was given, in which time."""

from dataclasses import replace

import pytest

from assay.records import Claim, Direction, Limit, Reading, Rung, Severity, Span, State, Tier
from assay.rules.throttle_credit import RULE
from audit.case_builder import SECOND, Made, case_of

SLOW = Limit(device="loop0", direction=Direction.WRITE, ops_per_s=2000, declared_by="d.limit")


def passed(operations, *, size=0, span=Span.CLOCK, device="loop0", direction=Direction.WRITE):
    return Reading(
        rung=Rung.UPPER_DEVICE,
        subject=f"device:{device}",
        phase="p",
        span=span,
        direction=direction,
        bytes=size,
        operations=operations,
        from_ns=-SECOND // 20,
        to_ns=SECOND // 20,
        source="block",
        host="local",
    )


def judged(*readings, seconds=0.5, limit=SLOW, figure="ops_per_s"):
    made = Made(
        operation="random_write", count=1000, seconds=seconds, claim=Claim(tier=Tier.DEVICE), limits=(limit,), figure=figure
    )
    case = case_of(made, "W11")
    return RULE.check(replace(case, observations=replace(case.observations, readings=readings)))


@pytest.mark.parametrize(("share", "state"), [(0.2, State.PASS), (1.09, State.PASS), (1.11, State.FAIL), (9.0, State.FAIL)])
@pytest.mark.parametrize("seconds", [0.006, 0.5, 3.0])
def test_a_tenth_of_credit_is_the_edge_however_long_it_took(share, state, seconds):
    slow = Limit(device="loop0", direction=Direction.WRITE, ops_per_s=2_000_000, declared_by="d.limit")
    assert judged(passed(round(share * 2_000_000 * seconds)), seconds=seconds, limit=slow).state is state


def test_the_rate_is_bounded_by_what_it_would_have_been_without_credit():
    finding = judged(passed(3000))
    assert finding.severity is Severity.QUALIFIES
    assert (finding.bound.low, finding.bound.high) == (pytest.approx(2000 / 3), pytest.approx(2000))
    assert "burst credit" in finding.statement


def test_a_latency_has_no_bound():
    assert judged(passed(3000), figure="latency_p50_ns").bound is None


def test_bytes_are_held_against_a_limit_of_bytes():
    slow = Limit(device="loop0", direction=Direction.WRITE, bytes_per_s=10**6, declared_by="d.limit")
    assert judged(passed(1, size=600_000), limit=slow).state is State.FAIL
    assert judged(passed(1, size=500_000), limit=slow).state is State.PASS


@pytest.mark.parametrize(
    "other", [{"span": Span.DRAIN}, {"device": "vda"}, {"direction": Direction.READ}], ids=["after the clock", "another", "reads"]
)
def test_only_what_the_limit_is_of_counts(other):
    assert judged(passed(100), passed(3000, **other)).state is State.PASS


def test_nobody_watched():
    assert judged().state is State.UNVERIFIED


def test_no_throttle_is_not_its_business():
    assert "no disk" in RULE.applies(case_of(Made(), "W11"))
