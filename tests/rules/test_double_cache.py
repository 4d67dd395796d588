"""T03: two O_DIRECT passes over a file on a loop device, direct I/O below it off and on."""

from dataclasses import replace

import pytest

from assay.records import Claim, Durability, Rung, Severity, State, Tier
from assay.rules.double_cache import RULE
from audit.case_builder import MIB, Made, Seen, but, case_of
from stage.rows import each
from stage.said import FAIL, INVALIDATES, NOT_ASKED, NOTES, PASS, QUALIFIES, UNVERIFIED, hold
from stage.traced_cases import traced

LOOP = ("loop1", "vda")


def judged(operation="read", claim=Claim(tier=Tier.DEVICE), **seen):  # noqa: B008 - frozen
    made = Made(operation=operation, seconds=0.148, claim=claim, devices=LOOP, seen=Seen(**seen))
    return RULE.check(case_of(made, "T03"))


def test_traffic_of_others_leaves_it_unverified_unless_the_stack_is_known_to_be_direct():
    busy = {"upper_bytes": 256 * MIB, "lower_bytes": 256 * MIB, "before_bytes": 1000 * MIB}
    assert judged(**busy).state is State.UNVERIFIED
    assert judged(**busy, dio="1").state is State.PASS
    assert judged(upper_bytes=256 * MIB, lower_bytes=MIB, before_bytes=1000 * MIB).state is State.FAIL


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


def test_what_answered_between_the_devices_is_named_by_what_was_seen_of_the_image():
    read = {"storage_bytes": 256 * MIB, "upper_bytes": 256 * MIB, "lower_bytes": 400_000}
    halved = {**read, "lower_bytes": 128 * MIB}
    warm, half, cold = (256 * MIB, 256 * MIB), (128 * MIB, 128 * MIB), (0, 0)
    hold(
        (judged(**read, dio="1", image_hole_bytes=256 * MIB, backing_cached_bytes=cold), FAIL, INVALIDATES, "never written"),
        "direct reads of an image pass by its pages in memory: half of it was never written",
        (judged(**halved, dio="1", image_hole_bytes=128 * MIB, backing_cached_bytes=half), "never written"),
        (judged(**halved, dio="0", image_hole_bytes=128 * MIB, backing_cached_bytes=half), "host's memory between"),
        (judged(**read, dio="0", image_hole_bytes=0, backing_cached_bytes=warm), FAIL, INVALIDATES, "host's memory between"),
        (judged(**read, dio="1", image_hole_bytes=0, backing_cached_bytes=cold), FAIL, INVALIDATES, "and has no holes"),
        (judged(**read, dio="0"), "host's memory between"),
        (judged(**read, dio="1"), "was not read there"),
    )


def test_states():
    hold(
        "cached image fails though everything above says device",
        (
            judged(storage_bytes=256 * MIB, upper_bytes=256 * MIB, lower_bytes=400_000, dio="0"),
            FAIL,
            INVALIDATES,
            {"ratio": pytest.approx(671, rel=0.01)},
            "0.15 %",
        ),
        ("direct loop device passes", judged(upper_bytes=256 * MIB, lower_bytes=256 * MIB, dio="1"), PASS),
        "filling the cache qualifies",
        (judged(upper_bytes=256 * MIB, lower_bytes=256 * MIB, dio="0"), FAIL, QUALIFIES),
        (judged(upper_bytes=256 * MIB, lower_bytes=256 * MIB, backing_cached_bytes=(0, 256 * MIB)), QUALIFIES),
        ("as is claim makes it a note", judged(claim=Claim(), upper_bytes=256 * MIB, lower_bytes=0), NOTES),
        ("hardly read upper device passes", judged(upper_bytes=65536, lower_bytes=0), PASS),
        "writes pass directly or by the flushes that follow",
        (judged("write"), PASS),
        (judged("write", dio="1"), PASS),
        (judged("write", dio="0", upper_bytes=256 * MIB, lower_bytes=0, drain_bytes=0), QUALIFIES),
        (judged("write", dio="0", upper_bytes=256 * MIB, lower_bytes=256 * MIB), PASS),
        ("unknown bytes are unverified", judged(upper_bytes=256 * MIB), UNVERIFIED),
        "does not apply to a single device",
        (RULE.applies(case_of(Made(), "T03")), NOT_ASKED),
        (RULE.applies(case_of(Made(operation="stat", devices=LOOP), "T03")), NOT_ASKED),
    )


@each(
    "operation volatile claim severity",
    ("read", "tmpfs below loop0", Claim(tier=Tier.DEVICE), Severity.INVALIDATES),
    ("write", "tmpfs below loop0", Claim(durability=Durability.STABLE_MEDIA), Severity.INVALIDATES),
    ("read", "tmpfs below loop0", Claim(), Severity.NOTES),
    ("read", "tmpfs", Claim(tier=Tier.DEVICE), None),  # of an overlay
)
def test_a_lowest_device_in_memory_is_no_disk(operation, volatile, claim, severity):
    made = Made(operation=operation, claim=claim, devices=("loop0",), seen=Seen(lower_bytes=256 * MIB))
    case = case_of(made, "T03")
    case = replace(case, run=replace(case.run, places=(replace(case.run.places[0], volatile=volatile),)))
    readings = tuple(
        replace(one, subject="device:loop0") if one.rung is Rung.LOWEST_DEVICE else one for one in case.observations.readings
    )
    case = replace(case, observations=replace(case.observations, readings=readings))
    if severity is None:
        assert RULE.applies(case) is not None
    else:
        finding = RULE.check(case)
        assert (finding.state, finding.severity, "tmpfs below loop0" in finding.statement) == (State.FAIL, severity, True)
