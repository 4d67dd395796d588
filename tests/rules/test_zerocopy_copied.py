"""G10: confirmations of sends without a copy that say they were copied."""

from assay.records import Severity, State
from assay.rules.zerocopy_copied import RULE
from network_cases import between, connection, end


def judged(zerocopy):
    return RULE.check(between("G10", load=end(connection(), zerocopy=zerocopy)))


def test_copied_all_the_same():
    found = judged((200, 190))
    assert (found.state, found.severity) == (State.FAIL, Severity.QUALIFIES)
    assert found.relabel == "zerocopy sends that the kernel copied"
    assert "190 of 200 sends without a copy were copied (95 %, limit 50 %)" in found.statement


def test_mostly_without_a_copy():
    assert judged((200, 2)).state is State.PASS


def test_sends_with_a_copy_are_as_the_workload_says():
    assert judged(None).state is State.PASS


def test_without_confirmations_nothing_is_known():
    assert judged((0, 0)).state is State.UNVERIFIED


def test_what_the_load_receives_is_sent_by_the_server():
    case = between("G10", server=end(connection(), zerocopy=(10, 10)), operation="receive")
    assert RULE.check(case).state is State.FAIL
    assert RULE.applies(case) is None
    assert RULE.applies(between("G10", operation="transaction"))
