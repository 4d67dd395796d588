"""N06: the wake of states that were used against the latency; figures that are none; states that were hardly entered."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.records import Observations, Severity, State
from assay.rules.idle_states import RULE
from noise_cases import run, series, trial_case


def case(states, value=100_000.0, figure="latency_p50_ns"):
    """States: name -> (entries under the clock, time to wake in ns)."""
    rows = []
    for name, (entries, wakes) in states.items():
        rows.append(series("idle", "entries", [(-1, 0.0), (11, float(entries))], f"state:{name}"))
        rows.append(series("idle", "wake_ns", [(-1, wakes), (11, wakes)], f"state:{name}"))
    return replace(trial_case("N06", run(), Observations(series=tuple(rows)), figure=figure), value=value)


def judged(states, **changes):
    return RULE.check(case(states, **changes))


@pytest.mark.parametrize(
    ("value", "state"), [(10_000.0, State.FAIL), (199_000.0, State.FAIL), (201_000.0, State.PASS), (5e6, State.PASS)]
)
def test_a_wake_counts_by_its_share_of_the_latency(value, state):
    found = judged({"POLL": (10, 0.0), "C6": (900, 10_000.0)}, value=value)
    assert (found.state, found.severity) == (state, Severity.NOTES)


def test_what_is_said_names_the_state_and_is_never_more_than_all():
    found = judged({"C6": (900, 133_000.0)})
    assert "C6 900 times" in found.statement
    assert "up to 100 % of the latency" in found.statement


def test_a_state_that_was_hardly_entered_is_not_what_the_latency_saw():
    assert judged({"C1": (990, 1000.0), "C6": (10, 133_000.0)}).state is State.PASS


def test_processors_that_never_slept_need_no_waking():
    assert judged({"POLL": (5000, 0.0), "C6": (0, 133_000.0)}).state is State.PASS
    assert judged({"C6": (0, 133_000.0)}).statement == "No CPU was idle during the clock."


def test_only_latencies_are_judged():
    assert RULE.applies(case({})) is None
    assert RULE.applies(case({}, figure="ops_per_s")) == "the figure is no latency"
    assert RULE.applies(case({}, value=None)) == "the figure is no latency"


@given(st.floats(0, 1e9), st.floats(1, 1e9), st.floats(1, 1e9))
def test_a_longer_latency_is_never_worse(wakes, one, other):
    order = [State.FAIL, State.PASS]
    less, more = (judged({"C6": (9, wakes)}, value=value).state for value in sorted((one, other)))
    assert order.index(more) >= order.index(less)
