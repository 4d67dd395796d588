"""D11: whether a mark followed the data of a tape before the clock stopped."""

from dataclasses import replace

from assay.catalogue import find
from assay.rules.no_mark import RULE
from audit.case_builder import Made, case_of
from stage.said import ASKED, FAIL, INVALIDATES, NOT_ASKED, PASS, UNVERIFIED, hold
from tape_cases import AT_START, HELD_OPEN, STABLE, tape_case


def case(**changes):
    return tape_case("D11", **changes)


def test_states():
    hold(
        ("closed: the driver wrote a mark", RULE.check(case()), PASS, "just after mark 2", {"file_number": 2.0}),
        ("rewound: the driver writes a mark before", RULE.check(case(after=AT_START)), PASS, "was rewound"),
        (
            "held open, and nothing but writes was sent",
            RULE.check(case(after=HELD_OPEN, others=0)),
            FAIL,
            INVALIDATES,
            "no command but writes",
            "buffer",
        ),
        ("held open, and something else was sent: perhaps a mark", RULE.check(case(after=HELD_OPEN)), UNVERIFIED, "held open"),
        ("records after the last mark", RULE.check(case(after=(2, 5))), FAIL, INVALIDATES, "5 records after"),
        ("moved back meanwhile", RULE.check(case(before=(4, 0), after=(2, 0))), UNVERIFIED, "was moved"),
        ("where it stood before is not known", RULE.check(case(before=HELD_OPEN)), PASS),
    )


def test_only_writes_that_a_tape_took_are_judged():
    hold(
        (RULE.applies(case()), ASKED),
        (RULE.applies(case(operation="read")), NOT_ASKED),
        ("another drive of the machine moved a little", RULE.applies(case(moved=1 << 20)), NOT_ASKED),
        (RULE.applies(case_of(Made(operation="write", claim=STABLE), "D11")), NOT_ASKED),
        ("the drive is not the load's", RULE.applies(replace(case(), run=case_of(Made(), "D11").run)), NOT_ASKED),
    )


def test_the_rules_of_the_page_cache_leave_a_tape_to_it():
    for name in ("dirty_at_stop", "no_flush"):
        rule = find("rules", name)
        hold(
            (rule.applies(case()), NOT_ASKED),
            (rule.applies(case_of(Made(operation="write", claim=STABLE), rule.id)), ASKED),
        )
