"""L22: a tape that was rewound inside the clock, and what of the time that took."""

from assay.rules.rewound import RULE
from audit.case_builder import MIB, Made, case_of
from stage.said import ASKED, BOUNDED, FAIL, NOT_ASKED, NOTES, PASS, QUALIFIES, UNBOUNDED, UNVERIFIED, high, hold, low
from tape_cases import AT_START, HELD_OPEN, tape_case


def case(**changes):
    return tape_case("L22", **changes)


def test_states():
    rewound = RULE.check(case(after=AT_START, busy_s=0.9, moving_s=0.4))
    hold(
        ("nst0", RULE.check(case()), PASS, "not rewound"),
        ("st0: half of the time is not the data's", rewound, FAIL, QUALIFIES, BOUNDED, low(256 * MIB), high(512 * MIB)),
        (rewound, {"other_share": 0.5}, "overwrites"),
        ("it cost little", RULE.check(case(after=AT_START, busy_s=0.9, moving_s=0.89)), FAIL, NOTES, UNBOUNDED),
        ("a read overwrites nothing", RULE.check(case(after=AT_START, operation="read")), FAIL, QUALIFIES),
        ("held open", RULE.check(case(after=HELD_OPEN)), UNVERIFIED, "held open"),
    )
    assert "overwrites" not in RULE.check(case(after=AT_START, operation="read")).statement


def test_only_loads_on_a_tape_are_judged():
    hold(
        (RULE.applies(case()), ASKED),
        (RULE.applies(case(operation="read")), ASKED),
        (RULE.applies(case_of(Made(), "L22")), NOT_ASKED),
        (RULE.applies(case_of(Made(operation="create"), "L22")), NOT_ASKED),
    )
