"""W12: operations that were given up at the end, pauses in between, and loads that got all their answers."""

from array import array
from dataclasses import replace

import pytest

from assay import measures
from assay.records import Late, NetConnection, NetEnd, Series, SocketBuffer, Unfinished
from assay.rules.stalled import RULE
from audit.case_builder import SECOND, Made, case_of
from stage.rows import each
from stage.said import ASKED, BOUNDED, FAIL, NOT_ASKED, NOTES, PASS, QUALIFIES, UNBOUNDED, UNVERIFIED, high, hold, low
from test_outages import noted

SECONDS, LAST_S = 8.0, 3.0
BUFFER = SocketBuffer(asked=None, got=1, end=1)


def connection(ended="interrupted", **tcp):
    return NetConnection(
        protocol="tcp", local="10.0.0.1:1", peer="10.0.0.2:2", ended=ended, send_buffer=BUFFER, receive_buffer=BUFFER, tcp=tcp
    )


def dead(last_s=LAST_S, count=300, waited_s=10.0, net=None, others=(), **made):
    """A client whose last operation of `count` ended at `last_s` of 8 s, and whose next one was given up after `waited_s`."""
    case = case_of(Made(**{"count": count, "record_bytes": 1000, "seconds": last_s, "figure": "ops_per_s", **made}), "W12")
    (client,) = case.phase.clients
    left = Unfinished(
        count=1, from_ns=round(last_s * SECOND), waited_ns=round(waited_s * SECOND), longest_ns=round(waited_s * SECOND)
    )
    (total,) = client.operations
    ends = NetEnd(address="", accepted=1, connections=(net,)) if net else None
    client = replace(
        client,
        stopped_by="time",
        ends_ns=round(SECONDS * SECOND),
        net=ends,
        operations=(replace(total, unfinished=left, **({"busy_ns": 0, "last_ns": 0} if not count else {})),),
    )
    phase = replace(case.phase, clients=(client, *others), end_ns=round(SECONDS * SECOND))
    return valued(replace(case, phase=phase, run=replace(case.run, phases=(phase,))))


def stuck(others=300, last_s=37.0, busy_s=None, **made):
    """A client of which `others` operations ended within 3 s, and the next one 29 s after the 8 s that were asked for."""
    case = case_of(Made(count=others + 1, record_bytes=1000, seconds=last_s, **{"figure": "ops_per_s", **made}), "W12")
    (client,) = case.phase.clients
    (total,) = client.operations
    over = Late(count=1, bytes=1000, from_ns=3 * SECOND)
    busy_ns = round((last_s if busy_s is None else busy_s) * SECOND)
    client = replace(client, stopped_by="time", ends_ns=8 * SECOND, operations=(replace(total, late=over, busy_ns=busy_ns),))
    phase = replace(case.phase, clients=(client,))
    return valued(replace(case, phase=phase, run=replace(case.run, phases=(phase,))))


def unnoted(rate):
    """The counters of a load that was stopped from 4 s to 6 s: nobody notes them, and nothing is done."""
    return [
        replace(one, at_ns=one.at_ns[:40] + one.at_ns[60:], value=one.value[:40] + one.value[60:])
        for one in noted(rate, away=[(4, 6)])
    ]


def held_at(*stopped, metric="stopped"):
    """A tool without intervals, of which so many threads of the load were stopped at each look."""
    case = case_of(Made(values={"read.ops_per_s": 1.0}, seconds=4.0, figure="ops_per_s"), "W12")
    times = [round((at + 0.5) * SECOND) for at in range(len(stopped))]
    series = replace(
        noted(100)[0], layer="end_cpu", subject="load", metric=metric, at_ns=array("q", times), value=array("d", stopped)
    )
    return replace(case, observations=replace(case.observations, series=(series,)))


def by_its_lines(pause_s, begin_s, **made):
    """A tool that sent 80 MB in 8 s and printed a pause."""
    told = {
        "bytes": 80e6,
        "elapsed_ns": 8e9,
        "bytes_per_s": 10e6,
        "longest_pause_ns": pause_s * 1e9,
        "pause_begin_ns": begin_s * 1e9,
    }
    case = case_of(
        Made(operation="send", figure="bytes_per_s", values={f"send.{name}": one for name, one in told.items()}, **made), "W12"
    )
    return replace(case, value=10e6)


def valued(case):
    figure = measures.value(case.run, case.observations, case.measure)
    return replace(case, value=None if figure is None else figure.value)


def lively(*series: Series, seconds=10.0, count=1000, **made):
    case = case_of(Made(seconds=seconds, count=count, figure="ops_per_s", **made), "W12")
    return replace(case, observations=replace(case.observations, series=tuple(one for each in series for one in each)))


def overdue(*series, **made):
    case = valued(lively(*series, **made))
    (client,) = case.phase.clients
    clients = (replace(client, stopped_by="time", ends_ns=8 * SECOND),)
    return replace(case, phase=replace(case.phase, clients=clients))


