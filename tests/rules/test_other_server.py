"""E13: the named server, a program before it, another program in its place, and hosts apart."""

from array import array
from dataclasses import replace

from assay.records import Server, ServerNode
from assay.rules.other_server import RULE
from audit.case_builder import SECOND, Made, case_of
from stage.said import FAIL, INVALIDATES, NOT_ASKED, PASS, UNVERIFIED, hold
from stage.server_cases import gauge, served

APART = Server(nodes=(ServerNode(pid_file="/p", address="10.0.0.5"),))
DOORS = {"doors.p": "0.0.0.0:80, 10.0.0.5:443"}


def judged(facts, **more):
    return RULE.check(served("E13", facts=facts, **more))


def apart(reached, facts=DOORS, rungs=(), address="10.0.0.5"):
    server = Server(nodes=(ServerNode(pid_file="/p", address=address),))
    return judged({"reached.p": reached, **facts}, server=server, rungs=rungs)


def test_one_machine():
    other = {"instead.p": "python3 (7)"}
    hold(
        ("the server accepted it", judged({"direct.p": "0100007F:CF24"}), PASS),
        ("another program did", judged(other), FAIL, INVALIDATES, "the load is connected to python3 (7)"),
        ("a proxy", judged({"between.p": "haproxy (4711)"}), PASS),
        ("a program on the server's port", judged({"beside.p": "nginx (9)"}), PASS),
        ("nobody knows", judged({}), UNVERIFIED),
        (RULE.applies(case_of(Made(), "E13")), NOT_ASKED),
    )


def test_two_machines():
    moved = (("L4", "read", 200_000_000), ("L4", "write", 9_000_000))
    few = (("L4", "read", 90), ("L4", "write", 90))
    hold(
        ("a door of the server", apart("10.0.0.5:80, 10.0.0.1:53"), PASS),
        ("another host", apart("10.0.0.9:80", rungs=few), FAIL, INVALIDATES, "10.0.0.9:80"),
        ("another port of that host", apart("10.0.0.5:8080", rungs=few), FAIL, INVALIDATES),
        ("its address, translated on the way", apart("10.0.0.5:80", rungs=few), UNVERIFIED, "NAT"),
        ("its address, by its bytes", apart("10.0.0.5:80", rungs=moved), PASS),
        ("a balancer before it", apart("10.0.0.9:80", rungs=moved), UNVERIFIED),
        ("its bytes are unknown", apart("10.0.0.9:80"), UNVERIFIED),
        ("its doors are unknown", apart("10.0.0.9:80", facts={}, rungs=few), UNVERIFIED),
    )


def test_addresses_are_compared_not_their_texts():
    few, doors = (("L4", "read", 90),), {"doors.p": "[::]:80"}
    moved = (("L4", "read", 200_000_000),)
    hold(
        "the same address",
        (apart("[fd00::2]:80", doors, moved, address="FD00:0:0::2"), PASS),
        (apart("[fe80::2]:80", doors, moved, address="fe80::2%eth1"), PASS),
        (apart("10.0.0.5:80", doors, moved, address="::ffff:10.0.0.5"), PASS),
        ("another one", apart("[fd00::3]:80", doors, few, address="fd00::2"), FAIL, INVALIDATES),
        ("a name is no address", apart("[fd00::3]:80", doors, few, address="filer"), UNVERIFIED, "server.address"),
    )


def test_the_labs_own_connections_are_no_traffic_of_the_load():
    moved = measured_bytes()
    both = (("L4", "read", 0.1 * moved), ("L4", "write", 0.6 * moved))

    def beside_the_lab(rungs):
        case = served("E13", facts={"reached.p": "10.0.0.9:80", **DOORS}, server=APART, rungs=rungs)
        counted = replace(
            gauge(1.0, "lab_bytes", ()),
            at_ns=array("q", (0, 1000, SECOND, SECOND + 1000)),
            value=array("d", (0, 20_000, 20_000 + 0.6 * moved, 5 * moved)),
        )
        return RULE.check(replace(case, observations=replace(case.observations, series=(*case.observations.series, counted))))

    hold(
        ("nearly all is the lab's", beside_the_lab(both), FAIL, INVALIDATES),
        ("the same without its account", apart("10.0.0.9:80", rungs=both), UNVERIFIED),
        ("a balancer's beside it", beside_the_lab((*both, ("L4", "read", moved))), UNVERIFIED),
    )


def measured_bytes():
    return sum(count.bytes for client in case_of(Made(), "E13").phase.clients for count in client.operations)
