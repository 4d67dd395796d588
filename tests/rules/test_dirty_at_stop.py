"""D01: 128 MiB written in 0.108 s without a flush, then the same with the drain timed, then with fsync."""

from dataclasses import replace

import pytest

from assay.records import Claim, Durability, Fact, FactClass, Severity, State, Tier, When
from assay.rules.dirty_at_stop import RULE
from audit.case_builder import MIB, Made, Seen, but, case_of

STABLE = Claim(durability=Durability.STABLE_MEDIA)
UNSYNCED = Made(operation="write", count=128, seconds=0.108, claim=STABLE, seen=Seen(dirty_bytes=128 * MIB))


def judged(made):
    return RULE.check(case_of(made, "D01"))


def test_unsynced_write_without_a_drain_is_invalid():
    finding = judged(UNSYNCED)
    assert (finding.state, finding.severity) == (State.FAIL, Severity.INVALIDATES)
    assert finding.relabel == "write into memory: dirty when the clock stopped, and no drain timed"
    assert finding.detail == "100 % dirty"
    assert finding.bound.low == pytest.approx(0)


def test_charged_drain_makes_it_a_note_with_the_durable_bound():
    finding = judged(but(UNSYNCED, drain_s=1.2))
    assert (finding.state, finding.severity) == (State.FAIL, Severity.NOTES)
    assert finding.bound.high == pytest.approx(128 * MIB / 1.308)
    assert "drain of 1.20 s is charged" in finding.statement


def test_device_claim_needs_it_too():
    made = but(UNSYNCED, claim=Claim(tier=Tier.DEVICE))
    assert judged(made).severity is Severity.INVALIDATES


def test_no_claim_makes_it_a_note_that_says_memory():
    finding = judged(but(UNSYNCED, claim=Claim()))
    assert finding.severity is Severity.NOTES
    assert "into memory" in finding.relabel


def test_synced_write_passes():
    assert judged(but(UNSYNCED, dirty_bytes=0, drain_s=0.001)).state is State.PASS


def test_dirty_image_below_a_loop_device_counts():
    assert judged(but(UNSYNCED, dirty_bytes=0, backing_dirty_bytes=64 * MIB)).state is State.FAIL


def test_drain_stands_in_where_no_pages_were_watched():
    assert judged(but(UNSYNCED, dirty_bytes=None, drain_s=0.5)).state is State.PASS
    assert judged(but(UNSYNCED, dirty_bytes=None)).state is State.UNVERIFIED


def test_applies_to_what_writes():
    assert RULE.applies(case_of(Made(), "D01")) == "not a write"
    assert RULE.applies(case_of(Made(operation="create"), "D01"))
    assert RULE.applies(case_of(Made(operation="create", claim=STABLE), "D01")) is None


def test_a_file_that_was_made_within_the_clock_had_nothing_dirty_before_it():
    case = case_of(UNSYNCED, "D01")
    late = tuple(replace(series, at_ns=series.at_ns[1:], value=series.value[1:]) for series in case.observations.series)
    finding = RULE.check(replace(case, observations=replace(case.observations, series=late)))
    assert (finding.state, finding.observed["dirty_bytes"]) == (State.FAIL, 128 * MIB)


def test_of_very_many_files_each_one_looked_at_stands_for_some():
    """256 of 1,280 files were looked at, and all that had been written to them was dirty."""
    case = case_of(but(UNSYNCED, dirty_bytes=128 * MIB // 5), "D01")
    key, value = "page_cache.sample.p", "256 of 1280, evenly spaced by name"
    sampled = Fact(host="local", when=When.BEFORE, key=key, value=value, fact_class=FactClass.NOISE)
    seen = replace(case.observations, facts=(*case.observations.facts, sampled))
    assert RULE.check(replace(case, observations=seen)).observed["dirty_share"] == pytest.approx(1, rel=1e-6)
    assert RULE.check(case).observed["dirty_share"] == pytest.approx(0.2, rel=1e-6)
