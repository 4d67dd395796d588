"""E05: bytes that vanish on the way down, operations that failed."""

from assay.records import Severity, State
from assay.rules.contradiction import RULE
from audit.case_builder import MIB, Made, Seen, but, case_of


def judged(made):
    return RULE.check(case_of(made, "E05"))


READ = Made(seen=Seen(storage_bytes=256 * MIB, lower_bytes=256 * MIB))
WRITE = Made(operation="write", drain_s=0.5, seen=Seen(lower_bytes=200 * MIB, drain_bytes=60 * MIB))


def test_agreement_passes():
    assert judged(READ).state is State.PASS
    assert judged(WRITE).state is State.PASS


def test_more_below_than_asked_is_other_peoples_traffic():
    assert judged(but(READ, lower_bytes=900 * MIB)).state is State.PASS


def test_less_at_the_device_than_storage_was_made_to_read():
    finding = judged(but(READ, lower_bytes=100 * MIB))
    assert (finding.state, finding.severity) == (State.FAIL, Severity.INVALIDATES)
    assert finding.statement == "The process made storage read 268 MB, but vda delivered 105 MB."


def test_noise_of_the_quiet_window_widens_the_device_not_the_claim():
    assert judged(but(READ, lower_bytes=260 * MIB, before_bytes=200 * MIB)).state is State.PASS


def test_direct_reads_that_storage_never_saw():
    made = but(READ, storage_bytes=0, lower_bytes=0, knobs={"direct": True})
    assert "Direct reads" in judged(made).statement
    assert judged(but(made, hole_bytes=256 * MIB)).state is State.PASS


def test_writes_that_never_arrived():
    assert "took only" in judged(but(WRITE, lower_bytes=10 * MIB, drain_bytes=0)).statement
    assert judged(but(WRITE, lower_bytes=10 * MIB, drain_bytes=0, encoded_bytes=MIB, hole_bytes=0)).state is State.PASS


def test_random_overwrites_may_meet_in_memory():
    made = but(WRITE, operation="random_write", lower_bytes=10 * MIB, drain_bytes=0)
    assert judged(made).state is State.PASS
    assert judged(but(made, knobs={"flush": "each"})).state is State.FAIL


def test_untimed_operations():
    assert "were timed" in judged(but(READ, timed=200)).statement


def test_failed_operations():
    assert judged(but(READ, count=10_000, record_bytes=0, errors=5)).state is State.PASS
    assert judged(but(READ, count=10_000, record_bytes=0, errors=50)).severity is Severity.QUALIFIES
    assert judged(but(READ, count=10_000, record_bytes=0, errors=500)).severity is Severity.INVALIDATES


TOLD = but(READ, values={"read.bytes": 256.0 * MIB}, call_bytes=256 * MIB)


def test_a_command_that_says_more_than_its_calls_and_its_storage_moved():
    finding = judged(but(TOLD, call_bytes=128 * MIB, storage_bytes=64 * MIB))
    assert (finding.state, finding.severity) == (State.FAIL, Severity.INVALIDATES)
    assert finding.statement == ("The command says it moved 268 MB, its system calls and its storage moved no more than 134 MB.")


def test_a_command_whose_calls_or_storage_bear_it_out():
    assert judged(TOLD).state is State.PASS
    assert judged(but(TOLD, call_bytes=128 * MIB)).state is State.PASS
    assert judged(but(TOLD, storage_bytes=0, lower_bytes=0)).state is State.PASS


def test_calls_that_nobody_counts_contradict_nothing():
    assert judged(but(TOLD, call_bytes=MIB, storage_bytes=0)).state is State.PASS
    assert judged(but(TOLD, call_bytes=None, storage_bytes=0)).state is State.PASS
