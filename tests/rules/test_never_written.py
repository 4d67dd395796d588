"""D06: 256 MiB written, of which some were removed or overwritten in memory before any device took them."""

from dataclasses import replace

import pytest

from assay.records import Claim, Durability, Severity, State, Tier
from assay.rules.never_written import RULE
from audit.case_builder import MIB, Made, Seen, but, case_of, gauge
from stage.rows import each
from stage.said import PASS, UNVERIFIED, hold
from stage.traced_cases import traced

STABLE, DEVICE = Claim(durability=Durability.STABLE_MEDIA), Claim(tier=Tier.DEVICE)
WRITTEN = Made(
    operation="write", claim=STABLE, drain_s=0.1, seen=Seen(lower_bytes=200 * MIB, drain_bytes=57 * MIB, dirty_bytes=0)
)
OVERWRITTEN = but(WRITTEN, claim=DEVICE, operation="random_write", lower_bytes=8 * MIB, drain_bytes=24 * MIB)


def judged(made, gone_mib=0.0):
    """The finding where processes threw so much away; None = nobody counted that."""
    case = case_of(made, "D06")
    if gone_mib is not None:
        gone = gauge("process", "pid:100", "cancelled_write_bytes", (0.0, gone_mib * MIB), made.seconds)
        case = replace(case, observations=replace(case.observations, series=(*case.observations.series, gone)))
    return RULE.check(case)


@each("claim severity", (STABLE, Severity.INVALIDATES), (DEVICE, Severity.INVALIDATES), (Claim(), Severity.NOTES))
def test_what_was_removed_before_it_was_written_never_reached_a_device(claim, severity):
    made = but(WRITTEN, claim=claim)
    finding = judged(made, 192.0)
    assert (finding.state, finding.severity) == (State.FAIL, severity)
    assert "75 %" in finding.statement
    assert finding.bound.high == pytest.approx(case_of(made, "D06").value / 4)


def test_what_was_dirty_before_the_clock_and_removed_in_it_is_not_ours():
    case = case_of(but(WRITTEN, dirty_bytes=None), "D06")
    dirty = gauge("page_cache", "path:/f", "dirty_bytes", (100.0 * MIB, 0.0), 1.0)
    gone = gauge("process", "pid:100", "cancelled_write_bytes", (0.0, 100.0 * MIB), 1.0)
    observations = replace(case.observations, series=(*case.observations.series, dirty, gone))
    assert RULE.check(replace(case, observations=observations)).state is State.PASS


@each("claim severity", (STABLE, Severity.INVALIDATES), (DEVICE, Severity.INVALIDATES), (Claim(), Severity.NOTES))
@each("filesystem volatile", ("tmpfs", None), ("overlay", "tmpfs"))
def test_a_file_system_in_memory_is_named_and_needs_no_count_of_a_device(claim, severity, filesystem, volatile):
    made = but(WRITTEN, claim=claim, filesystem=filesystem, call_bytes=256 * MIB, storage_bytes=0, lower_bytes=None)
    finding = judged_at(made, volatile)
    assert (finding.state, finding.severity) == (State.FAIL, severity)
    assert "tmpfs" in finding.statement


def judged_at(made, volatile):
    """The finding of writes into a file system that stores them in another one in memory."""
    case = case_of(made, "D06")
    gone = gauge("process", "pid:100", "cancelled_write_bytes", (0.0, 0.0), made.seconds)
    place = replace(case.run.places[0], volatile=volatile)
    case = replace(case, observations=replace(case.observations, series=(*case.observations.series, gone)))
    return RULE.check(replace(case, run=replace(case.run, places=(place,))))


def test_what_became_dirty_beside_a_file_system_in_memory_went_to_a_device():
    made = but(WRITTEN, filesystem="tmpfs", call_bytes=256 * MIB, storage_bytes=256 * MIB)
    assert judged_at(made, None).state is State.PASS
    assert judged_at(but(WRITTEN, filesystem="overlay", call_bytes=256 * MIB, storage_bytes=256 * MIB), None).state is State.PASS


@each("claim severity", (DEVICE, Severity.INVALIDATES), (STABLE, Severity.QUALIFIES), (Claim(), Severity.NOTES))
def test_overwriting_in_memory_is_no_work_of_the_device_and_bounds_the_rate_onto_stable_media(claim, severity):
    finding = judged(but(OVERWRITTEN, claim=claim))
    assert (finding.state, finding.severity) == (State.FAIL, severity)
    assert finding.bound.high == pytest.approx(case_of(but(OVERWRITTEN, claim=claim), "D06").value / 8)
    assert finding.relabel == "write into memory: data overwritten before write-back"


