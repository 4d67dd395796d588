"""T01: the same 256 MiB read cold, warm, half, and under claims that want the cache."""

from dataclasses import replace

import pytest

from assay.records import Claim, Regime, Severity, State, Tier
from assay.rules.client_page_cache import RULE
from audit.case_builder import MIB, Made, Seen, case_of
from traced_cases import traced

DEVICE = Claim(tier=Tier.DEVICE)


def judged(claim=DEVICE, **seen):
    made = Made(seconds=0.0655, claim=claim, seen=Seen(**seen))
    return RULE.check(case_of(made, "T01"))


def test_cold_read_passes():
    assert judged(storage_bytes=256 * MIB).state is State.PASS


def test_readahead_beyond_what_was_asked_is_no_hit():
    assert judged(storage_bytes=300 * MIB).state is State.PASS


@pytest.mark.parametrize(
    ("claim", "storage_mib", "resident", "state"),
    [
        (DEVICE, 1024, 0.3, State.UNVERIFIED),
        (Claim(regime=Regime.COLD), 1024, 0.3, State.UNVERIFIED),
        (DEVICE, 1024, 0.0, State.PASS),
        (DEVICE, 256, 0.3, State.PASS),
        (Claim(), 1024, 0.3, State.PASS),
    ],
)
def test_hits_may_hide_behind_whole_pages_where_some_was_resident(claim, storage_mib, resident, state):
    made = Made(seconds=0.0655, claim=claim, resident_share=resident, seen=Seen(storage_bytes=storage_mib * MIB))
    assert RULE.check(case_of(made, "T01")).state is state


def test_warm_read_is_relabelled_and_bounded():
    finding = judged(storage_bytes=round(256 * MIB * 0.02))
    assert (finding.state, finding.severity) == (State.FAIL, Severity.INVALIDATES)
    assert finding.relabel == "warm read: page-cache bandwidth"
    assert finding.detail == "device share 2 %; device rate at most 82.0 MB/s"
    assert finding.bound.high == pytest.approx(0.02 * 256 * MIB / 0.0655, rel=1e-3)


def test_nothing_from_the_device_is_said_so():
    assert judged(storage_bytes=0).detail == "nothing came from the device"


def test_as_is_claim_makes_a_warm_read_a_note():
    assert judged(claim=Claim(), storage_bytes=0).severity is Severity.NOTES


def test_cold_regime_is_refuted_by_hits():
    finding = judged(claim=Claim(regime=Regime.COLD), storage_bytes=0)
    assert (finding.severity, finding.part) == (Severity.INVALIDATES, "regime")


@pytest.mark.parametrize("claim", [Claim(tier=Tier.CLIENT_CACHE), Claim(regime=Regime.WARM)])
def test_cache_claim_wants_no_storage(claim):
    assert judged(claim=claim, storage_bytes=0).state is State.PASS
    assert judged(claim=claim, storage_bytes=64 * MIB).severity is Severity.QUALIFIES
    assert judged(claim=claim, storage_bytes=256 * MIB).severity is Severity.INVALIDATES


def test_device_stands_in_where_the_process_was_not_watched():
    assert judged(lower_bytes=256 * MIB).state is State.PASS
    assert judged(lower_bytes=0).state is State.FAIL


def test_busy_device_cannot_stand_in():
    assert judged(lower_bytes=256 * MIB, before_bytes=500 * MIB).state is State.UNVERIFIED


@pytest.mark.parametrize(
    ("regime", "resident", "state"),
    [
        (Regime.COLD, 0.0, State.PASS),
        (Regime.COLD, 0.5, State.FAIL),
        (Regime.WARM, 1.0, State.PASS),
        (Regime.WARM, 0.5, State.FAIL),
    ],
)
def test_pages_before_the_clock_decide_a_regime_where_nobody_counted_reads(regime, resident, state):
    made = Made(claim=Claim(regime=regime), resident_share=resident)
    assert RULE.check(case_of(made, "T01")).state is state
    device = Made(claim=Claim(tier=Tier.DEVICE, regime=regime), resident_share=resident)
    assert RULE.check(case_of(device, "T01")).state is State.UNVERIFIED


def test_nothing_seen_is_unverified():
    assert judged().state is State.UNVERIFIED


def test_writes_are_not_its_business():
    assert RULE.applies(case_of(Made(operation="write"), "T01")) == "not a read"


