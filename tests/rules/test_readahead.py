"""T08: 256 MiB of random reads, and what Bytes read from storage unknown for them."""

from dataclasses import replace

import pytest

from assay.records import Claim, Fact, FactClass, Regime, Severity, State, Tier, When
from assay.rules.readahead import RULE
from audit.case_builder import MIB, Made, Seen, but, case_of
from traced_cases import traced

PLAIN = Made(operation="random_read", seen=Seen(storage_bytes=256 * MIB))
AHEAD = but(PLAIN, storage_bytes=8 * 256 * MIB)


def judged(made):
    return RULE.check(case_of(made, "T08"))


def test_what_was_asked_and_no_more_passes():
    assert judged(PLAIN).state is State.PASS
    assert judged(but(PLAIN, storage_bytes=300 * MIB)).state is State.PASS


def test_hits_in_memory_are_no_reading_ahead():
    assert judged(but(PLAIN, storage_bytes=0)).state is State.PASS


@pytest.mark.parametrize("claim", [Claim(), Claim(tier=Tier.DEVICE, regime=Regime.COLD)])
def test_more_than_was_asked_is_a_note_under_every_claim(claim):
    finding = judged(but(AHEAD, claim=claim))
    assert (finding.state, finding.severity, finding.bound) == (State.FAIL, Severity.NOTES, None)
    assert finding.detail == "8.0 bytes per byte requested"


def test_the_read_ahead_of_the_devices_is_told():
    case = case_of(AHEAD, "T08")
    fact = Fact(host="local", when=When.BEFORE, key="device.0.bdi.read_ahead_kb", value="8192", fact_class=FactClass.PERFORMANCE)
    case = replace(case, observations=replace(case.observations, facts=(*case.observations.facts, fact)))
    assert "8192 KiB" in RULE.check(case).statement


def test_what_came_into_memory_stands_in_for_the_counter():
    assert judged(but(AHEAD, storage_bytes=None, cached_bytes=(0, 2048 * MIB))).state is State.FAIL
    assert judged(but(AHEAD, storage_bytes=None, cached_bytes=(128 * MIB, 256 * MIB))).state is State.PASS


def test_missing_evidence_is_said():
    assert "Bytes read from storage unknown" in judged(but(PLAIN, storage_bytes=None)).statement
    assert "Requested bytes unknown" in judged(but(PLAIN, count=0)).statement
    assert judged(but(PLAIN, record_bytes=512)).state is State.UNVERIFIED


@pytest.mark.parametrize(
    ("made", "why"),
    [
        (Made(), "not a random read: read-ahead is intended"),
        (Made(operation="random_write"), "not a read"),
        (but(PLAIN, knobs={"direct": True}), "direct reads have no read-ahead"),
        (PLAIN, None),
    ],
)
def test_it_is_asked_of_buffered_random_reads_only(made, why):
    assert RULE.applies(case_of(made, "T08")) == why


def test_pages_of_the_files_themselves_outrank_what_the_process_read_beside_them():
    case = case_of(AHEAD, "T08")
    assert RULE.check(traced(case, {("added_bytes", "path:/f"): 256 * MIB})).state is State.PASS
    finding = RULE.check(traced(case_of(PLAIN, "T08"), {("added_bytes", "path:/f"): 512 * MIB}))
    assert (finding.state, finding.observed["ratio"]) == (State.FAIL, 2)
