"""T03: two O_DIRECT passes over a file on a loop device, direct I/O below it off and on."""

import pytest

from assay.records import Claim, Severity, State, Tier
from assay.rules.double_cache import RULE
from audit.case_builder import MIB, Made, Seen, but, case_of
from traced_cases import traced

LOOP = ("loop1", "vda")


def judged(operation="read", claim=Claim(tier=Tier.DEVICE), **seen):  # noqa: B008 - frozen
    made = Made(operation=operation, seconds=0.148, claim=claim, devices=LOOP, seen=Seen(**seen))
    return RULE.check(case_of(made, "T03"))


def test_cached_image_fails_though_everything_above_says_device():
    finding = judged(storage_bytes=256 * MIB, upper_bytes=256 * MIB, lower_bytes=400_000, dio="0")
    assert (finding.state, finding.severity) == (State.FAIL, Severity.INVALIDATES)
    assert finding.observed["ratio"] == pytest.approx(671, rel=0.01)
    assert finding.relabel == "read: memory below loop1"
    assert finding.detail == "share of vda 0.15 %, at most 2.70 MB/s"


def test_direct_loop_device_passes():
    assert judged(upper_bytes=256 * MIB, lower_bytes=256 * MIB, dio="1").state is State.PASS


def test_filling_the_cache_qualifies():
    finding = judged(upper_bytes=256 * MIB, lower_bytes=256 * MIB, dio="0")
    assert (finding.state, finding.severity) == (State.FAIL, Severity.QUALIFIES)
    growth = judged(upper_bytes=256 * MIB, lower_bytes=256 * MIB, backing_cached_bytes=(0, 256 * MIB))
    assert growth.severity is Severity.QUALIFIES


def test_traffic_of_others_leaves_it_unverified_unless_the_stack_is_known_to_be_direct():
    busy = {"upper_bytes": 256 * MIB, "lower_bytes": 256 * MIB, "before_bytes": 1000 * MIB}
    assert judged(**busy).state is State.UNVERIFIED
    assert judged(**busy, dio="1").state is State.PASS
    assert judged(upper_bytes=256 * MIB, lower_bytes=MIB, before_bytes=1000 * MIB).state is State.FAIL


def test_as_is_claim_makes_it_a_note():
    assert judged(claim=Claim(), upper_bytes=256 * MIB, lower_bytes=0).severity is Severity.NOTES


def test_hardly_read_upper_device_passes():
    assert judged(upper_bytes=65536, lower_bytes=0).state is State.PASS


def test_writes_pass_directly_or_by_the_flushes_that_follow():
    assert judged("write").state is State.PASS
    assert judged("write", dio="1").state is State.PASS
    assert judged("write", dio="0", upper_bytes=256 * MIB, lower_bytes=0, drain_bytes=0).severity is Severity.QUALIFIES
    assert judged("write", dio="0", upper_bytes=256 * MIB, lower_bytes=256 * MIB).state is State.PASS


def test_unknown_bytes_are_unverified():
    assert judged(upper_bytes=256 * MIB).state is State.UNVERIFIED


def test_does_not_apply_to_a_single_device():
    assert "no device below the file system's device" in RULE.applies(case_of(Made(), "T03"))
    assert RULE.applies(case_of(Made(operation="stat", devices=LOOP), "T03")) == "neither a read nor a write of data"


def test_pages_of_the_image_that_came_and_went_are_counted_by_tracepoints():
    clean = Made(
        claim=Claim(tier=Tier.DEVICE),
        devices=("loop0", "vda"),
        seen=Seen(upper_bytes=256 * MIB, lower_bytes=256 * MIB, backing_cached_bytes=(0, 0)),
    )
    assert RULE.check(case_of(clean, "T03")).state is State.PASS
    came = RULE.check(traced(case_of(clean, "T03"), {("added_bytes", "backing:/i"): 256 * MIB}))
    none = RULE.check(traced(case_of(clean, "T03"), {("added_bytes", "backing:/i"): 0}))
    assert (came.state, none.state) == (
        RULE.check(case_of(but(clean, backing_cached_bytes=(0, 256 * MIB)), "T03")).state,
        State.PASS,
    )
