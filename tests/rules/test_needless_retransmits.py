"""L15: retransmissions against duplicates that the receiver reported, by connection or by network namespace."""

from dataclasses import replace

from assay.records import DatagramTotal, NetEnd, State
from assay.rules.needless_retransmits import RULE
from stage.network_cases import between, connection, end
from stage.said import ASKED, FAIL, NOT_ASKED, PASS, hold


def judged(again, needless, sent=100_000, reorderings=3):
    load = end(connection(retransmits=again, dsacks=needless, segments_out=sent, reorderings=reorderings))
    return RULE.check(between("L15", load=load))


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


def test_without_counters_nothing_is_known():
    case = foreign(80, 79)
    assert RULE.check(replace(case, observations=replace(case.observations, series=()))).state is State.UNVERIFIED


def test_states():
    hold(
        "most had arrived",
        (judged(1_071, 982), FAIL, "982", "nothing was lost"),
        (judged(1_071, 982, reorderings=0), "acknowledgements came late"),
        ("two ways of unlike length", judged(415, 353, reorderings=290), FAIL, "most of it was not lost, reordered 290 times"),
        ("most were lost", judged(1_071, 16), PASS),
        "few say nothing",
        (judged(19, 19), PASS),
        (judged(90, 90), PASS),
        "foreign ends are known by their namespaces",
        (RULE.check(foreign(80, 79)), "2", FAIL),
        (RULE.check(foreign(80, 0)), PASS),
        "datagrams are not sent again",
        (
            RULE.applies(between("L15", load=NetEnd(address="", accepted=1, connections=(), datagrams=DatagramTotal(sent=1)))),
            NOT_ASKED,
        ),
        (RULE.applies(between("L15")), ASKED),
    )
