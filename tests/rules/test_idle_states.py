"""N06: the wake of states that were used against the latency; figures that are none; states that were hardly entered."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from assay.records import Observations, Severity, State
from assay.rules.idle_states import RULE
from stage.noise_cases import run, series, trial_case
from stage.rows import each
from stage.said import ASKED, NOT_ASKED, PASS, hold


def case(states, value=100_000.0, figure="latency_p50_ns"):
    """States: name -> (entries under the clock, time to wake in ns)."""
    rows = []
    for name, (entries, wakes) in states.items():
        rows.append(series("idle", "entries", [(-1, 0.0), (11, float(entries))], f"state:{name}"))
        rows.append(series("idle", "wake_ns", [(-1, wakes), (11, wakes)], f"state:{name}"))
    return replace(trial_case("N06", run(), Observations(series=tuple(rows)), figure=figure), value=value)


def judged(states, **changes):
    return RULE.check(case(states, **changes))


@each("value state", (10_000.0, State.FAIL), (199_000.0, State.FAIL), (201_000.0, State.PASS), (5e6, State.PASS))
def test_a_wake_counts_by_its_share_of_the_latency(value, state):
    found = judged({"POLL": (10, 0.0), "C6": (900, 10_000.0)}, value=value)
    assert (found.state, found.severity) == (state, Severity.NOTES)


@given(st.floats(0, 1e9), st.floats(1, 1e9), st.floats(1, 1e9))
def test_a_longer_latency_is_never_worse(wakes, one, other):
    order = [State.FAIL, State.PASS]
    less, more = (judged({"C6": (9, wakes)}, value=value).state for value in sorted((one, other)))
    assert order.index(more) >= order.index(less)


def test_states():
    hold(
        ("what is said names the state and is never more than all", judged({"C6": (900, 133_000.0)}), "6", "100 %"),
        "a state that was hardly entered is not what the latency saw",
        (judged({"C1": (990, 1000.0), "C6": (10, 133_000.0)}), PASS),
        "processors that never slept need no waking",
        (judged({"POLL": (5000, 0.0), "C6": (0, 133_000.0)}), PASS),
        (judged({"C6": (0, 133_000.0)}), "No CPU was idle during the clock."),
        "only latencies are judged",
        (RULE.applies(case({})), ASKED),
        (RULE.applies(case({}, figure="ops_per_s")), NOT_ASKED),
        (RULE.applies(case({}, value=None)), NOT_ASKED),
    )
