"""L23: a tape drive that had no command for much of the time."""

from dataclasses import replace

from assay.rules.starved_drive import RULE
from audit.case_builder import MIB, Made, case_of
from stage.said import ASKED, BOUNDED, FAIL, NOT_ASKED, NOTES, PASS, QUALIFIES, UNBOUNDED, UNVERIFIED, high, hold, low
from tape_cases import DEVICE, tape_case


def case(**changes):
    return tape_case("L23", **changes)


def test_states():
    unseen = case()
    series = tuple(one for one in unseen.observations.series if one.metric != "io_ns")
    hold(
        ("the drive worked", RULE.check(case(busy_s=0.9)), PASS),
        ("at the limit", RULE.check(case(busy_s=0.51)), PASS),
        ("it waited", RULE.check(case(busy_s=0.25)), FAIL, NOTES, UNBOUNDED, {"idle_share": 0.75}),
        (
            "the drive is claimed",
            RULE.check(case(busy_s=0.25, claim=DEVICE)),
            FAIL,
            QUALIFIES,
            BOUNDED,
            low(256 * MIB),
            high(1024 * MIB),
        ),
        ("not counted", RULE.check(replace(unseen, observations=replace(unseen.observations, series=series))), UNVERIFIED),
    )


def test_only_loads_on_a_tape_are_judged():
    hold((RULE.applies(case(operation="read")), ASKED), (RULE.applies(case_of(Made(), "L23")), NOT_ASKED))
