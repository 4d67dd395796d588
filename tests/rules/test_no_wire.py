"""L05: loopback, veth and a real interface against what is claimed of the path."""

from dataclasses import replace

import pytest

from assay.audit.judge import examine
from assay.records import Claim, Fact, FactClass, Observations, Path, PhaseHost, Server, ServerNode, Severity, State, When
from assay.rules.no_wire import RULE
from audit.case_builder import MIB, Made, case_of
from server_cases import counted, served

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


def over_hosts(claim, *, route=("eth0", "virtual"), boots=("b1", "b2"), passed=105 * MIB, inside=None):
    """Clients on c.1, the server on s: the way as c.1 tells it, with the boot ids of both."""
    case = served("L05", claim=claim, values=MOVED, figure="bytes", server=Server(nodes=(ServerNode(host="s", pid_file="/p"),)))
    clients = tuple(replace(one, host="c.1") for one in case.phase.clients)
    phase = replace(case.phase, clients=clients, hosts=(PhaseHost(host="c.1"), PhaseHost(host="s")))
    places = tuple(replace(place, host="s") for place in case.run.places)
    told = [("c.1", "target.server.route", route[0]), ("c.1", "target.server.route_kind", route[1])]
    told += [("s", "target.server.route", "lo"), ("s", "target.server.route_kind", "loopback")]
    told += [(host, "host.boot", boot) for host, boot in zip(("c.1", "s"), boots, strict=True) if boot]
    if inside:
        told += [("c.1", "target.server.inside.p", inside[0]), ("c.1", "target.server.inside.p.kind", inside[1])]
    seen = Observations(
        readings=(replace(counted(1.0, "L3", "read", passed, f"interface:{route[0]}"), host="c.1"),),
        facts=tuple(
            Fact(host=host, when=When.BEFORE, key=key, value=value, fact_class=FactClass.IDENTITY) for host, key, value in told
        ),
    )
    whole = replace(case, phase=phase, run=replace(case.run, places=places, phases=(phase,)), observations=seen)
    return examine(RULE, whole)


def test_two_hosts_that_are_one_machine_have_no_wire():
    found = over_hosts(WIRE, boots=("b", "b"))
    assert (found.state, found.severity, found.host) == (State.FAIL, Severity.INVALIDATES, "c.1")
    assert "one machine (equal boot ids)" in found.statement
    assert over_hosts(Claim(), boots=("b", "b")).severity is Severity.NOTES
    assert over_hosts(LOOPBACK, boots=("b", "b")).state is State.PASS


def test_between_two_machines_the_servers_own_way_is_of_no_account():
    assert over_hosts(WIRE, route=("eth0", "physical")).state is State.PASS
    assert over_hosts(WIRE, route=("bond0", "virtual")).state is State.PASS, "a bond leaves the machine too"
    assert over_hosts(LOOPBACK, route=("bond0", "virtual")).severity is Severity.QUALIFIES
    assert over_hosts(WIRE, route=("lo", "loopback")).severity is Severity.INVALIDATES, "its own address"


def test_whether_two_hosts_are_one_machine_may_be_unknown():
    assert over_hosts(WIRE, boots=("b1", None)).state is State.UNVERIFIED
    assert over_hosts(WIRE, boots=("b1", None), route=("eth0", "physical")).state is State.PASS


def test_bytes_that_passed_another_way_are_no_wire():
    assert over_hosts(WIRE, passed=MIB).severity is Severity.INVALIDATES


def test_a_client_in_a_namespace_of_its_own_is_asked_there():
    assert over_hosts(WIRE, inside=("lo", "loopback")).severity is Severity.INVALIDATES
    assert over_hosts(WIRE, inside=("veth0", "physical"), passed=MIB).state is State.PASS, "its counters are not the lab's"
