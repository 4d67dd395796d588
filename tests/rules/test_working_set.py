"""T05: the rule of twice the memory, only where nothing better is known."""

from assay.records import Claim, State, Tier
from assay.rules.working_set import RULE
from audit.case_builder import MIB, Made, Seen, case_of


def case(knobs=None, **seen):
    return case_of(Made(claim=Claim(tier=Tier.DEVICE), knobs=knobs or {}, seen=Seen(**seen)), "T05")


def test_small_data_set_fails_and_large_one_passes():
    small = RULE.check(case(available_bytes=24 * 1024 * MIB))
    assert small.state is State.FAIL
    assert "any mixture" in small.statement
    assert RULE.check(case(available_bytes=100 * MIB)).state is State.PASS


def test_direct_evidence_outranks_it():
    assert "read_bytes are known" in RULE.applies(case(available_bytes=100, storage_bytes=1))


def test_unknown_memory_is_unverified():
    assert RULE.check(case()).state is State.UNVERIFIED


def test_writes_are_not_its_business():
    assert RULE.applies(case_of(Made(operation="write"), "T05")) == "not a read"


def test_memory_that_the_clients_may_not_have_caches_nothing():
    limited = case({"memory": 100 * MIB}, available_bytes=24 * 1024 * MIB)
    assert RULE.check(limited).state is State.PASS
    assert RULE.check(case({"memory": 200 * MIB}, available_bytes=24 * 1024 * MIB)).state is State.FAIL
    assert RULE.check(case({"memory": 24 * 1024 * MIB}, available_bytes=100 * MIB)).state is State.PASS
    assert RULE.check(case({"memory": 100 * MIB})).state is State.UNVERIFIED
