"""E12: three counts that agree, a load that counts more than it sends, a capture that lost, others, and nobody who looked."""

import pytest

from assay.records import Severity, State
from assay.rules.unsent_operations import RULE
from operation_cases import asked, series


def test_equal_counts_pass():
    found = RULE.check(asked({"search": 15_000}, {"search": 15_000}, {"search": 15_000}))
    assert found.state is State.PASS
    assert found.statement == "Client, wire and server agree: 15,000 searches."
    assert RULE.check(asked({"search": 1}, {"search": 1})).statement == "Client and wire agree: 1 search."


@pytest.mark.parametrize("server", [{"search": 20}, None])
def test_operations_that_never_passed_the_wire_invalidate(server):
    found = RULE.check(asked({"search": 40}, {"search": 20}, server))
    assert (found.state, found.severity) == (State.FAIL, Severity.INVALIDATES)
    assert found.relabel == "operations that were never sent"
    assert (found.observed["search_client"], found.observed["search_wire"]) == (40, 20)


def test_another_kind_is_another_measures_matter():
    case = asked({"search": 20, "modify": 9}, {"search": 20, "modify": 5}, {"search": 20, "modify": 5})
    assert RULE.check(case).state is State.PASS


def test_what_the_capture_lost_is_unverified():
    found = RULE.check(asked({"search": 40}, {"search": 30}, {"search": 40}))
    assert found.state is State.UNVERIFIED
    assert found.statement == "The capture lacks at least 10 searches."
    assert RULE.check(asked({"search": 40}, {"search": 30, "capture_drops": 3})).state is State.UNVERIFIED


def test_others_are_named_and_noted():
    clients = [series("wire", "search", 40, "client:10.0.0.1"), series("wire", "search", 3, "client:10.0.0.2")]
    found = RULE.check(asked({"search": 40}, {"search": 43}, {"search": 45}, more=clients))
    assert (found.state, found.severity) == (State.FAIL, Severity.NOTES)
    assert "The server counts 2 searches more than passed the wire: other clients came another way (ldapi)." in found.statement
    assert "3 searches on the wire came from other clients: 10.0.0.2 (3)." in found.statement


def test_encrypted_traffic_is_unverified():
    found = RULE.check(asked({"search": 40}, {"search": 0, "opaque_bytes": 7_000}, {"search": 40}))
    assert found.state is State.UNVERIFIED
    assert "7,000 bytes" in found.statement


def test_a_capture_that_failed_is_unverified_and_one_that_nobody_wanted_is_no_matter():
    failed = asked({"search": 40}, server={"search": 40}, missing={"wire.search": "observer wire failed: no route"})
    assert RULE.applies(failed) is None
    found = RULE.check(failed)
    assert found.state is State.UNVERIFIED
    assert "no route" in found.advice
    assert RULE.applies(asked({"search": 40}, server={"search": 40})) == "the wire was not captured (observer wire)"
    assert RULE.applies(asked(wire={"search": 4})) == "no operations on a directory server"
