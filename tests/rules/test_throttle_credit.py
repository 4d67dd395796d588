"""W11: a disk of 2,000 writes a second: how many it was given, in which time."""

from dataclasses import replace

from assay.records import Claim, Direction, Limit, Reading, Rung, Span, State, Tier
from assay.rules.throttle_credit import RULE
from audit.case_builder import SECOND, Made, case_of
from stage.rows import each
from stage.said import NOT_ASKED, QUALIFIES, UNBOUNDED, UNVERIFIED, high, hold, low

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


@each("share state", (0.2, State.PASS), (1.09, State.PASS), (1.11, State.FAIL), (9.0, State.FAIL))
@each("seconds", 0.006, 0.5, 3.0)
def test_a_tenth_of_credit_is_the_edge_however_long_it_took(share, state, seconds):
    slow = Limit(device="loop0", direction=Direction.WRITE, ops_per_s=2_000_000, declared_by="d.limit")
    assert judged(passed(round(share * 2_000_000 * seconds)), seconds=seconds, limit=slow).state is state


def test_bytes_are_held_against_a_limit_of_bytes():
    slow = Limit(device="loop0", direction=Direction.WRITE, bytes_per_s=10**6, declared_by="d.limit")
    assert judged(passed(1, size=600_000), limit=slow).state is State.FAIL
    assert judged(passed(1, size=500_000), limit=slow).state is State.PASS


@each("other", {"span": Span.DRAIN}, {"device": "vda"}, {"direction": Direction.READ})
def test_only_what_the_limit_is_of_counts(other):
    assert judged(passed(100), passed(3000, **other)).state is State.PASS


def test_states():
    hold(
        "the rate is bounded by what it would have been without credit",
        (judged(passed(3000)), QUALIFIES, low(2000 / 3), high(2000), "burst credit"),
        ("a latency has no bound", judged(passed(3000), figure="latency_p50_ns"), UNBOUNDED),
        ("nobody watched", judged(), UNVERIFIED),
        ("no throttle is not its business", RULE.applies(case_of(Made(), "W11")), NOT_ASKED),
    )
