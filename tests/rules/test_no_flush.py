"""D02: a stable-media claim with and without flushes at the lowest device."""

import pytest

from assay.records import Claim, Durability, State
from assay.rules.no_flush import RULE
from audit.case_builder import MIB, Made, Seen, but, case_of
from traced_cases import traced

SYNCED = Made(
    operation="write",
    devices=("loop0", "vda"),
    claim=Claim(durability=Durability.STABLE_MEDIA),
    seen=Seen(flushes=1, drain_flushes=1, lower_bytes=256 * MIB),
)


def judged(made):
    return RULE.check(case_of(made, "D02"))


def test_flushes_pass():
    finding = judged(SYNCED)
    assert finding.state is State.PASS
    assert finding.statement == "2 flushes were completed by vda, 2 through loop0 above it."


def test_flush_in_the_drain_is_enough():
    assert judged(but(SYNCED, flushes=0)).state is State.PASS


def test_no_flush_fails():
    finding = judged(but(SYNCED, flushes=0, drain_flushes=0))
    assert finding.state is State.FAIL
    assert "volatile cache" in finding.statement


def test_flushes_of_others_hide_a_few_of_ours_but_not_many():
    busy = but(SYNCED, before_flushes=10, devices=("vda",))
    assert judged(busy).state is State.UNVERIFIED
    assert judged(but(busy, flushes=500)).state is State.PASS


def test_one_flush_of_many_is_in_the_singular():
    finding = judged(but(SYNCED, before_flushes=10, drain_flushes=0, devices=("vda",)))
    assert finding.statement.startswith("vda completed 1 flush; ")


def test_device_of_our_own_above_a_busy_one_tells_ours():
    finding = judged(but(SYNCED, before_flushes=10))
    assert finding.state is State.PASS
    assert "loop0 only the load's" in finding.statement


def test_write_through_needs_none():
    assert judged(but(SYNCED, flushes=0, drain_flushes=0, write_cache="write through")).state is State.PASS


def test_uncounted_flushes_are_unverified():
    assert judged(but(SYNCED, flushes=None)).state is State.UNVERIFIED


def test_reads_are_not_its_business():
    assert RULE.applies(case_of(Made(), "D02")) == "not a write"


@pytest.mark.parametrize("operation", ["stat", "list", "open", "readdir", "readdir_plus", "walk"])
def test_looking_at_metadata_writes_nothing(operation):
    assert RULE.applies(case_of(Made(operation=operation, record_bytes=0), "D02")) == "not a write"
    assert RULE.applies(case_of(Made(operation="create", record_bytes=0), "D02")) is None


def test_flushes_that_the_load_sent_itself_need_not_stand_out():
    busy = case_of(but(SYNCED, before_flushes=10, devices=("vda",)), "D02")
    finding = RULE.check(traced(busy, {("own_flushes", "device:vda"): 3}))
    assert finding.state is State.PASS
    assert "own processes sent 3 flushes" in finding.statement
    assert RULE.check(traced(busy, {("own_flushes", "device:vda"): 0})).state is State.UNVERIFIED
    assert RULE.check(traced(busy, {("own_flushes", "device:vda"): 3}, lost=1)).state is State.UNVERIFIED


def test_a_write_past_the_cache_is_as_good_as_a_flush():
    none = case_of(but(SYNCED, flushes=0, drain_flushes=0, devices=("vda",)), "D02")
    assert RULE.check(none).state is State.FAIL
    assert RULE.check(traced(none, {("own_flushes", "device:vda"): 100})).state is State.PASS


def test_what_the_loop_devices_own_thread_flushed_is_not_the_loads():
    stacked = case_of(but(SYNCED, flushes=0, drain_flushes=0), "D02")
    assert RULE.check(traced(stacked, {("own_flushes", "device:vda"): 9})).state is State.FAIL
