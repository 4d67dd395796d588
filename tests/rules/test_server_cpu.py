"""L02: all processors busy, one thread busy, neither."""

import pytest

from assay.records import Claim, Severity, State, Tier
from assay.rules.server_cpu import RULE
from audit.case_builder import SECOND, Made, case_of
from server_cases import served

DEVICE = Claim(tier=Tier.DEVICE)


def judged(ran, busiest, cpus=4, seconds=1.0, **made):
    gauges = {"run_ns": (0, ran * SECOND), "busiest_thread_ns": (0, busiest * SECOND), "cpus": (cpus, cpus)}
    return RULE.check(served("L02", gauges=gauges, seconds=seconds, **{"claim": DEVICE, **made}))


def test_all_processors_busy_qualify_a_claim_of_the_device():
    found = judged(3.8, 0.94)
    assert (found.state, found.severity) == (State.FAIL, Severity.QUALIFIES)
    assert found.relabel == "limited by the CPUs of the server"
    assert found.bound.low is not None
    assert found.bound.high is None


def test_one_busy_thread_is_enough():
    found = judged(1.0, 0.99)
    assert found.relabel == "limited by one thread of the server"


def test_a_latency_is_bounded_from_above():
    found = judged(1.0, 0.99, figure="latency_mean_ns")
    assert (found.bound.low, found.bound.high is not None) == (None, True)


def test_idle_processors_pass():
    assert judged(2.0, 0.5).state is State.PASS


def test_without_a_claim_of_the_device_it_is_a_note_without_a_bound():
    found = judged(3.8, 0.99, claim=Claim())
    assert (found.severity, found.bound) == (Severity.NOTES, None)


@pytest.mark.parametrize("seconds", [0.1])
def test_short_phases_are_unverified(seconds):
    assert judged(0.05, 0.05, seconds=seconds).state is State.UNVERIFIED


def test_unread_accounts_are_unverified():
    assert RULE.check(served("L02", claim=DEVICE)).state is State.UNVERIFIED
    assert RULE.applies(case_of(Made(), "L02")) == "the target names no server"
