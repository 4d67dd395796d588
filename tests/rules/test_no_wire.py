"""L05: loopback, veth and a real interface against what is claimed of the path."""

from dataclasses import replace

from assay.audit.judge import examine
from assay.records import Claim, Fact, FactClass, Observations, Path, PhaseHost, Server, ServerNode, Severity, State, When
from assay.rules.no_wire import RULE
from audit.case_builder import MIB, Made, case_of
from stage import network_cases
from stage.rows import each
from stage.said import ASKED, FAIL, INVALIDATES, NOT_ASKED, PASS, QUALIFIES, UNVERIFIED, hold
from stage.server_cases import counted, served

WIRE, LOOPBACK = Claim(path=Path.WIRE), Claim(path=Path.LOOPBACK)
MOVED = {"read.bytes": 100.0 * MIB}


def judged(claim, route=("lo", "loopback"), passed=None, served_bytes=None, **more):
    facts = {"route": route[0], "route_kind": route[1]} if route else {}
    rungs = [] if passed is None else [("L3", "read", passed, f"interface:{route[0]}")]
    rungs += [] if served_bytes is None else [("L4", "read", served_bytes)]
    return RULE.check(served("L05", rungs, facts=facts, claim=claim, values=MOVED, figure="bytes", **more))


def on_the_loopback(passed, route=("lo", "loopback"), **more):
    """A loopback claimed, and the bytes that the server's interface counted."""
    rungs = [] if passed is None else [("L4", "read", passed, f"interface:{route[0]}")]
    facts = {"route": route[0], "route_kind": route[1]}
    return RULE.check(served("L05", rungs, facts=facts, claim=LOOPBACK, **{"values": MOVED, "figure": "bytes", **more}))


@each("route", ("lo", "loopback"), ("veth0", "virtual"))
def test_what_stays_on_the_machine_is_no_wire(route):
    found = judged(WIRE, route)
    assert (found.state, found.severity) == (State.FAIL, Severity.INVALIDATES)
    assert on_the_loopback(105 * MIB, route).state is State.PASS
    assert judged(Claim(), route).severity is Severity.NOTES
    assert judged(Claim(), route).relabel.startswith("same host")


def test_an_interface_without_a_device_may_lead_out():
    assert judged(WIRE, ("wg0", "unknown"), 105 * MIB).state is State.UNVERIFIED
    assert over_hosts(WIRE, route=("wg0", "unknown")).state is State.PASS, "two machines that are two"


@each("of_data state", (True, State.FAIL), (False, State.NOT_APPLICABLE))
def test_as_is_what_went_over_the_loopback_is_noted(of_data, state):
    """No server is named and no path claimed: the sockets of the command were seen, or nothing is said."""
    facts = [(f"target.server.inside.p{name}", value) for name, value in (("", "lo"), (".kind", "loopback"))] if of_data else []
    case = network_cases.between("L05", facts=facts, claim=Claim())
    places = tuple(replace(place, server=None) for place in case.run.places)
    found = examine(RULE, replace(case, run=replace(case.run, places=places)))
    assert (found.state, found.severity is Severity.NOTES) == (state, of_data)


def over_hosts(claim, *, route=("eth0", "virtual"), boots=("b1", "b2"), passed=105 * MIB, inside=None, seen_inside=None):
    """Clients on c.1, the server on s: the way as c.1 tells it, with the boot ids of both."""
    case = served("L05", claim=claim, values=MOVED, figure="bytes", server=Server(nodes=(ServerNode(host="s", pid_file="/p"),)))
    clients = tuple(replace(one, host="c.1") for one in case.phase.clients)
    phase = replace(case.phase, clients=clients, hosts=(PhaseHost(host="c.1"), PhaseHost(host="s")))
    places = tuple(replace(place, host="s") for place in case.run.places)
    told = [("c.1", "target.server.route", route[0]), ("c.1", "target.server.route_kind", route[1])]
    told += [("s", "target.server.route", "lo"), ("s", "target.server.route_kind", "loopback")]
    told += [(host, "host.boot", boot) for host, boot in zip(("c.1", "s"), boots, strict=True) if boot]
    if inside:
        way = zip(("", ".kind", ".space"), inside, strict=True)
        told += [("c.1", f"target.server.inside.p{name}", value) for name, value in way]
        told += [("c.1", "end_network.spaces.p", f"net:[1] 7; net:[2] {clients[0].pid}")]
    there = ["rx_bytes", "tx_bytes"] if seen_inside is not None else []
    seen = Observations(
        series=tuple(passing(f"net:[{space}]@eth1", metric, moved) for metric in there for space, moved in seen_inside),
        readings=(replace(counted(1.0, "L3", "read", passed, f"interface:{route[0]}"), host="c.1"),),
        facts=tuple(
            Fact(host=host, when=When.BEFORE, key=key, value=value, fact_class=FactClass.IDENTITY)
            for host, key, value in told
            if value
        ),
    )
    whole = replace(case, phase=phase, run=replace(case.run, places=places, phases=(phase,)), observations=seen)
    return examine(RULE, whole)


def passing(subject, metric, moved):
    series = network_cases.series("end_network", subject, metric, (0, moved / 2, moved / 2), "bytes")
    return replace(series, host="c.1")


