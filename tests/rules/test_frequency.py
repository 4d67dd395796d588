"""N01: work that took longer after than before, as far as the load felt it; throttling; governors; what was not timed."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from assay.records import EngineCost, Fact, FactClass, Observations, Severity, State, When
from assay.rules.frequency import RULE
from stage.noise_cases import phase, run, trial_case
from stage.rows import each
from stage.said import FAIL, NOTES, UNBOUNDED, UNVERIFIED, hold


def judged(before=None, after=None, *, on_cpu=1.0, figure="bytes_per_s", workers=1):
    """Facts of the class noise before and after; the load computes for a part of ten seconds."""
    facts = tuple(
        Fact(host="local", when=when, key=f"speed.{key}", value=str(value), fact_class=FactClass.NOISE)
        for when, found in ((When.BEFORE, before or {}), (When.AFTER, after or {}))
        for key, value in found.items()
    )
    of = phase(workers=workers)
    spent = EngineCost(cpu_user_ns=int(on_cpu * 6e9 * workers), cpu_system_ns=int(on_cpu * 4e9 * workers))
    clients = tuple(replace(client, cost=spent if on_cpu is not None else None) for client in of.clients)
    return RULE.check(trial_case("N01", run(of=replace(of, clients=clients)), Observations(facts=facts), figure=figure))


@each(
    "after on_cpu state",
    (400_000, 1.0, State.PASS),
    (407_000, 1.0, State.PASS),
    (412_000, 1.0, State.FAIL),
    (388_000, 1.0, State.FAIL),
    (480_000, 0.08, State.PASS),
    (480_000, 0.2, State.FAIL),
)
def test_a_change_of_speed_counts_as_far_as_the_load_computed(after, on_cpu, state):
    found = judged({"piece_ns": 400_000}, {"piece_ns": after}, on_cpu=on_cpu)
    assert found.state is state


def test_processors_that_were_too_hot_qualify_without_a_bound():
    times = {"piece_ns": 400_000, "throttled.core": 5, "throttled.package": 7}
    found = judged(times, {**times, "throttled.core": 9})
    assert (found.state, found.severity, found.bound) == (State.FAIL, Severity.QUALIFIES, None)
    assert judged(times, times).state is State.PASS


def test_a_governor_that_follows_the_load_is_a_note():
    times = {"piece_ns": 400_000, "governor": "powersave"}
    found = judged(times, times)
    assert (found.state, found.severity) == (State.FAIL, Severity.NOTES)
    assert judged({**times, "governor": "performance"}, times).state is State.PASS


@given(st.integers(1, 10**9), st.integers(1, 10**9), st.floats(0, 1))
def test_before_and_after_are_alike(one, other, on_cpu):
    forth = judged({"piece_ns": one}, {"piece_ns": other}, on_cpu=on_cpu)
    back = judged({"piece_ns": other}, {"piece_ns": one}, on_cpu=on_cpu)
    assert (forth.state, forth.observed) == (back.state, back.observed)


def test_states():
    hold(
        "two short looks are a note and no bound",
        (judged({"piece_ns": 400_000}, {"piece_ns": 500_000}), FAIL, NOTES, UNBOUNDED, "25 %"),
        "several workers share their time",
        (judged({"piece_ns": 400_000}, {"piece_ns": 480_000}, on_cpu=0.08, workers=4), {"on_cpu_share": 0.08}),
        "what was not timed at both ends is not known",
        (judged(), UNVERIFIED),
        (judged({"piece_ns": 400_000}), UNVERIFIED),
        (judged(after={"piece_ns": 400_000}), UNVERIFIED),
    )
