"""The rendezvous: nobody starts before all are armed, all are told one T, and every wait ends."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.trial.protocol import Kill, Probe, Send, Step, compare_clocks
from assay.trial.rendezvous import Pace, Rendezvous, State

MS = 1_000_000
SECOND = 1_000_000_000
PACE = Pace(probes=2)


def hello(pid=10):
    return {"type": "hello", "pid": pid, "version": "1", "build": "release"}


def ready(count=2, pace=PACE):
    rendezvous = Rendezvous(count=count, now_ns=0, pace=pace)
    for client in range(count):
        rendezvous.hear(client, hello(10 + client), MS)
    return rendezvous


def armed(count=2, phase="w.read", offset_ns=0, pace=PACE):
    rendezvous = ready(count, pace)
    arm(rendezvous, phase)
    answer_probes(rendezvous, offset_ns)
    return rendezvous


def arm(rendezvous, phase):
    rendezvous.arm(phase, [{"client": client} for client in range(rendezvous.count)], 60 * SECOND, 2 * MS)
    for client in range(rendezvous.count):
        rendezvous.hear(client, {"type": "armed", "phase": phase}, 3 * MS)


def answer_probes(rendezvous, offset_ns=0):
    now = 3 * MS
    for _ in range(rendezvous.pace.probes):
        now += 2 * MS
        for client in range(rendezvous.count):
            rendezvous.hear(client, {"type": "clock", "mono_ns": now - MS + offset_ns}, now)


def running(count=2, **kwargs):
    rendezvous = armed(count, **kwargs)
    return rendezvous, rendezvous.start(100 * MS)


def arming():
    rendezvous = ready()
    rendezvous.arm("w.read", [{}, {}], SECOND, 0)
    return rendezvous


def probing():
    rendezvous = ready()
    arm(rendezvous, "w.read")
    return rendezvous


def said(instructions, kind):
    return {one.client: one.message for one in instructions if isinstance(one, Send) and one.message["type"] == kind}


def result(phase="w.read", **more):
    return {"type": "result", "phase": phase, **more}


def test_it_is_ready_when_the_last_client_has_said_hello():
    rendezvous = Rendezvous(count=2, now_ns=0)
    rendezvous.hear(0, hello(), 1)
    assert rendezvous.state is State.GATHERING
    rendezvous.hear(1, hello(11), 2)
    assert rendezvous.state is State.READY
    assert [client.pid for client in rendezvous.clients] == [10, 11]


def test_arming_sends_each_client_its_own_configuration_in_one_envelope():
    rendezvous = ready()
    told = rendezvous.arm("w.read", [{"client": 0, "settings": {"a": 1}}, {"client": 1}], 5, 0)
    assert told[0].message == {"type": "config", "phase": "w.read", "limit_ns": 5, "client": 0, "settings": {"a": 1}}
    assert told[1].client == 1


def test_clocks_are_compared_only_after_the_last_client_is_armed():
    rendezvous = ready()
    rendezvous.arm("w.read", [{}, {}], SECOND, 0)
    assert rendezvous.hear(0, {"type": "armed", "phase": "w.read"}, MS) == ()
    asked = rendezvous.hear(1, {"type": "armed", "phase": "w.read"}, 9 * MS)
    assert said(asked, "clock").keys() == {0, 1}
    with pytest.raises(ValueError, match="not armed"):
        rendezvous.start(10 * MS)


def test_all_are_told_one_start_after_margin_and_three_round_trips():
    rendezvous, told = running(3)
    starts = {message["at_ns"] for message in said(told, "go").values()}
    assert starts == {100 * MS + 3 * 2 * MS + PACE.margin_ns}
    assert rendezvous.start_ns in starts


def test_a_clock_that_is_truly_apart_is_told_the_start_in_its_own_time():
    rendezvous, told = running(1, offset_ns=7 * SECOND)
    assert rendezvous.clients[0].probe == Probe(offset_ns=7 * SECOND, error_ns=MS)
    assert said(told, "go")[0]["at_ns"] == rendezvous.start_ns + 7 * SECOND
    assert said(told, "lease")[0]["until_ns"] == 100 * MS + PACE.lease_ns + 7 * SECOND


def test_an_offset_within_its_error_is_not_applied():
    rendezvous, told = running(1, offset_ns=MS // 2)
    assert rendezvous.clients[0].probe.offset_ns == MS // 2
    assert said(told, "go")[0]["at_ns"] == rendezvous.start_ns


def test_a_client_can_be_made_late_on_purpose():
    rendezvous = armed(2)
    told = said(rendezvous.start(0, [0, 2 * SECOND]), "go")
    assert told[1]["at_ns"] - told[0]["at_ns"] == 2 * SECOND


def test_it_ends_with_the_last_result_and_can_arm_the_next_phase():
    rendezvous, _ = running()
    rendezvous.hear(0, result(), SECOND)
    assert rendezvous.state is State.RUNNING
    told = rendezvous.hear(1, result(), 2 * SECOND)
    assert rendezvous.state is State.ENDED
    assert said(told, "lease")[1]["until_ns"] == 2 * SECOND + PACE.idle_lease_ns
    assert rendezvous.results.keys() == {0, 1}
    rendezvous.arm("w.stat", [{}, {}], SECOND, 3 * SECOND)
    assert (rendezvous.state, rendezvous.results) == (State.ARMING, {})


def test_progress_is_kept_only_while_the_client_runs():
    rendezvous, _ = running(1)
    rendezvous.hear(0, {"type": "progress", "operations": {"read": {"count": 3}}}, SECOND)
    assert rendezvous.clients[0].progress["operations"]["read"]["count"] == 3
    rendezvous.hear(0, result(), SECOND)
    rendezvous.hear(0, {"type": "progress", "operations": {}}, SECOND)
    assert rendezvous.clients[0].progress["operations"]["read"]["count"] == 3


def test_a_client_that_cannot_be_armed_calls_the_start_off():
    rendezvous = ready()
    rendezvous.arm("w.read", [{}, {}], SECOND, 0)
    rendezvous.hear(0, {"type": "error", "what": "open", "path": "/x", "errno": 2, "message": "No such file or directory"}, MS)
    assert rendezvous.state is State.ARMING, "the other one may still be arming"
    rendezvous.hear(1, {"type": "armed", "phase": "w.read"}, 2 * MS)
    assert rendezvous.state is State.ENDED
    assert rendezvous.failures == {0: "open /x: No such file or directory"}
    assert not rendezvous.lost
    with pytest.raises(ValueError, match="1 of them failed"):
        rendezvous.arm("w.stat", [{}, {}], SECOND, 0)


def test_a_client_lost_while_running_leaves_the_results_of_the_others():
    rendezvous, _ = running()
    rendezvous.lose(0, "its process has ended", SECOND)
    assert rendezvous.state is State.RUNNING
    rendezvous.hear(1, result(), 2 * SECOND)
    assert rendezvous.state is State.ENDED
    assert (rendezvous.results.keys(), rendezvous.lost) == ({1}, {0})
    assert "its process has ended" in rendezvous.failures[0]


@pytest.mark.parametrize("state", [State.READY, State.ARMED])
def test_a_client_lost_while_nobody_is_waited_for_is_noticed(state):
    rendezvous = ready() if state is State.READY else armed()
    assert rendezvous.state is state
    rendezvous.lose(1, "gone", SECOND)
    assert rendezvous.state is State.ENDED


@pytest.mark.parametrize(
    ("made", "deadline_ns", "words"),
    [
        (lambda: Rendezvous(count=2, now_ns=0, pace=PACE), PACE.hello_ns, "hello"),
        (arming, PACE.arm_ns, "armed"),
        (probing, PACE.arm_ns + 3 * MS, "clock"),
        (lambda: running()[0], 100 * MS + 6 * MS + PACE.margin_ns + 60 * SECOND + PACE.grace_ns, "result"),
    ],
)
def test_every_wait_ends_at_its_deadline(made, deadline_ns, words):
    rendezvous = made()
    assert not [one for one in rendezvous.tick(deadline_ns) if isinstance(one, Kill)]
    given_up = rendezvous.tick(deadline_ns + 1)
    assert {one.client for one in given_up if isinstance(one, Kill)} == {0, 1}
    assert rendezvous.state is State.ENDED
    assert all(f"no {words} in time" in text for text in rendezvous.failures.values())


def test_only_the_late_client_is_given_up():
    rendezvous, _ = running()
    rendezvous.hear(0, result(), SECOND)
    killed = [one.client for one in rendezvous.tick(10**15) if isinstance(one, Kill)]
    assert killed == [1]


def test_leases_are_renewed_in_thirds_while_running():
    rendezvous, _ = running()
    assert rendezvous.tick(100 * MS + PACE.lease_ns // 3 - 1) == ()
    renewed = said(rendezvous.tick(100 * MS + PACE.lease_ns // 3), "lease")
    assert {message["until_ns"] for message in renewed.values()} == {100 * MS + PACE.lease_ns // 3 + PACE.lease_ns}


def test_stop_reaches_only_those_that_run_and_shortens_the_wait():
    rendezvous, _ = running()
    rendezvous.hear(0, result(), SECOND)
    assert said(rendezvous.stop(2 * SECOND), "stop").keys() == {1}
    assert rendezvous.stop(2 * SECOND) == ()
    rendezvous.tick(2 * SECOND + PACE.stop_ns + 1)
    assert rendezvous.lost == {1}


@pytest.mark.parametrize(
    "message",
    [
        {"type": "hello", "pid": 1},
        {"type": "armed", "phase": "w.read"},
        {"type": "clock", "mono_ns": 1},
        {"type": "result", "phase": "another"},
        {"type": "sing"},
        {"no": "type"},
    ],
)
def test_what_must_not_be_said_costs_the_client_its_life(message):
    rendezvous, _ = running()
    told = rendezvous.hear(0, message, SECOND)
    assert [one.client for one in told if isinstance(one, Kill)] == [0]
    assert rendezvous.lost == {0}
    assert rendezvous.hear(0, result(), SECOND) == (), "the dead are not heard"


def test_no_clients_are_refused():
    with pytest.raises(ValueError, match="at least one"):
        Rendezvous(count=0, now_ns=0)


@given(
    asked=st.integers(0, 10**15), there=st.integers(0, 10**9), back=st.integers(0, 10**9), offset=st.integers(-(10**12), 10**12)
)
def test_the_true_offset_lies_within_the_error(asked, there, back, offset):
    seen = compare_clocks(asked, asked + there + offset, asked + there + back)
    assert abs(seen.offset_ns - offset) <= seen.error_ns + 1


MESSAGES = st.sampled_from(
    [
        {"type": "hello", "pid": 7},
        {"type": "armed", "phase": "p"},
        {"type": "clock", "mono_ns": 5},
        {"type": "progress", "operations": {}},
        {"type": "result", "phase": "p"},
        {"type": "error", "what": "x", "message": "y"},
        {"type": "strange"},
    ]
)
EVENTS = st.one_of(
    st.tuples(st.just("hear"), st.integers(0, 2), MESSAGES),
    st.tuples(st.just("lose"), st.integers(0, 2), st.just("gone")),
    st.tuples(st.just("tick"), st.integers(0, 2), st.integers(0, 20 * SECOND)),
    st.tuples(st.just("expected"), st.integers(0, 2), st.none()),
    st.tuples(st.just("go on"), st.integers(0, 2), st.none()),
)
NEXT = {
    Step.STARTED: {"type": "hello", "pid": 7},
    Step.ARMING: {"type": "armed", "phase": "p"},
    Step.ARMED: {"type": "clock", "mono_ns": 5},
    Step.RUNNING: {"type": "result", "phase": "p"},
}


def step(rendezvous, event, now):
    what, client, detail = event
    if what == "hear":
        return rendezvous.hear(client, detail, now)
    if what == "lose":
        return rendezvous.lose(client, detail, now)
    if what == "tick":
        return rendezvous.tick(now)
    if what == "expected":
        one = rendezvous.clients[client]
        return rendezvous.hear(client, NEXT[one.step], now) if one.step in NEXT else ()
    return go_on(rendezvous, now)


def go_on(rendezvous, now):
    if rendezvous.state is State.ARMED:
        return rendezvous.start(now)
    if rendezvous.state in (State.READY, State.ENDED) and not rendezvous.failures:
        return rendezvous.arm("p", [{}, {}, {}], SECOND, now)
    return ()


@settings(max_examples=300, deadline=None)
@given(st.lists(EVENTS, max_size=60))
def test_whatever_happens_the_promises_hold(events):
    rendezvous, now = Rendezvous(count=3, now_ns=0, pace=PACE), 0
    went: dict[int, int] = {}
    for event in events:
        now += event[2] if event[0] == "tick" else MS
        before = rendezvous.state
        told = step(rendezvous, event, now)
        goes = said(told, "go")
        if goes:
            assert before is State.ARMED, "a start before all were armed"
            assert goes.keys() == {0, 1, 2}
            assert len({message["at_ns"] for message in goes.values()}) == 1
            assert rendezvous.start_ns >= now + PACE.margin_ns
            went[rendezvous.start_ns] = went.get(rendezvous.start_ns, 0) + 1
        for one in told:
            if isinstance(one, Kill):
                assert rendezvous.clients[one.client].step is Step.LOST
            elif one.message["type"] != "lease":
                assert rendezvous.clients[one.client].step is not Step.LOST, "spoke to the dead"
        assert not (rendezvous.lost & set(rendezvous.results)) or rendezvous.failures
        assert set(rendezvous.lost) <= set(rendezvous.failures)
        if rendezvous.failures:
            assert rendezvous.state not in (State.READY, State.PROBING, State.ARMED)
    for _ in range(4):
        now += 10**15
        rendezvous.tick(now)
    assert rendezvous.state in (State.READY, State.ARMED, State.ENDED), "a wait that never ends"
