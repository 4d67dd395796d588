"""L05: loopback, veth and a real interface against what is claimed of the path."""

import pytest

from assay.records import Claim, Path, Severity, State
from assay.rules.no_wire import RULE
from audit.case_builder import MIB, Made, case_of
from server_cases import served

WIRE, LOOPBACK = Claim(path=Path.WIRE), Claim(path=Path.LOOPBACK)
MOVED = {"read.bytes": 100.0 * MIB}


def judged(claim, route=("lo", "loopback"), passed=None, **more):
    facts = {"route": route[0], "route_kind": route[1]} if route else {}
    rungs = [] if passed is None else [("L3", "read", passed, f"interface:{route[0]}")]
    return RULE.check(served("L05", rungs, facts=facts, claim=claim, values=MOVED, figure="bytes", **more))


@pytest.mark.parametrize("route", [("lo", "loopback"), ("veth0", "virtual")])
def test_what_stays_on_the_machine_is_no_wire(route):
    found = judged(WIRE, route)
    assert (found.state, found.severity) == (State.FAIL, Severity.INVALIDATES)
    assert judged(LOOPBACK, route).state is State.PASS
    assert judged(Claim(), route).severity is Severity.NOTES
    assert judged(Claim(), route).relabel.startswith("same host")


def test_an_interface_that_carried_it_is_a_wire():
    assert judged(WIRE, ("eth0", "physical"), 105 * MIB).state is State.PASS
    assert judged(WIRE, ("eth0", "physical")).state is State.PASS, "uncounted"


def test_an_interface_that_carried_nothing_is_none():
    found = judged(WIRE, ("eth0", "physical"), MIB)
    assert (found.state, found.severity) == (State.FAIL, Severity.INVALIDATES)


def test_another_interface_proves_nothing_about_this_one():
    rungs = [("L3", "read", 0, "interface:eth0"), ("L3", "read", 200 * MIB, "interface:eth1")]
    facts = {"route": "eth0", "route_kind": "physical"}
    case = served("L05", rungs, facts=facts, claim=WIRE, values=MOVED, figure="bytes")
    assert RULE.check(case).state is State.FAIL


def test_a_wire_is_no_loopback():
    assert judged(LOOPBACK, ("eth0", "physical"), 105 * MIB).severity is Severity.QUALIFIES


def test_an_unknown_way_is_unverified():
    assert judged(WIRE, None).state is State.UNVERIFIED


def test_it_is_asked_where_a_path_is_claimed_or_a_server_named():
    assert RULE.applies(case_of(Made(), "L05"))
    assert RULE.applies(case_of(Made(claim=Claim(path=Path.LOCAL)), "L05"))
    assert RULE.applies(case_of(Made(claim=WIRE), "L05")) is None
    assert RULE.applies(served("L05")) is None
