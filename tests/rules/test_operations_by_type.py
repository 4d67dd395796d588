"""E08: counts of client and server that agree, that contradict each other, and other clients of the same server."""

import pytest

from assay.records import Claim, Severity, State
from assay.rules.operations_by_type import RULE
from audit.case_builder import Made, case_of
from directory_cases import NAMELESS, loaded, reported

EXACT = {"search": 4000, "entries": 4000, "bind": 0}


def judged(done, counted, **more):
    return RULE.check(loaded("E08", done, counted=counted, **more))


def test_counts_that_agree_pass_and_are_named():
    found = judged({"search": 4000, "rename": 300}, {**EXACT, "modrdn": 300, "entries": 4300})
    assert found.state is State.PASS
    assert "4,000 searches" in found.statement
    assert "300 renames" in found.statement
    assert found.observed["server.modrdn"] == 300


def test_a_client_with_more_than_the_server_is_a_contradiction():
    found = judged({"search": 4000}, {"search": 2000, "entries": 4000})
    assert (found.state, found.severity) == (State.FAIL, Severity.INVALIDATES)
    assert found.relabel == "operations that the server never saw"
    assert found.bound.high == pytest.approx(2000)


def test_so_are_entries_that_the_server_never_sent():
    found = judged({"search": 4000}, {"search": 4000, "entries": 1000})
    assert (found.state, found.severity) == (State.FAIL, Severity.INVALIDATES)
    assert "4,000 entries" in found.statement


def test_requests_without_an_answer_are_no_contradiction():
    """Forty were sent and never answered: the server may have counted them or not."""
    lost = {"codes": {"success": 3960}, "entries": 3960}
    assert judged({"search": 4000}, {"search": 3960, "entries": 3960}, **lost).state is State.PASS
    assert judged({"search": 4000}, {"search": 4000, "entries": 3960}, **lost).state is State.PASS


def test_others_are_named_by_type_and_bound_the_figure():
    found = judged({"search": 4000}, {"search": 4900, "bind": 100, "entries": 4000})
    assert (found.state, found.severity) == (State.FAIL, Severity.QUALIFIES)
    assert found.detail == "900 searches, 100 binds"
    assert found.bound.low == pytest.approx(4000)
    assert found.bound.high == pytest.approx(5000)


def test_one_search_of_others_that_returned_most_entries_counts_by_its_entries():
    found = judged({"search": 4000}, {"search": 4050, "entries": 104_000})
    assert found.observed["others_share"] == pytest.approx(100 / 104)


def test_a_few_operations_of_others_are_named_and_pass():
    found = judged({"search": 4000}, {"search": 4000, "bind": 5, "entries": 4000})
    assert found.state is State.PASS
    assert "5 binds" in found.statement


def test_what_matters_little_is_a_note():
    found = judged({"search": 4000}, {"search": 4000, "bind": 150, "entries": 4000})
    assert (found.state, found.severity) == (State.FAIL, Severity.NOTES)


def test_binds_before_each_operation_are_the_loads_own():
    found = judged({"search": 500, "bind": 500}, {"search": 500, "bind": 500, "entries": 1000})
    assert found.state is State.PASS


def test_a_command_is_held_to_the_type_that_it_reports():
    exact = reported("E08", "search", 100, counted={"search": 100, "bind": 100, "entries": 5})
    assert RULE.check(exact).state is State.PASS
    half = RULE.check(reported("E08", "search", 200, counted={"search": 100}))
    assert (half.state, half.severity) == (State.FAIL, Severity.INVALIDATES)


def test_without_counters_nothing_is_known():
    assert judged({"search": 10}, None).state is State.UNVERIFIED
    assert judged({"search": 10}, {"compare": 10}).state is State.UNVERIFIED


def test_it_needs_a_directory_and_a_number_of_operations():
    assert RULE.applies(case_of(Made(claim=Claim()), "E08")) == "the target names no directory server"
    assert RULE.applies(loaded("E08", {"search": 5}, server=NAMELESS)) == "the target names no directory server"
    assert RULE.applies(reported("E08", "read", 5)) == "no operation of a directory"
    assert RULE.applies(reported("E08", "search", None)) == "the load reports no number of operations"
    assert RULE.applies(loaded("E08", {"search": 5})) is None
