"""T12: stat of the same tree twice."""

from array import array
from dataclasses import replace

from assay.records import Claim, Direction, PhaseHost, Regime, Rung, State, Tier
from assay.rules.metadata_cache import RULE
from audit.case_builder import Made, Seen, case_of, gauge, reading
from stage.rows import each
from stage.said import ASKED, FAIL, INVALIDATES, NOT_ASKED, NOTES, PASS, UNVERIFIED, hold

COLD = Claim(regime=Regime.COLD)


def judged(operation="stat", claim=COLD, inodes=None):
    made = Made(operation=operation, count=20_000, record_bytes=0, figure="ops_per_s", claim=claim, seen=Seen(inodes=inodes))
    return RULE.check(case_of(made, "T12"))


@each(
    "lists knobs entries",
    (1, {}, 20_000),
    (5, {}, 100_000),
    (1, {"spread": 4}, 5_000),
    (1, {"workers": 3, "sharing": "shared"}, 60_000),
    (1, {"workers": 3, "sharing": "own"}, 20_000),
    (1, {"operations": ("symlink", "readdir_plus", "link")}, 40_000),
    (1, {"operations": ("readdir_plus", "symlink")}, 20_000),
)
def test_a_list_with_attributes_looks_at_every_entry_each_time(lists, knobs, entries):
    """The first of five lists loads all inodes, the others find them in memory."""
    for loaded, state in ((entries, State.PASS), (entries * 0.9, State.FAIL)):
        seen = Seen(inodes=(1_000, 1_000 + int(loaded)))
        made = Made(operation="readdir_plus", count=lists, record_bytes=0, claim=COLD, seen=seen, knobs={"count": 20_000} | knobs)
        assert RULE.check(case_of(made, "T12")).state is state


def test_inodes_that_others_dropped_accuse_nobody():
    """The process itself read enough for 20,000 inodes, yet the host's caches grew by 900 only."""
    made = Made(operation="stat", count=20_000, record_bytes=0, figure="ops_per_s", claim=COLD, seen=Seen(inodes=(1_000, 1_900)))
    case = case_of(made, "T12")
    for read_bytes, state in ((20_000 * 256, State.UNVERIFIED), (900 * 512, State.FAIL)):
        storage = reading(Rung.CLIENT_CACHE, "pid:100", Direction.READ, (read_bytes, 0))
        seen = replace(case.observations, readings=(*case.observations.readings, storage))
        assert RULE.check(replace(case, observations=seen)).state is state


@each("looks state", ((9_000, 11_000, 1_500, 9_900), State.UNVERIFIED), ((9_000, 9_300, 9_600, 9_900), State.FAIL))
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


def test_states():
    hold(
        ("loaded inodes pass", judged(inodes=(1_000, 20_990)), PASS),
        ("cached inodes refute cold", judged(inodes=(21_000, 21_003)), FAIL, INVALIDATES, "100 %"),
        ("cached inodes are a note under no claim", judged(claim=Claim(), inodes=(21_000, 21_003)), NOTES),
        "what nobody counts is unverified",
        (judged(), UNVERIFIED),
        (judged("list", inodes=(0, 20_000)), UNVERIFIED),
        (judged("create", claim=Claim(tier=Tier.DEVICE)), UNVERIFIED),
        "applies to lookups and device claims",
        (RULE.applies(case_of(Made(operation="create"), "T12")), NOT_ASKED),
        (RULE.applies(case_of(Made(operation="read"), "T12")), NOT_ASKED),
        (RULE.applies(case_of(Made(operation="stat"), "T12")), ASKED),
        "opening is judged like looking up",
        (judged("open", inodes=(1_000, 20_990)), PASS),
        (judged("open", inodes=(21_000, 21_003)), FAIL),
        (judged("readdir", inodes=(0, 20_000)), UNVERIFIED),
        (RULE.applies(case_of(Made(operation="rename"), "T12")), NOT_ASKED),
        ("a list of unknown length is unverified", judged("readdir_plus", inodes=(0, 20_000)), UNVERIFIED, "unknown"),
    )
