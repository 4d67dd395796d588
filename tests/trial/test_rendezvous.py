"""The rendezvous: nobody starts before all are armed, all are told one T, whoever is late or silent is named, every wait ends."""

import sys
from collections import Counter
from functools import partial

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.trial.clocks import Clock
from assay.trial.protocol import ClientStep, Kill, Send
from assay.trial.rendezvous import Rendezvous, Stage
from assay.trial.silence import WaitLimits

MS = 1_000_000
SECOND = 1_000_000_000
PACE = WaitLimits()
START_NS = 100 * MS
LIMIT_NS = 600 * SECOND


def hello(pid=10):
    return {"type": "hello", "pid": pid, "version": "1", "build": "release"}


def clock(host, offset_ns=0, error_ns=0):
    return Clock(host=host, at_ns=MS, offset_ns=offset_ns, error_ns=error_ns)


def gathering(hosts=("here", "here"), **known):
    """`known`: host -> its clock; a host without one is this machine."""
    clocks = {host: known.get(host, clock(host)) for host in hosts}
    return Rendezvous(hosts=hosts, now_ns=0, pace=PACE, clocks=clocks)


def ready(hosts=("here", "here"), **known):
    rendezvous = gathering(hosts, **known)
    for client in range(rendezvous.count):
        rendezvous.hear(client, hello(10 + client), MS)
    return rendezvous


def armed(hosts=("here", "here"), phase="w.read", **known):
    rendezvous = ready(hosts, **known)
    arm(rendezvous, phase)
    return rendezvous


def arm(rendezvous, phase):
    rendezvous.arm(phase, [{"client": client} for client in range(rendezvous.count)], LIMIT_NS, 2 * MS)
    for client in range(rendezvous.count):
        rendezvous.hear(client, {"type": "armed", "phase": phase}, 3 * MS)


def running(hosts=("here", "here"), **known):
    rendezvous = armed(hosts, **known)
    return rendezvous, rendezvous.start(START_NS)


def arming():
    rendezvous = ready()
    rendezvous.arm("w.read", [{}, {}], SECOND, 0)
    return rendezvous


def said(instructions, kind):
    return {one.client: one.message for one in instructions if isinstance(one, Send) and one.message["type"] == kind}


def killed(instructions):
    return {one.client for one in instructions if isinstance(one, Kill)}


def result(phase="w.read", **more):
    return {"type": "result", "phase": phase, **more}


def told(mono_ns, phase="w.read"):
    return {"type": "told", "phase": phase, "at_ns": 0, "mono_ns": mono_ns}


def progress(count):
    return {"type": "progress", "operations": {"read": {"count": count, "bytes": 0}}}


def test_it_is_ready_when_the_last_client_has_said_hello():
    rendezvous = gathering()
    assert said(rendezvous.hear(0, hello(), 1), "lease")[0]["until_ns"] == 1 + PACE.idle_lease_ns
    assert rendezvous.state is Stage.GATHERING
    rendezvous.hear(1, hello(11), 2)
    assert rendezvous.state is Stage.READY
    assert [client.pid for client in rendezvous.clients] == [10, 11]


def test_it_is_armed_with_the_last_client_and_its_own_configuration():
    rendezvous = ready()
    told = rendezvous.arm("w.read", [{"client": 0, "settings": {"a": 1}}, {"client": 1}], 5, 0)
    assert told[0].message == {"type": "config", "phase": "w.read", "limit_ns": 5, "client": 0, "settings": {"a": 1}}
    assert told[1].client == 1
    rendezvous = ready()
    rendezvous.arm("w.read", [{}, {}], SECOND, 0)
    assert rendezvous.hear(0, {"type": "armed", "phase": "w.read"}, MS) == ()
    with pytest.raises(ValueError, match="not armed"):
        rendezvous.start(2 * MS)
    rendezvous.hear(1, {"type": "armed", "phase": "w.read"}, 9 * MS)
    assert rendezvous.state is Stage.ARMED
    rendezvous = armed(("c.1", "c.2", "c.3"))
    rendezvous.clocks = {"c.1": clock("c.1")}
    with pytest.raises(ValueError, match=r"no clock of c\.2, c\.3"):
        rendezvous.start(START_NS)
    with pytest.raises(ValueError, match="at least one"):
        Rendezvous(hosts=(), now_ns=0)


# ------------------------------------------------------------------------------------------ one T for all


