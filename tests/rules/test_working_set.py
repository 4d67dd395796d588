"""T05: the rule of twice the memory, only where nothing better is known."""

from assay.records import Claim, Tier
from assay.rules.working_set import RULE
from audit.case_builder import MIB, Made, Seen, case_of
from stage.said import FAIL, NOT_ASKED, PASS, UNVERIFIED, hold


def case(knobs=None, **seen):
    return case_of(Made(claim=Claim(tier=Tier.DEVICE), knobs=knobs or {}, seen=Seen(**seen)), "T05")


def test_states():
    hold(
        "small data set fails and large one passes",
        (RULE.check(case(available_bytes=24 * 1024 * MIB)), FAIL, "any mixture"),
        (RULE.check(case(available_bytes=100 * MIB)), PASS),
        ("direct evidence outranks it", RULE.applies(case(available_bytes=100, storage_bytes=1)), NOT_ASKED),
        ("unknown memory is unverified", RULE.check(case()), UNVERIFIED),
        ("writes are not its business", RULE.applies(case_of(Made(operation="write"), "T05")), NOT_ASKED),
        "memory that the clients may not have caches nothing",
        (RULE.check(case({"memory": 100 * MIB}, available_bytes=24 * 1024 * MIB)), PASS),
        (RULE.check(case({"memory": 200 * MIB}, available_bytes=24 * 1024 * MIB)), FAIL),
        (RULE.check(case({"memory": 24 * 1024 * MIB}, available_bytes=100 * MIB)), PASS),
        (RULE.check(case({"memory": 100 * MIB})), UNVERIFIED),
    )
