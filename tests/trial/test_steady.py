"""When a phase is steady: rounds summed over clients on one grid, however their messages fall; and with the real engine."""

from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay import measures
from assay.records import Measure, Outcome, StopRule
from assay.trial.protocol import ClientState
from assay.trial.steady import CELLS, SteadyWatch, is_steady
from stage.trial_stage import MIB, Laboratory, bulk, trial

SECOND = 10**9
START = 7 * SECOND


def watch(clients=1):
    return SteadyWatch(round_ns=SECOND, start_ns=START, clients=clients)


def said(at_ns, count, offset_ns=0):
    told = {"at_ns": START + at_ns + offset_ns, "operations": {"read": {"count": count, "bytes": 0}}}
    return ClientState(progress=told, offset_ns=offset_ns)


def run(one, *rates):
    """Clients that work at these rates (a function of seconds), told every tenth of a second; seconds until it was steady."""
    done = [0.0] * len(rates)
    for tick in range(1, 401):
        at = tick / 10
        done = [count + rate(at - 0.05) / 10 for count, rate in zip(done, rates, strict=True)]
        if one.hear({index: said(round(at * SECOND), round(count)) for index, count in enumerate(done)}):
            return at
    return None


def test_equal_rounds_are_waited_for():
    one = watch()
    assert run(one, lambda at: 1000) == 5.0
    state = one.state(t0_ns=START - SECOND, stopped_ns=START + 5 * SECOND + 1)
    assert (state.reached, state.rounds, state.round_ns) == (True, 5, SECOND)
    assert (state.from_ns, state.to_ns, state.at_ns) == (SECOND, 6 * SECOND, 6 * SECOND + 1)
    one = watch()
    assert run(one, lambda at: 1000 if at > 3 else 300) == 8.0
    assert one.state(START, None).from_ns == 3 * SECOND
    one = watch()
    assert run(one, lambda at: 100 * 1.1**at) is None
    state = one.state(START, None)
    assert (state.reached, state.rounds, state.from_ns, state.to_ns, state.at_ns) == (False, 40, None, None, None)


def test_rounds_are_of_all_clients_in_their_own_clocks():
    """One client gains what the other loses: together they are steady from the start."""
    assert run(watch(2), lambda at: 100 + 50 * at, lambda at: 5000 - 50 * at) == 5.0
    assert run(watch(), lambda at: 100 + 50 * at) is None
    one = watch(2)
    for tick in range(1, 100):
        one.hear({0: said(tick * SECOND // 10, 100 * tick), 1: ClientState()})
    assert (one.rounds, one.reached) == (0, False)
    one = watch(2)
    for tick in range(1, 51):
        one.hear({0: said(tick * SECOND // 10, 100 * tick), 1: said(tick * SECOND // 10, 100 * tick, offset_ns=5 * SECOND)})
    assert (one.rounds, one.reached) == (5, True)


@given(
    st.lists(st.integers(1, 1000), min_size=60, max_size=60),
    st.lists(st.sets(st.integers(1, 60), min_size=1), min_size=1, max_size=3),
)
def test_how_the_messages_fall_changes_nothing_where_the_work_is_even(rates, ticks):
    """Messages at any of the edges of the cells, in any number: what is counted between those that were told is the same."""
    done = [0]
    for rate in rates:
        done.append(done[-1] + rate)
    one = watch(len(ticks))
    for client, told in enumerate(ticks):
        for tick in sorted(told):
            one.take(client, START + tick * SECOND // CELLS, done[tick])
    assert one.rounds <= min(max(told) for told in ticks) // CELLS
    for told in ticks:
        single = watch()
        for tick in sorted(told):
            single.take(0, START + tick * SECOND // CELLS, done[tick])
        for first, last in pairwise([0, *sorted(t for t in told if t <= CELLS * single.rounds)]):
            cells = single._courses[0].edges[first:last]
            before = single._courses[0].edges[first - 1] if first else 0.0
            assert cells[-1] - before == pytest.approx(done[last] - done[first])


def test_what_is_told_late_or_after_the_end_changes_nothing():
    one = watch()
    run(one, lambda at: 1000)
    before = one.state(START, 1)
    one.take(0, START + 4 * SECOND, 10**9)
    one.take(0, START + 90 * SECOND, 10**9)
    assert one.state(START, 1) == before


def test_a_step_within_the_five_rounds_is_seen_by_mser_where_it_is_small():
    still, step = [100.0] * 50, [100.0] * 26 + [97.0] * 24
    assert is_steady(still)
    assert not is_steady(step)


# --------------------------------------------------------------------------------------------- with the real engine


@pytest.fixture
def laboratory(tmp_path):
    made = Laboratory(tmp_path)
    yield made
    assert made.left() == ([], ()), "the trial left something behind"
    made.ledger.close()


def conduct(laboratory, *workloads, **levels):
    lab = laboratory.lab(*workloads)
    lab.install()
    try:
        return lab.run(trial(**levels), 1, lambda news: None)
    finally:
        lab.remove()


def reads(**knobs):
    given = {"operations": ("read",), "cache": "warm", "size": MIB, "record_size": 4096, "flush": "none", "until_steady": True}
    return bulk(**{**given, "round": SECOND // 5, **knobs})


def test_a_rate_that_is_offered_evenly_stops_all_clients_together(laboratory):
    """Offered at 500 operations a second, which any machine can do: steady after five rounds, long before a minute is over."""
    found, observations = conduct(laboratory, reads(duration=60 * SECOND, rate=500), clients=2)
    assert (found.outcome, found.error) == (Outcome.FINISHED, None)
    phase = found.phases[-1]
    assert phase.stop is StopRule.STEADY
    state = phase.steady
    assert state is not None
    assert state.reached
    assert state.to_ns - state.from_ns == 5 * state.round_ns == SECOND
    assert {client.stopped_by for client in phase.clients} == {"stop"}
    assert all(client.first_ns <= state.from_ns + state.round_ns for client in phase.clients)
    assert all(state.to_ns <= client.last_ns < state.at_ns + 30 * SECOND for client in phase.clients)
    measure = Measure(workload="w", operation="read", figure="ops_per_s")
    figure = measures.value(found, observations, measure)
    begun = max(client.first_ns for client in phase.clients)
    assert (figure.window.from_ns, figure.window.to_ns) == (max(begun, state.from_ns), state.to_ns)
    assert figure.value == pytest.approx(500, rel=0.1)
    assert "5 steady rounds" in figure.treatment


def test_what_is_not_steady_in_the_time_allowed_finishes_and_says_so(laboratory):
    """A Poisson process of two arrivals a round scatters by far more than 20 %."""
    workload = reads(duration=3 * SECOND, rate=10, arrivals="poisson")
    found, observations = conduct(laboratory, workload)
    assert (found.outcome, found.error) == (Outcome.FINISHED, None)
    phase = found.phases[-1]
    assert phase.steady is not None
    assert not phase.steady.reached
    assert phase.steady.rounds >= 6
    assert {client.stopped_by for client in phase.clients} == {"time"}
    whole = measures.value(found, observations, Measure(workload="w", operation="read", figure="ops_per_s"))
    assert whole.treatment is None


def test_a_phase_with_another_end_has_no_steady_state(laboratory):
    found, _ = conduct(laboratory, replace(reads(), knobs={**reads().knobs, "until_steady": False}))
    assert all(phase.steady is None for phase in found.phases)