def test_states():
    path = connection(timeouts=5, unacked_segments=58)
    hold(
        (
            "the rate is over the time asked, and what was under way is in its range",
            RULE.check(dead()),
            *(FAIL, QUALIFIES, low(300 / 8), high(301 / 8), "no answer", "since 3 s", {"silent_share": 5 / 8}),
        ),
        (
            "a connection without acknowledgements is a dead path",
            RULE.check(dead(net=path)),
            FAIL,
            "path dead",
            "5 retransmission",
        ),
        ("an end that acknowledges and is silent", RULE.check(dead(net=connection(timeouts=0, unacked_segments=0))), "no answer"),
        ("nothing done at all is 0, with its cause", RULE.check(dead(0.0, 0, net=path)), FAIL, low(0), high(1 / 8), "path dead"),
        ("one that waited at the very end alone", RULE.check(dead(last_s=7.9)), FAIL, NOTES, UNBOUNDED),
        (
            "a pause in between",
            RULE.check(lively(noted(100, away=[(4, 7)]))),
            FAIL,
            NOTES,
            UNBOUNDED,
            "a pause",
            "3.10 s from 3.9",
        ),
        ("the load itself stood still", RULE.check(lively(unnoted(100))), FAIL, NOTES, "stood still itself"),
        ("until the end", RULE.check(lively(noted(100, away=[(6, 10)]))), FAIL, NOTES, "came to its end to the end", "from 5.9"),
        (
            "the last one came long after its time",
            RULE.check(overdue(noted(1), count=10, latencies_ns=(SECOND,) * 10)),
            FAIL,
            NOTES,
            "ended after its time",
            "2 s after 8 s",
        ),
        (
            "an unusual one: over the time asked it was faster",
            RULE.check(overdue(noted(100), latencies_ns=(*(SECOND // 100,) * 800, 2 * SECOND))),
            *(FAIL, QUALIFIES, low(100), high(125)),
        ),
        (
            "a call of the kernel that ended long after: the rate is without it, over the time asked",
            RULE.check(stuck()),
            *(
                FAIL,
                QUALIFIES,
                low(300 / 8),
                high(301 / 8),
                "no answer",
                "since 3 s",
                "ended 29 s after",
                {"silent_share": 5 / 8},
            ),
        ),
        (
            "a pause that was given up is at least so long",
            RULE.check(replace(dead(figure="longest_pause_ns"), value=5e9)),
            *(FAIL, QUALIFIES, low(5e9)),
        ),
        ("a pause that ended was measured", RULE.check(replace(stuck(figure="longest_pause_ns"), value=5e9)), NOTES, UNBOUNDED),
        ("its latency was measured", RULE.check(stuck(figure="latency_max_ns")), FAIL, NOTES, UNBOUNDED),
        ("all are as slow as that", RULE.check(stuck(others=2, busy_s=90.0)), UNVERIFIED),
        (
            "a tool whose intervals are empty to the end may have sent into a buffer",
            RULE.check(by_its_lines(5.0, 3.0)),
            *(FAIL, QUALIFIES, high(10e6), "nothing moved to the end", "5 s from 3 s on"),
        ),
        ("and one that goes on", RULE.check(by_its_lines(2.0, 3.0)), FAIL, NOTES, UNBOUNDED, "2 s from 3 s on"),
        ("a short one", RULE.check(by_its_lines(0.3, 3.0)), PASS),
        ("a steady load", RULE.check(lively(noted(100))), PASS),
        ("operations that take as long as that are no pause", RULE.check(lively(noted(0.4), count=4)), PASS),
        ("nobody noted what was done over time", RULE.check(lively()), UNVERIFIED),
        (RULE.applies(lively(values={"read.ops_per_s": 1.0})), NOT_ASKED),
        (RULE.check(held_at(0, 0, 0, 0)), PASS),
        "a tool whose load was stopped by a signal",
        (RULE.applies(held_at(0, 1, 1, 0)), ASKED),
        (RULE.check(held_at(0, 1, 1, 0)), FAIL, NOTES, "the load was stopped", {"stopped_share": 0.5}),
        (RULE.check(held_at(0, 1, 1, 0, metric="frozen")), FAIL, NOTES, "the load was frozen", "by their control group"),
    )


@each(
    "figure value",
    ("ops_per_s", 300 / 8),
    ("bytes_per_s", 300_000 / 8),
    ("latency_mean_ns", (3 * SECOND + 10 * SECOND) / 301),
)
def test_what_was_given_up_has_its_time_in_each_figure(figure, value):
    case = dead()
    case = valued(replace(case, measure=replace(case.measure, figure=figure)))
    assert case.value == pytest.approx(value)
    hold((figure, RULE.check(case), FAIL, BOUNDED, low(value)))


def test_a_dead_client_beside_a_living_one_has_its_time_too():
    alone = dead()
    (client,) = alone.phase.clients
    (total,) = client.operations
    living = replace(total, count=800, bytes=800_000, last_ns=round(8 * SECOND), unfinished=None)
    other = replace(client, index=1, last_ns=living.last_ns, operations=(living,))
    case = dead(others=(other,))
    assert case.value == pytest.approx(1100 / 8)
    hold(("which clients", RULE.check(case), FAIL, "1 of 2 clients"))
