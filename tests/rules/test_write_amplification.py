"""D07: 256 MiB written, and what the devices took for it."""

from dataclasses import replace

from assay.records import Claim, Severity, State, Tier
from assay.rules.write_amplification import RULE
from audit.case_builder import MIB, Made, Seen, but, case_of
from stage.rows import each
from stage.said import ASKED, NOT_ASKED, PASS, UNVERIFIED, hold

PLAIN = Made(operation="write", drain_s=0.1, seen=Seen(lower_bytes=200 * MIB, drain_bytes=60 * MIB))
STACK = ("loop0", "vda")
DOUBLE = but(PLAIN, devices=STACK, upper_bytes=420 * MIB, lower_bytes=420 * MIB, drain_bytes=100 * MIB)


def judged(made):
    return RULE.check(case_of(made, "D07"))


@each("claim", Claim(), Claim(tier=Tier.DEVICE))
def test_twice_the_bytes_are_a_note_under_every_claim(claim):
    finding = judged(but(DOUBLE, claim=claim))
    assert (finding.state, finding.severity) == (State.FAIL, Severity.NOTES)
    assert (finding.relabel, finding.detail) == ("storage wrote more than the load", "2.0 bytes per byte written")
    assert finding.bound is None


def test_half_as_much_again_is_still_a_journal():
    stacked = but(PLAIN, devices=STACK)
    assert judged(but(stacked, upper_bytes=320 * MIB, lower_bytes=320 * MIB)).state is State.PASS
    assert judged(but(stacked, upper_bytes=330 * MIB, lower_bytes=330 * MIB)).state is State.FAIL


@each("devices", ("vda",), ("dm-0", "vda"))
def test_what_a_shared_disk_took_may_be_others(devices):
    finding = judged(but(DOUBLE, devices=devices))
    assert (finding.state, "2.03 bytes per byte" in finding.statement) == (State.UNVERIFIED, True)


def test_the_device_of_the_target_alone_is_asked_where_others_write_below():
    busy = but(PLAIN, devices=STACK, lower_bytes=900 * MIB)
    quiet_above, double_above = judged(but(busy, upper_bytes=200 * MIB)), judged(but(busy, upper_bytes=460 * MIB))
    assert (quiet_above.state, "may be other processes' I/O" in quiet_above.statement) == (State.PASS, True)
    assert (double_above.state, double_above.statement.startswith("loop0 took")) == (State.FAIL, True)


def test_a_disk_on_an_image_of_ours_is_the_targets_alone():
    case = case_of(but(DOUBLE, devices=("vdb", "vda")), "D07")
    place = replace(case.run.places[0], backing_files=("/images/i",))
    assert RULE.check(replace(case, run=replace(case.run, places=(place,)))).state is State.FAIL


def test_states():
    hold(
        ("a byte for a byte passes", judged(PLAIN), PASS, {"ratio": 260 / 256}),
        "missing evidence is said",
        (judged(but(PLAIN, lower_bytes=None)), UNVERIFIED),
        (judged(but(PLAIN, count=2)), UNVERIFIED),
        (judged(but(PLAIN, count=0)), UNVERIFIED),
        "reads and objects are not asked",
        (RULE.applies(case_of(Made(), "D07")), NOT_ASKED),
        (RULE.applies(case_of(Made(operation="create"), "D07")), NOT_ASKED),
        (RULE.applies(case_of(PLAIN, "D07")), ASKED),
    )