def sent_without_a_claim(passed, operation="send"):
    """Data that an end of Assay's sent by the interface that the route names, and the bytes that this one counted."""
    facts = [("target.server.route", "eth0"), ("target.server.route_kind", "physical")]
    case = network_cases.between("L05", facts=facts, claim=Claim(), operation=operation)
    rung = counted(2.0, "L3", "read", passed * sum(one.bytes for one in case.phase.clients[0].operations), "interface:eth0")
    return RULE.check(replace(case, observations=replace(case.observations, readings=(*case.observations.readings, rung))))


def over_line(*, sent, delivered, arrived):
    """Datagrams through a line of the lab, in MiB: by their sender, by the line, by their receiver."""
    gauges = [("line", "line:wan.up", "delivered_bytes", (0, delivered * MIB))]
    case = network_cases.between("L05", gauges=gauges, facts=[("target.line", "wan")], claim=Claim(path=Path.EMULATED))
    ends = [
        replace(one, operations=(replace(one.operations[0], bytes=moved * MIB),))
        for one, moved in zip((*case.phase.clients, *case.phase.servers), (sent, arrived), strict=True)
    ]
    return RULE.check(replace(case, phase=replace(case.phase, clients=(ends[0],), servers=(ends[1],))))


def test_two_hosts_that_are_one_machine_have_no_wire():
    found = over_hosts(WIRE, boots=("b", "b"))
    assert (found.state, found.severity, found.host) == (State.FAIL, Severity.INVALIDATES, "c.1")
    assert over_hosts(Claim(), boots=("b", "b")).severity is Severity.NOTES
    assert over_hosts(LOOPBACK, boots=("b", "b")).state is State.PASS


def test_states():
    hold(
        "an interface that carried it is a wire",
        (judged(WIRE, ("eth0", "physical"), 105 * MIB), PASS),
        (judged(WIRE, ("eth0", "physical")), UNVERIFIED),
        ("an interface that carried nothing is none", judged(WIRE, ("eth0", "physical"), MIB), FAIL, INVALIDATES),
        "another interface proves nothing about this one",
        (
            RULE.check(
                served(
                    "L05",
                    [("L3", "read", 0, "interface:eth0"), ("L3", "read", 200 * MIB, "interface:eth1")],
                    facts={"route": "eth0", "route_kind": "physical"},
                    claim=WIRE,
                    values=MOVED,
                    figure="bytes",
                )
            ),
            FAIL,
        ),
        "a loopback carries what the clients move",
        (on_the_loopback(105 * MIB), PASS),
        (on_the_loopback(0), FAIL, INVALIDATES, "no mount of this server", "traffic outside lo"),
        (on_the_loopback(None), UNVERIFIED),
        (on_the_loopback(5000, values={}, operation="create"), PASS),
        (on_the_loopback(0, values={}, operation="create"), UNVERIFIED, "no byte"),
        ("a wire is no loopback", judged(LOOPBACK, ("eth0", "physical"), 105 * MIB), QUALIFIES),
        ("an unknown way is unverified", judged(WIRE, None), UNVERIFIED),
        "it is asked where a path is claimed or a server named",
        (RULE.applies(case_of(Made(), "L05")), NOT_ASKED),
        (RULE.applies(case_of(Made(claim=Claim(path=Path.LOCAL)), "L05")), NOT_ASKED),
        (RULE.applies(case_of(Made(claim=WIRE), "L05")), ASKED),
        (RULE.applies(served("L05")), ASKED),
        "between two machines the servers own way is of no account",
        (over_hosts(WIRE, route=("eth0", "physical")), PASS),
        (over_hosts(WIRE, route=("bond0", "virtual")), PASS),
        (over_hosts(LOOPBACK, route=("bond0", "virtual")), QUALIFIES),
        (over_hosts(WIRE, route=("lo", "loopback")), INVALIDATES),
        "whether two hosts are one machine may be unknown",
        (over_hosts(WIRE, boots=("b1", None)), UNVERIFIED),
        (over_hosts(WIRE, boots=("b1", None), route=("eth0", "physical")), PASS),
        ("bytes that passed another way are no wire", over_hosts(WIRE, passed=MIB), INVALIDATES),
        "a client in a namespace of its own is asked there",
        (over_hosts(WIRE, inside=("lo", "loopback", "apart")), INVALIDATES),
        (over_hosts(WIRE, inside=("eth1", "physical", "apart"), seen_inside=[(2, 60 * MIB)]), PASS),
        (over_hosts(WIRE, inside=("eth1", "physical", "apart"), seen_inside=[(1, 60 * MIB), (2, MIB)]), INVALIDATES),
        ("where nobody counted there", over_hosts(WIRE, inside=("eth1", "physical", "apart")), UNVERIFIED),
        ("an old run does not tell whose interface it is", over_hosts(WIRE, inside=("eth0", "physical", None)), UNVERIFIED),
        "sockets in the lab's own namespace: the bytes of its interface, not the route, decide",
        (over_hosts(WIRE, inside=("eth0", "virtual", "own")), PASS),
        (over_hosts(WIRE, inside=("eth0", "virtual", "own"), passed=MIB), INVALIDATES),
        "as-is, what was sent by another way than the route names is noted",
        (sent_without_a_claim(1.05), PASS),
        (sent_without_a_claim(0.01), FAIL, Severity.NOTES, "traffic outside eth0"),
        ("a cache may answer reads", judged(Claim(), ("eth0", "physical"), MIB), PASS),
        "datagrams that the line's own queue dropped took no other way",
        (over_line(sent=1000, delivered=100, arrived=98), PASS),
        (over_line(sent=1000, delivered=5, arrived=500), FAIL, INVALIDATES),
    )
