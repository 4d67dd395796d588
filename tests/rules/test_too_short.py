"""W01: three seconds, half a minute, a minute and a half."""

from assay.records import Claim, Regime, Severity, State
from assay.rules.too_short import RULE
from audit.case_builder import Made, case_of


def judged(seconds, count=20_000, figure="ops_per_s"):
    made = Made(seconds=seconds, count=count, record_bytes=4096, figure=figure, claim=Claim(regime=Regime.STEADY))
    return RULE.check(case_of(made, "W01"))


def test_three_seconds_are_invalid_and_half_a_minute_qualifies():
    assert judged(3).severity is Severity.INVALIDATES
    assert (judged(30).state, judged(30).severity) == (State.FAIL, Severity.QUALIFIES)


def test_a_minute_and_a_half_passes():
    assert judged(90).state is State.PASS


def test_percentile_needs_a_hundred_beyond_it():
    assert judged(90, count=9_000, figure="latency_p99_ns").state is State.FAIL
    assert judged(90, count=10_100, figure="latency_p99_ns").state is State.PASS


def test_nothing_done_is_unverified():
    assert judged(90, count=0).state is State.UNVERIFIED
