"""D02: a stable-media claim with and without flushes at the lowest device."""

from assay.records import Claim, Durability, State
from assay.rules.no_flush import RULE
from audit.case_builder import MIB, Made, Seen, but, case_of
from stage.rows import each
from stage.said import FAIL, NOT_ASKED, PASS, UNVERIFIED, hold
from stage.traced_cases import traced

SYNCED = Made(
    operation="write",
    devices=("loop0", "vda"),
    claim=Claim(durability=Durability.STABLE_MEDIA),
    seen=Seen(flushes=1, drain_flushes=1, lower_bytes=256 * MIB),
)


def judged(made):
    return RULE.check(case_of(made, "D02"))


def test_flushes_of_others_hide_a_few_of_ours_but_not_many():
    busy = but(SYNCED, before_flushes=10, devices=("vda",))
    assert judged(busy).state is State.UNVERIFIED
    assert judged(but(busy, flushes=500)).state is State.PASS


@each("operation", "stat", "list", "open", "readdir", "readdir_plus", "walk")
def test_looking_at_metadata_writes_nothing(operation):
    assert RULE.applies(case_of(Made(operation=operation, record_bytes=0), "D02")) == "not a write"
    assert RULE.applies(case_of(Made(operation="create", record_bytes=0), "D02")) is None


def test_flushes_that_the_load_sent_itself_need_not_stand_out():
    busy = case_of(but(SYNCED, before_flushes=10, devices=("vda",)), "D02")
    finding = RULE.check(traced(busy, {("own_flushes", "device:vda"): 3}))
    assert finding.state is State.PASS
    assert RULE.check(traced(busy, {("own_flushes", "device:vda"): 0})).state is State.UNVERIFIED
    assert RULE.check(traced(busy, {("own_flushes", "device:vda"): 3}, lost=1)).state is State.UNVERIFIED


def test_a_write_past_the_cache_is_as_good_as_a_flush():
    none = case_of(but(SYNCED, flushes=0, drain_flushes=0, devices=("vda",)), "D02")
    assert RULE.check(none).state is State.FAIL
    assert RULE.check(traced(none, {("own_flushes", "device:vda"): 100})).state is State.PASS


def test_states():
    hold(
        ("flushes pass", judged(SYNCED), PASS),
        ("flush in the drain is enough", judged(but(SYNCED, flushes=0)), PASS),
        ("no flush fails", judged(but(SYNCED, flushes=0, drain_flushes=0)), FAIL, "volatile cache"),
        "one flush of many is in the singular",
        (judged(but(SYNCED, before_flushes=10, drain_flushes=0, devices=("vda",))), UNVERIFIED, "1 flush;"),
        ("device of our own above a busy one tells ours", judged(but(SYNCED, before_flushes=10)), PASS),
        ("write through needs none", judged(but(SYNCED, flushes=0, drain_flushes=0, write_cache="write through")), PASS),
        ("uncounted flushes are unverified", judged(but(SYNCED, flushes=None)), UNVERIFIED),
        ("reads are not its business", RULE.applies(case_of(Made(), "D02")), NOT_ASKED),
        "what the loop devices own thread flushed is not the loads",
        (RULE.check(traced(case_of(but(SYNCED, flushes=0, drain_flushes=0), "D02"), {("own_flushes", "device:vda"): 9})), FAIL),
    )
