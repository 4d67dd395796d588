"""T12: stat of the same tree twice."""

from array import array
from dataclasses import replace

import pytest

from assay.records import Claim, Direction, PhaseHost, Regime, Rung, Severity, State, Tier
from assay.rules.metadata_cache import RULE
from audit.case_builder import Made, Seen, case_of, gauge, reading

COLD = Claim(regime=Regime.COLD)


def judged(operation="stat", claim=COLD, inodes=None):
    made = Made(operation=operation, count=20_000, record_bytes=0, figure="ops_per_s", claim=claim, seen=Seen(inodes=inodes))
    return RULE.check(case_of(made, "T12"))


def test_loaded_inodes_pass():
    assert judged(inodes=(1_000, 20_990)).state is State.PASS


def test_cached_inodes_refute_cold():
    finding = judged(inodes=(21_000, 21_003))
    assert (finding.state, finding.severity) == (State.FAIL, Severity.INVALIDATES)
    assert (finding.relabel, finding.detail) == ("stat of cached inodes", "100 % from memory")


def test_cached_inodes_are_a_note_under_no_claim():
    assert judged(claim=Claim(), inodes=(21_000, 21_003)).severity is Severity.NOTES


def test_what_nobody_counts_is_unverified():
    assert judged().state is State.UNVERIFIED
    assert judged("list", inodes=(0, 20_000)).state is State.UNVERIFIED
    assert judged("create", claim=Claim(tier=Tier.DEVICE)).state is State.UNVERIFIED


def test_applies_to_lookups_and_device_claims():
    assert RULE.applies(case_of(Made(operation="create"), "T12"))
    assert RULE.applies(case_of(Made(operation="read"), "T12"))
    assert RULE.applies(case_of(Made(operation="stat"), "T12")) is None


def test_opening_is_judged_like_looking_up():
    assert judged("open", inodes=(1_000, 20_990)).state is State.PASS
    assert judged("open", inodes=(21_000, 21_003)).state is State.FAIL
    assert judged("readdir", inodes=(0, 20_000)).state is State.UNVERIFIED
    assert RULE.applies(case_of(Made(operation="rename"), "T12"))


@pytest.mark.parametrize(
    ("lists", "knobs", "entries"),
    [
        (1, {}, 20_000),
        (5, {}, 100_000),
        (1, {"spread": 4}, 5_000),
        (1, {"workers": 3, "sharing": "shared"}, 60_000),
        (1, {"workers": 3, "sharing": "own"}, 20_000),
        (1, {"operations": ("symlink", "readdir_plus", "link")}, 40_000),
        (1, {"operations": ("readdir_plus", "symlink")}, 20_000),
    ],
)
def test_a_list_with_attributes_looks_at_every_entry_each_time(lists, knobs, entries):
    """The first of five lists loads all inodes, the others find them in memory."""
    for loaded, state in ((entries, State.PASS), (entries * 0.9, State.FAIL)):
        seen = Seen(inodes=(1_000, 1_000 + int(loaded)))
        made = Made(operation="readdir_plus", count=lists, record_bytes=0, claim=COLD, seen=seen, knobs={"count": 20_000} | knobs)
        assert RULE.check(case_of(made, "T12")).state is state


def test_a_list_of_unknown_length_is_unverified():
    finding = judged("readdir_plus", inodes=(0, 20_000))
    assert finding.state is State.UNVERIFIED
    assert "unknown" in finding.statement


def test_inodes_that_others_dropped_accuse_nobody():
    """The process itself read enough for 20,000 inodes, yet the host's caches grew by 900 only."""
    made = Made(operation="stat", count=20_000, record_bytes=0, figure="ops_per_s", claim=COLD, seen=Seen(inodes=(1_000, 1_900)))
    case = case_of(made, "T12")
    for read_bytes, state in ((20_000 * 256, State.UNVERIFIED), (900 * 512, State.FAIL)):
        storage = reading(Rung.CLIENT_CACHE, "pid:100", Direction.READ, (read_bytes, 0))
        seen = replace(case.observations, readings=(*case.observations.readings, storage))
        assert RULE.check(replace(case, observations=seen)).state is state


@pytest.mark.parametrize(
    ("looks", "state"), [((9_000, 11_000, 1_500, 9_900), State.UNVERIFIED), ((9_000, 9_300, 9_600, 9_900), State.FAIL)]
)
def test_inodes_that_left_memory_between_two_looks_may_hide_those_that_were_loaded(looks, state):
    case = case_of(Made(operation="stat", count=10_000, record_bytes=0, figure="ops_per_s", claim=COLD), "T12")
    at = [case.phase.end_ns * each // 3 for each in range(4)]
    seen = replace(gauge("memory", "", "inode_cache_objects", (), 1.0), at_ns=array("q", at), value=array("d", looks))
    assert RULE.check(replace(case, observations=replace(case.observations, series=(seen,)))).state is state


def test_caches_that_could_not_be_made_cold_are_why():
    made = Made(operation="stat", count=20_000, record_bytes=0, figure="ops_per_s", claim=COLD, seen=Seen(inodes=(1_000, 1_010)))
    case = case_of(made, "T12")
    refused = (PhaseHost(host="local", not_cold="/m cannot be unmounted"),)
    finding = RULE.check(replace(case, phase=replace(case.phase, hosts=refused)))
    assert finding.state is State.FAIL
    assert "(/m cannot be unmounted)" in finding.statement


def test_a_walk_has_looked_at_its_directories_and_at_their_files():
    def tree(operation, inodes):
        case = case_of(Made(operation=operation, count=1_000, record_bytes=0, claim=COLD, seen=Seen(inodes=inodes)), "T12")
        (client,) = case.phase.clients
        (own,) = client.operations
        other = replace(own, operation="file", count=19_000)
        phase = replace(
            case.phase,
            directions=dict.fromkeys(("walk", "file"), Direction.METADATA),
            clients=(replace(client, operations=(own, other) if operation == "walk" else (other,)),),
        )
        return RULE.check(replace(case, phase=phase))

    assert tree("walk", (0, 19_500)).state is State.PASS
    assert tree("walk", (0, 1_000)).state is State.FAIL
    assert tree("file", (0, 18_500)).state is State.PASS
