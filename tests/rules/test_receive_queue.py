"""L16: datagrams that the receiver's buffer refused, against those that were lost on the way."""

from dataclasses import replace

import pytest

from assay.records import ABSOLUTE, Claim, Path, Severity, State
from assay.rules.receive_queue import RULE
from network_cases import between, end


def case(lost, drops, received=61_784, gauges=(), **more):
    load = end(datagrams={"sent": received + lost})
    server = end(datagrams={"received": received, "lost": lost, "buffer_drops": drops})
    return between("L16", load=load, server=server, gauges=gauges, **more)


def test_the_buffer_is_named():
    found = RULE.check(case(79_736, 79_736))
    assert (found.state, found.severity) == (State.FAIL, Severity.NOTES)
    assert found.relabel == "datagrams lost in the receiver's socket buffer, not on the way"
    assert "79,736 of 141,520 datagrams lost (56.3 %); 100 % of them in the receiver's socket buffer" in found.statement


def test_a_wire_that_is_claimed_is_qualified():
    assert RULE.check(case(79_736, 79_736, claim=Claim(path=Path.WIRE))).severity is Severity.QUALIFIES


def test_what_was_lost_on_the_way_is_no_fault_of_the_buffer():
    found = RULE.check(case(1_000, 10))
    assert found.state is State.PASS
    assert "most were lost elsewhere on the way" in found.statement
    assert RULE.check(case(50, 50)).state is State.PASS, "less than one in 1,000"
    assert RULE.check(case(0, 0)).state is State.PASS


def test_other_queues_that_dropped_are_named():
    gauges = [("end_network", "net:[2]@eth0", "rx_drops", (0, 7)), ("network", "", "softnet_dropped", (0, 9))]
    found = RULE.check(case(1_000, 900, gauges=gauges))
    assert "9 in the backlog of a CPU (softnet), 7 in the receive queue of eth0" in found.statement


def test_queues_between_the_ends_are_named():
    gauges = [("line", "line:wan.up", "dropped_segments", (5, 905)), ("middlebox", ABSOLUTE, "shaper_dropped", (0, 40))]
    found = RULE.check(case(1_000, 10, gauges=gauges))
    assert found.state is State.PASS
    assert "900 in the queue of path wan.up, 40 in the shaper of the box: most were lost elsewhere" in found.statement


def test_one_drop_is_a_train_where_the_kernel_cuts_and_joins():
    assert RULE.check(case(4_400, 100, knobs={"segment": True, "message": 1_472})).state is State.FAIL
    assert RULE.check(case(4_400, 100)).state is State.PASS


def foreign(drops, received):
    gauges = [
        ("end_network", "net:[2]", "udp_receive_buffer_errors", (0, drops)),
        ("end_network", "net:[2]", "udp_received", (0, received)),
    ]
    made = between("L16", gauges=gauges)
    return replace(
        made, phase=replace(made.phase, clients=tuple(replace(one, net=None) for one in made.phase.clients), servers=())
    )


@pytest.mark.parametrize(("drops", "state"), [(79_736, State.FAIL), (0, State.PASS)])
def test_foreign_ends_are_known_by_the_namespace_of_the_receiver(drops, state):
    assert RULE.applies(foreign(drops, 61_784)) is None
    assert RULE.check(foreign(drops, 61_784)).state is state


def test_streams_have_no_datagrams():
    assert RULE.applies(between("L16")) == "no datagrams"
    assert RULE.applies(foreign(0, 0)) == "no datagrams"


def test_drops_that_the_kernel_does_not_tell_are_unverified():
    assert RULE.check(case(1_000, None)).state is State.UNVERIFIED