@pytest.mark.parametrize(("calls", "state"), [(4096, State.UNVERIFIED), (64 * MIB, State.FAIL)])
def test_a_command_that_read_its_own_libraries_alone_is_not_accused(calls, state):
    made = Made(values={"read.elapsed_ns": 5e9}, seen=Seen(call_bytes=calls, storage_bytes=0))
    assert RULE.check(case_of(made, "T01")).state is state


def test_a_command_that_tells_its_few_bytes_is_held_to_them():
    made = Made(values={"read.bytes": 1.0 * MIB}, seen=Seen(call_bytes=MIB, storage_bytes=0))
    assert RULE.check(case_of(made, "T01")).state is State.FAIL


def test_a_read_mostly_from_storage_is_called_a_mixture():
    finding = judged(claim=Claim(), storage_bytes=round(256 * MIB * 0.926))
    assert (finding.state, finding.severity) == (State.FAIL, Severity.NOTES)
    assert finding.relabel == "read: a mixture of memory and storage"
    assert finding.detail.startswith("7.4 % memory and 92.6 % storage; device rate at most")


def test_direct_reads_are_not_called_reads_of_the_page_cache():
    finding = RULE.check(case_of(Made(claim=DEVICE, knobs={"direct": True}, seen=Seen(storage_bytes=0)), "T01"))
    assert finding.state is State.FAIL
    assert "page-cache" not in finding.relabel
    assert finding.statement.startswith("Direct reads bypass the client's page cache, yet storage read")


@pytest.mark.parametrize(("resident", "state"), [(0.0, State.PASS), (0.6, State.FAIL)])
def test_a_cold_read_of_data_that_are_stored_compressed_is_judged_by_what_was_in_memory(resident, state):
    seen = Seen(storage_bytes=90 * MIB, hole_bytes=0, encoded_bytes=256 * MIB)
    made = Made(seconds=0.0655, claim=Claim(regime=Regime.COLD), resident_share=resident, seen=seen)
    assert RULE.check(case_of(made, "T01")).state is state


@pytest.mark.parametrize(
    ("calls", "storage", "knobs", "state"),
    [
        (67 * MIB, 64 * MIB, {}, State.PASS),
        (80 * MIB, 64 * MIB, {}, State.FAIL),
        (5 * MIB, 1 * MIB, {}, State.FAIL),
        (67 * MIB, 64 * MIB, {"calls": "uncounted"}, State.UNVERIFIED),
    ],
)
def test_libraries_are_no_hits_and_what_nobody_counts_is_unknown(calls, storage, knobs, state):
    seen = Seen(call_bytes=calls, storage_bytes=storage)
    made = Made(claim=Claim(tier=Tier.DEVICE), values={"read.bytes_per_s": 1e9}, seen=seen, knobs=knobs)
    assert RULE.check(case_of(made, "T01")).state is state


def brought(mib, lost=0, **more):
    made = Made(seconds=0.0655, claim=DEVICE, **more)
    return RULE.check(traced(case_of(made, "T01"), {("added_bytes", "filesystem:/t"): mib * MIB}, lost))


def test_pages_that_never_came_into_memory_were_not_read_whatever_the_process_read_beside_them():
    libraries = Seen(storage_bytes=256 * MIB)
    assert brought(256, seen=libraries).state is State.PASS
    finding = brought(16, seen=libraries)
    assert (finding.state, finding.observed["hit_share"]) == (State.FAIL, pytest.approx(240 / 256))
    assert brought(16, lost=1, seen=libraries).state is State.PASS, "counts of which some were lost say nothing"


def test_pages_stand_in_where_nobody_counted_the_process():
    assert brought(256).state is State.PASS
    assert brought(0).state is State.FAIL


def test_direct_reads_bring_no_pages_and_of_a_external_program_it_is_not_known():
    read = Seen(storage_bytes=256 * MIB)
    assert brought(0, seen=read, knobs={"direct": True}).state is State.PASS
    assert brought(0, seen=read, values={"read.bytes": 256.0 * MIB}).state is State.PASS


@pytest.mark.parametrize(("filesystem", "advice"), [("ext4", "Drop the file's pages"), ("tmpfs", "Use a directory on a disk")])
def test_files_that_are_in_memory_alone_are_not_to_be_dropped(filesystem, advice):
    case = case_of(Made(seconds=0.0655, claim=DEVICE, seen=Seen(storage_bytes=0)), "T01")
    places = tuple(replace(place, filesystem=filesystem) for place in case.run.places)
    assert RULE.check(replace(case, run=replace(case.run, places=places))).advice.startswith(advice)