def test_what_passed_the_device_above_is_all_that_can_have_come_down():
    made = but(OVERWRITTEN, devices=("loop0", "vda"), lower_bytes=300 * MIB, before_bytes=240 * MIB)
    assert judged(but(made, upper_bytes=8 * MIB)).state is State.FAIL
    assert judged(but(made, upper_bytes=240 * MIB)).state is State.PASS


def test_missing_evidence_is_said():
    assert "process_io" in judged(WRITTEN, None).statement
    few = judged(but(WRITTEN, count=2))
    assert (few.state, "too few" in few.statement) == (State.UNVERIFIED, True)


def test_objects_are_judged_by_what_was_removed_only():
    made = but(WRITTEN, operation="create", record_bytes=0, storage_bytes=None)
    assert judged(made).state is State.UNVERIFIED
    assert RULE.applies(case_of(made, "D06")) is None
    assert RULE.applies(case_of(but(made, claim=DEVICE), "D06")) == "no claim that these objects are on stable media"
    assert RULE.applies(case_of(Made(), "D06")) == "not a write"


def test_what_the_load_sent_to_the_device_itself_reached_it_whatever_others_wrote():
    case = case_of(but(OVERWRITTEN, lower_bytes=256 * MIB, before_bytes=240 * MIB), "D06")
    gone = gauge("process", "pid:100", "cancelled_write_bytes", (0.0, 0.0), 1.0)
    case = replace(case, observations=replace(case.observations, series=(*case.observations.series, gone)))
    assert RULE.check(case).state is State.UNVERIFIED
    assert RULE.check(traced(case, {("own_write_bytes", "device:vda"): 200 * MIB})).state is State.PASS
    assert RULE.check(traced(case, {("own_write_bytes", "device:vda"): 8 * MIB})).state is State.UNVERIFIED


def test_a_run_without_places_is_judged_by_the_device_that_was_counted():
    case = case_of(but(OVERWRITTEN, lower_bytes=256 * MIB, before_bytes=240 * MIB), "D06")
    gone = gauge("process", "pid:100", "cancelled_write_bytes", (0.0, 0.0), 1.0)
    case = replace(case, observations=replace(case.observations, series=(*case.observations.series, gone)))
    nowhere = replace(case, run=replace(case.run, places=()))
    assert RULE.check(nowhere).state is State.UNVERIFIED
    assert RULE.check(traced(nowhere, {("own_write_bytes", "device:vda"): 200 * MIB})).state is State.PASS


def test_states():
    hold(
        ("what reached the device passes", judged(WRITTEN), PASS, "269 MB"),
        ("a little that was removed is noise", judged(WRITTEN, 2.0), PASS),
        "without a drain what was still in memory may have come later",
        (judged(but(OVERWRITTEN, drain_s=None, drain_bytes=None)), UNVERIFIED),
        (judged(but(WRITTEN, drain_s=None, drain_bytes=None)), PASS),
        "others on the device may hide what it did not take",
        (judged(but(OVERWRITTEN, lower_bytes=256 * MIB, before_bytes=240 * MIB)), UNVERIFIED),
        ("what is behind a FUSE mount may still hold it", judged(but(OVERWRITTEN, filesystem="fuse.sshfs")), UNVERIFIED),
        "data that are stored encoded are no lost data",
        (judged(but(OVERWRITTEN, hole_bytes=0, encoded_bytes=64 * MIB)), UNVERIFIED),
    )


def test_what_a_file_system_in_memory_takes_is_not_overwritten():
    made = but(OVERWRITTEN, lower_bytes=0, drain_bytes=0, call_bytes=256 * MIB)
    assert judged(but(made, storage_bytes=4096)).relabel == "write into a file system in memory"
    assert "overwritten" in judged(but(made, storage_bytes=8 * MIB)).relabel


def test_calls_of_a_command_that_wrote_more_than_became_dirty_may_have_gone_to_pipes():
    piped = but(WRITTEN, values={"write.elapsed_ns": 1e9}, figure="elapsed_ns", call_bytes=768 * MIB, storage_bytes=256 * MIB)
    hold(
        ("through pipes", judged(piped), UNVERIFIED, "pipes"),
        ("all to files", judged(but(piped, call_bytes=257 * MIB)), PASS),
        ("its own bytes", judged(but(piped, values={"write.bytes": 256.0 * MIB})), PASS),
    )


def test_zeros_that_dd_left_out_were_not_overwritten():
    made = but(OVERWRITTEN, claim=STABLE, operation="write", call_bytes=115, lower_bytes=0, drain_bytes=0)
    made = replace(made, knobs={"argv": ("dd", "if=/dev/zero", "of=f", "conv=sparse,fsync")})
    assert "conv=sparse" in judged(made).statement
    assert "overwritten in memory" in judged(replace(made, knobs={"argv": ("dd", "conv=fsync")})).statement