def test_on_one_host_all_are_told_one_start_some_50_ms_ahead():
    rendezvous, orders = running(("here",) * 3)
    starts = {message["at_ns"] for message in said(orders, "go").values()}
    assert starts == {rendezvous.start_ns}
    assert PACE.margin_ns <= rendezvous.start_ns - START_NS <= PACE.margin_ns + MS


def test_each_host_and_its_way_get_time_to_confirm():
    far = {f"c.{number}": clock(f"c.{number}", error_ns=2 * MS) for number in range(1, 31)}
    rendezvous, _ = running(tuple(far), **far)
    assert 290 * MS < rendezvous.start_ns - START_NS < 350 * MS
    far["c.7"] = clock("c.7", error_ns=50 * MS)
    slow, _ = running(tuple(far), **far)
    assert slow.start_ns - rendezvous.start_ns == 3 * 2 * 48 * MS, "three of the slowest round trips"


def test_each_client_is_told_its_times_in_its_own_host_s_clock():
    rendezvous, orders = running(("c.1", "c.2", "c.1"), **{"c.2": clock("c.2", 7 * SECOND, MS)})
    goes, leases = said(orders, "go"), said(orders, "lease")
    assert [goes[index]["at_ns"] - rendezvous.start_ns for index in range(3)] == [0, 7 * SECOND, 0]
    assert leases[1]["until_ns"] == START_NS + PACE.lease_ns + 7 * SECOND
    assert leases[2]["until_ns"] == START_NS + PACE.lease_ns
    # Another machine's clock is another one, however little is known of the difference.
    rendezvous, orders = running(("c.1",), **{"c.1": clock("c.1", MS // 2, MS)})
    assert said(orders, "go")[0]["at_ns"] == rendezvous.start_ns + MS // 2
    rendezvous = armed()
    goes = said(rendezvous.start(0, [0, 2 * SECOND]), "go")
    assert goes[1]["at_ns"] - goes[0]["at_ns"] == 2 * SECOND


# ------------------------------------------------------------------------------------------ late


def test_who_is_late_is_named_and_who_is_in_time_is_not():
    rendezvous, _ = running(("c.1", "c.2"), **{"c.2": clock("c.2", 7 * SECOND, MS)})
    for client, offset_ns in enumerate((0, 7 * SECOND)):
        rendezvous.hear(client, told(rendezvous.start_ns + offset_ns), SECOND)
        rendezvous.hear(client, result(started_ns=rendezvous.start_ns + offset_ns + PACE.late_ns), 2 * SECOND)
    assert rendezvous.late == {}
    rendezvous, _ = running(("c.1", "c.2"), **{"c.2": clock("c.2", 7 * SECOND, MS)})
    rendezvous.hear(1, told(rendezvous.start_ns + 7 * SECOND + 12 * MS), SECOND)
    assert rendezvous.late == {1: "client 1 on c.2 received its start time 12 ms too late"}
    rendezvous.hear(1, result(started_ns=rendezvous.start_ns + 9 * SECOND), 3 * SECOND)
    assert "received" in rendezvous.late[1], "the cause is named, not what follows from it"
    rendezvous, _ = running()
    rendezvous.hear(0, result(started_ns=rendezvous.start_ns + PACE.late_ns), SECOND)
    rendezvous.hear(1, result(started_ns=rendezvous.start_ns + PACE.late_ns + MS), SECOND)
    assert rendezvous.late == {1: "client 1 started 501 ms too late"}
    rendezvous = armed()
    rendezvous.start(START_NS, [0, 2 * SECOND])
    rendezvous.hear(1, told(rendezvous.start_ns + SECOND), SECOND)
    rendezvous.hear(1, result(started_ns=rendezvous.start_ns + 2 * SECOND), 3 * SECOND)
    assert rendezvous.late == {}
    # With other work on all CPUs an engine read `go` up to 30 ms after T: it is late as any other start may be.
    rendezvous, _ = running(("here", "c.1"), **{"c.1": clock("c.1", 0, MS)})
    for client in range(2):
        rendezvous.hear(client, told(rendezvous.start_ns + 30 * MS), SECOND)
    assert rendezvous.late.keys() == {1}
    rendezvous, _ = running(("c.1",), **{"c.1": clock("c.1", 0, MS)})
    rendezvous.hear(0, told(rendezvous.start_ns + MS), SECOND)
    rendezvous.hear(0, result(), SECOND)
    assert rendezvous.late
    rendezvous.arm("w.stat", [{}], SECOND, 2 * SECOND)
    assert rendezvous.late == {}


# ------------------------------------------------------------------------------------------ to the end of a phase


def test_it_ends_with_the_last_result_and_can_arm_the_next_phase():
    rendezvous, _ = running()
    rendezvous.hear(0, result(), SECOND)
    assert rendezvous.state is Stage.RUNNING
    orders = rendezvous.hear(1, result(), 2 * SECOND)
    assert rendezvous.state is Stage.ENDED
    assert said(orders, "lease")[1]["until_ns"] == 2 * SECOND + PACE.idle_lease_ns
    assert rendezvous.results.keys() == {0, 1}
    rendezvous.arm("w.stat", [{}, {}], SECOND, 3 * SECOND)
    assert (rendezvous.state, rendezvous.results) == (Stage.ARMING, {})


def test_progress_is_kept_only_while_the_client_runs():
    rendezvous, _ = running()
    rendezvous.hear(0, progress(3), SECOND)
    assert rendezvous.clients[0].progress["operations"]["read"]["count"] == 3
    assert rendezvous.news().keys() == {0}
    assert rendezvous.news() == {}, "only what is new"
    rendezvous.hear(0, result(), SECOND)
    rendezvous.hear(0, progress(4), SECOND)
    assert rendezvous.clients[0].progress["operations"]["read"]["count"] == 3


def test_a_client_that_cannot_be_armed_calls_the_start_off():
    rendezvous = ready()
    rendezvous.arm("w.read", [{}, {}], SECOND, 0)
    rendezvous.hear(0, {"type": "error", "what": "open", "path": "/x", "errno": 2, "message": "No such file or directory"}, MS)
    assert rendezvous.state is Stage.ARMING, "the other one may still be arming"
    rendezvous.hear(1, {"type": "armed", "phase": "w.read"}, 2 * MS)
    assert rendezvous.state is Stage.ENDED
    assert rendezvous.failures == {0: "open /x: No such file or directory"}
    assert not rendezvous.lost
    with pytest.raises(ValueError, match="1 of them failed"):
        rendezvous.arm("w.stat", [{}, {}], SECOND, 0)


def test_a_client_lost_while_running_leaves_the_results_of_the_others():
    rendezvous, _ = running()
    rendezvous.lose(0, "its process has ended", SECOND)
    assert rendezvous.state is Stage.RUNNING
    rendezvous.hear(1, result(), 2 * SECOND)
    assert rendezvous.state is Stage.ENDED
    assert (rendezvous.results.keys(), rendezvous.lost) == ({1}, {0})
    assert "its process has ended" in rendezvous.failures[0]


def test_a_client_lost_while_nobody_is_waited_for_is_noticed(subtests):
    for state in [Stage.READY, Stage.ARMED]:
        with subtests.test(state=state):
            rendezvous = ready() if state is Stage.READY else armed()
            assert rendezvous.state is state
            rendezvous.lose(1, "gone", SECOND)
            assert rendezvous.state is Stage.ENDED


def test_every_wait_ends_at_its_deadline(subtests):
    for made, deadline_ns, words in [
        (gathering, PACE.hello_ns, "hello"),
        (arming, PACE.arm_ns, "armed"),
        (lambda: running()[0], START_NS + PACE.margin_ns + PACE.client_margin_ns + LIMIT_NS + PACE.grace_ns, "result"),
    ]:
        with subtests.test(made=made, deadline_ns=deadline_ns, words=words):
            rendezvous = made()
            assert not killed(rendezvous.tick(deadline_ns))
            assert killed(rendezvous.tick(deadline_ns + 1)) == {0, 1}
            assert rendezvous.state is Stage.ENDED
            assert all(f"no {words} in time" in text for text in rendezvous.failures.values())


def test_only_the_late_client_is_given_up():
    rendezvous, _ = running()
    rendezvous.hear(0, result(), SECOND)
    assert killed(rendezvous.tick(10**15)) == {1}


# ------------------------------------------------------------------------------------------ leases


def test_leases_are_renewed_in_thirds_while_running():
    rendezvous, _ = running()
    assert rendezvous.tick(START_NS + PACE.lease_ns // 3 - 1) == ()
    renewed = said(rendezvous.tick(START_NS + PACE.lease_ns // 3), "lease")
    assert {message["until_ns"] for message in renewed.values()} == {START_NS + PACE.lease_ns // 3 + PACE.lease_ns}
    rendezvous, _ = running()
    rendezvous.hear(0, result(), SECOND)
    leases = said(rendezvous.tick(11 * SECOND), "lease")
    assert leases[0]["until_ns"] - leases[1]["until_ns"] == PACE.idle_lease_ns - PACE.lease_ns
    rendezvous = ready(("c.1", "c.2"))
    rendezvous.clocks = {}
    assert rendezvous.tick(5 * SECOND) == ()
    rendezvous.clocks = {"c.2": clock("c.2", SECOND, MS)}
    assert said(rendezvous.tick(5 * SECOND), "lease") == {1: {"type": "lease", "until_ns": 6 * SECOND + PACE.idle_lease_ns}}


def ended():
    rendezvous, _ = running()
    for client in range(2):
        rendezvous.hear(client, result(), SECOND)
    return rendezvous


def test_idle_clients_have_a_short_lease_that_is_renewed_in_every_state(subtests):
    for made in [ready, arming, armed, ended]:
        with subtests.test(made=made):
            rendezvous, now_ns = made(), 20 * SECOND
            until_ns = now_ns
            for _ in range(5):
                leases = said(rendezvous.tick(now_ns), "lease")
                assert leases.keys() == {0, 1}
                assert now_ns <= until_ns, "it never ran out"
                until_ns = min(message["until_ns"] for message in leases.values())
                assert until_ns == now_ns + PACE.idle_lease_ns <= now_ns + 60 * SECOND
                assert rendezvous.tick(now_ns + PACE.idle_lease_ns // 3 - 1) == ()
                now_ns += PACE.idle_lease_ns // 3


# ------------------------------------------------------------------------------------------ silent, lost


def run_on(rendezvous, seconds, counts):
    """Ticks of a quarter second; each second `counts` (client -> count at that second) are told. What was ordered."""
    orders = []
    for quarter in range(4 * seconds.start, 4 * seconds.stop):
        now_ns = rendezvous.start_ns + quarter * SECOND // 4
        if quarter % 4 == 0:
            for client, count in counts.items():
                rendezvous.hear(client, progress(count(quarter // 4)), now_ns)
        orders += rendezvous.tick(now_ns)
    return orders


def test_a_client_without_a_line_is_named_while_the_rest_goes_on_and_no_more_once_it_is_heard():
    rendezvous, _ = running(("c.1", "c.2"))
    run_on(rendezvous, range(1, 4), {0: lambda at: at, 1: lambda at: at})
    assert rendezvous.silent == {}
    run_on(rendezvous, range(4, 10), {0: lambda at: at})
    assert rendezvous.silent.keys() == {1}
    assert rendezvous.silent[1].startswith("client 1 on c.2 has sent nothing for ")
    run_on(rendezvous, range(10, 12), {0: lambda at: at, 1: lambda at: at})
    assert rendezvous.silent == {}
    assert rendezvous.state is Stage.RUNNING


def test_a_silent_client_is_given_up_a_bounded_time_after_the_rest_has_ended():
    rendezvous, _ = running()
    assert not killed(run_on(rendezvous, range(1, 100), {0: lambda at: at})), "as long as the rest runs it may come back"
    rendezvous.hear(0, result(), rendezvous.start_ns + 100 * SECOND)
    assert not killed(run_on(rendezvous, range(100, 128), {}))
    assert killed(run_on(rendezvous, range(128, 134), {})) == {1}
    assert rendezvous.state is Stage.ENDED
    assert rendezvous.results.keys() == {0}
    assert "sent nothing for" in rendezvous.failures[1]
    assert rendezvous.silent == {}, "it is a failure now"


def test_the_only_client_is_given_up_in_time_too():
    rendezvous, _ = running(("here",))
    run_on(rendezvous, range(1, 3), {0: lambda at: at})
    assert killed(run_on(rendezvous, range(3, 45), {})) == {0}


def test_clients_that_complete_nothing():
    rendezvous, _ = running()
    run_on(rendezvous, range(1, 31), {0: lambda at: at, 1: lambda at: 7})
    assert "has completed no operation for" in rendezvous.silent[1]
    rendezvous.hear(0, result(), rendezvous.start_ns + 31 * SECOND)
    assert not killed(run_on(rendezvous, range(31, 120), {1: lambda at: 7})), "a last flush may take as long as all the work"
    assert killed(run_on(rendezvous, range(120, 125), {1: lambda at: 7})) == {1}
    rendezvous, _ = running()
    assert not killed(run_on(rendezvous, range(1, 300), {0: lambda at: min(at, 5), 1: lambda at: min(at, 5)}))
    assert rendezvous.silent == {}
    rendezvous, _ = running()
    run_on(rendezvous, range(1, 5), {0: lambda at: 0, 1: lambda at: 0})
    rendezvous.hear(0, result(), rendezvous.start_ns + 5 * SECOND)
    assert not killed(run_on(rendezvous, range(5, 300), {1: lambda at: 0}))
    assert rendezvous.silent == {}


def test_who_starts_later_or_is_not_asked_is_not_silent():
    rendezvous = armed()
    rendezvous.start(START_NS, [0, 100 * SECOND])
    run_on(rendezvous, range(1, 30), {0: lambda at: at})
    rendezvous.hear(0, result(), rendezvous.start_ns + 30 * SECOND)
    assert not killed(run_on(rendezvous, range(30, 100), {}))
    assert rendezvous.silent == {}
    rendezvous, _ = running()
    run_on(rendezvous, range(1, 3), {0: lambda at: at, 1: lambda at: at})
    rendezvous.tick(rendezvous.start_ns + 60 * SECOND)
    assert rendezvous.silent == {}


def test_a_lost_host_loses_its_clients_at_once_for_one_reason(subtests):
    for state in [Stage.GATHERING, Stage.READY, Stage.ARMING, Stage.ARMED, Stage.RUNNING]:
        with subtests.test(state=state):
            hosts = ("c.1", "c.2", "c.1", "c.2")
            made = {
                Stage.GATHERING: gathering,
                Stage.READY: ready,
                Stage.ARMED: armed,
                Stage.RUNNING: lambda one: running(one)[0],
            }
            rendezvous = made.get(state, ready)(hosts)
            if state is Stage.ARMING:
                rendezvous.arm("w.read", [{}] * 4, SECOND, 2 * MS)
            assert rendezvous.lose_host("c.2", "no answer for 30 s", SECOND) == ()
            assert rendezvous.lost == {1, 3}
            assert set(rendezvous.failures.values()) == {"host c.2 was lost with 2 clients: no answer for 30 s"}
            expected = {Stage.READY: Stage.ENDED, Stage.ARMED: Stage.ENDED}
            assert rendezvous.state is expected.get(state, state)
            assert said(rendezvous.tick(60 * SECOND - 1), "lease").keys() <= {0, 2}, "the lost are not spoken to"


def test_the_results_of_the_other_hosts_are_kept():
    rendezvous, _ = running(("c.1", "c.2", "c.1"))
    rendezvous.hear(0, result(), SECOND)
    rendezvous.lose_host("c.1", "its connection ended", 2 * SECOND)
    assert rendezvous.failures.keys() == {0, 2}
    rendezvous.hear(1, result(), 3 * SECOND)
    assert (rendezvous.state, rendezvous.results.keys()) == (Stage.ENDED, {0, 1})


# ------------------------------------------------------------------------------------------ what must not be


def test_stop_reaches_only_those_that_run_and_shortens_the_wait():
    rendezvous, _ = running()
    rendezvous.hear(0, result(), SECOND)
    assert said(rendezvous.stop(2 * SECOND), "stop").keys() == {1}
    assert rendezvous.stop(2 * SECOND) == ()
    rendezvous.tick(2 * SECOND + PACE.stop_ns + 1)
    assert rendezvous.lost == {1}


def test_what_must_not_be_said_costs_the_client_its_life(subtests):
    for message in [
        {"type": "hello", "pid": 1},
        {"type": "armed", "phase": "w.read"},
        {"type": "clock", "mono_ns": 1},
        {"type": "told", "phase": "w.read"},
        {"type": "told", "phase": "another", "mono_ns": 1},
        {"type": "result", "phase": "another"},
        {"type": "sing"},
        {"no": "type"},
    ]:
        with subtests.test(message=message):
            rendezvous, _ = running()
            assert killed(rendezvous.hear(0, message, SECOND)) == {0}
            assert rendezvous.lost == {0}
            assert rendezvous.hear(0, result(), SECOND) == (), "the dead are not heard"


def operations_of(work):
    """How many instructions of the interpreter a piece of work takes: the same on every machine."""
    counted = Counter()

    def tracer(frame, event, _):
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        counted[event] += 1
        return tracer

    before = sys.gettrace()
    sys.settrace(tracer)
    try:
        work()
    finally:
        sys.settrace(before)
    return counted["opcode"]


def arm_and_start(clients):
    hosts = tuple(f"c.{index % 30}" for index in range(clients))
    rendezvous, _ = running(hosts)
    for client in range(clients):
        rendezvous.hear(client, told(1), SECOND)
    return rendezvous


def hear_all(rendezvous, message):
    for client in range(rendezvous.count):
        rendezvous.hear(client, message, SECOND)
        rendezvous.tick(SECOND)


def test_a_message_costs_the_same_however_many_clients_there_are(subtests):
    for work in [
        arm_and_start,
        lambda clients: hear_all(arm_and_start(clients), progress(3)),
        lambda clients: hear_all(arm_and_start(clients), result()),
    ]:
        with subtests.test(work=work):
            few, many = operations_of(partial(work, 40)), operations_of(partial(work, 400))
            assert many < 10.5 * few
            assert many < 400 * 3000, "some microseconds a client"


MESSAGES = st.sampled_from(
    [
        {"type": "hello", "pid": 7},
        {"type": "armed", "phase": "p"},
        {"type": "clock", "mono_ns": 5},
        {"type": "told", "phase": "p", "mono_ns": 5},
        {"type": "told", "phase": "p", "mono_ns": 10**18},
        {"type": "progress", "operations": {}},
        {"type": "result", "phase": "p"},
        {"type": "result", "phase": "p", "started_ns": 10**18},
        {"type": "error", "what": "x", "message": "y"},
        {"type": "strange"},
    ]
)
EVENTS = st.one_of(
    st.tuples(st.just("hear"), st.integers(0, 2), MESSAGES),
    st.tuples(st.just("lose"), st.integers(0, 2), st.just("gone")),
    st.tuples(st.just("lose host"), st.integers(0, 2), st.just("gone")),
    st.tuples(st.just("tick"), st.integers(0, 2), st.integers(0, 20 * SECOND)),
    st.tuples(st.just("expected"), st.integers(0, 2), st.none()),
    st.tuples(st.just("go on"), st.integers(0, 2), st.none()),
)
NEXT = {
    ClientStep.STARTED: {"type": "hello", "pid": 7},
    ClientStep.ARMING: {"type": "armed", "phase": "p"},
    ClientStep.RUNNING: {"type": "result", "phase": "p"},
}


def step(rendezvous, event, now):
    what, client, detail = event
    if what == "hear":
        return rendezvous.hear(client, detail, now)
    if what == "lose":
        return rendezvous.lose(client, detail, now)
    if what == "lose host":
        return rendezvous.lose_host(rendezvous.hosts[client], detail, now)
    if what == "tick":
        return rendezvous.tick(now)
    if what == "expected":
        one = rendezvous.clients[client]
        return rendezvous.hear(client, NEXT[one.step], now) if one.step in NEXT else ()
    return go_on(rendezvous, now)


def go_on(rendezvous, now):
    if rendezvous.state is Stage.ARMED:
        return rendezvous.start(now)
    if rendezvous.state in (Stage.READY, Stage.ENDED) and not rendezvous.failures:
        return rendezvous.arm("p", [{}, {}, {}], SECOND, now)
    return ()


@settings(max_examples=300, deadline=None)
@given(st.lists(EVENTS, max_size=60))
def test_whatever_happens_the_promises_hold(events):
    rendezvous, now = gathering(("a", "b", "a")), 0
    for event in events:
        now += event[2] if event[0] == "tick" else MS
        before = rendezvous.state
        orders = step(rendezvous, event, now)
        goes = said(orders, "go")
        if goes:
            assert before is Stage.ARMED, "a start before all were armed"
            assert goes.keys() == {0, 1, 2}
            assert len({message["at_ns"] for message in goes.values()}) == 1
            assert rendezvous.start_ns >= now + PACE.margin_ns
        for one in orders:
            gone = rendezvous.clients[one.client].step is ClientStep.LOST
            assert gone is isinstance(one, Kill) or one.message["type"] == "lease", "spoke to the dead"
        steps = Counter(client.step for client in rendezvous.clients)
        assert steps == +rendezvous._at_step, "counted wrongly"
        assert rendezvous.lost <= rendezvous.failures.keys()
        assert not rendezvous.lost & rendezvous.silent.keys()
        if rendezvous.failures:
            assert rendezvous.state not in (Stage.READY, Stage.ARMED)
    for _ in range(4):
        now += 10**15
        rendezvous.tick(now)
    assert rendezvous.state in (Stage.READY, Stage.ARMED, Stage.ENDED), "a wait that never ends"
