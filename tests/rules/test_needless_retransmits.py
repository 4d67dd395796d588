"""L15: retransmissions against duplicates that the receiver reported, by connection or by network namespace."""

from dataclasses import replace

from assay.records import DatagramTotal, NetEnd, State
from assay.rules.needless_retransmits import RULE
from network_cases import between, connection, end


def judged(again, needless, sent=100_000, reorderings=3):
    load = end(connection(retransmits=again, dsacks=needless, segments_out=sent, reorderings=reorderings))
    return RULE.check(between("L15", load=load))


def test_most_had_arrived():
    found = judged(1_071, 982)
    assert found.state is State.FAIL
    assert found.relabel == "sent again though nothing was lost"
    assert "982 of these had arrived (91.7 %, limit 50 %): nothing was lost, reordered 3 times" in found.statement
    assert "acknowledgements came late" in judged(1_071, 982, reorderings=0).statement


def test_most_were_lost():
    found = judged(1_071, 16)
    assert found.state is State.PASS
    assert "most were lost before" in found.statement


def test_few_say_nothing():
    assert judged(19, 19).state is State.PASS
    assert judged(90, 90).state is State.PASS, "less than one in 1,000"


def foreign(again, needless):
    """The counters of two namespaces, of which the first is the quieter one."""
    rows = [("net:[1]", 5, 5), ("net:[2]", again, needless)]
    gauges = [
        ("end_network", space, metric, (0, value))
        for space, sent_again, had in rows
        for metric, value in (
            ("tcp_retransmitted_segments", sent_again),
            ("tcp_dsacks", had),
            ("tcp_reorderings", 0),
            ("tcp_sent_segments", 10_000),
        )
    ]
    case = between("L15", gauges=gauges)
    return replace(
        case, phase=replace(case.phase, clients=tuple(replace(one, net=None) for one in case.phase.clients), servers=())
    )


def test_foreign_ends_are_known_by_their_namespaces():
    assert "Network namespace 2 sent 80 of 10,000 segments again" in RULE.check(foreign(80, 79)).statement
    assert RULE.check(foreign(80, 79)).state is State.FAIL
    assert RULE.check(foreign(80, 0)).state is State.PASS


def test_without_counters_nothing_is_known():
    case = foreign(80, 79)
    assert RULE.check(replace(case, observations=replace(case.observations, series=()))).state is State.UNVERIFIED


def test_datagrams_are_not_sent_again():
    datagrams = NetEnd(address="", accepted=1, connections=(), datagrams=DatagramTotal(sent=1))
    assert RULE.applies(between("L15", load=datagrams))
    assert RULE.applies(between("L15")) is None
