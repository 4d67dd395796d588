"""N01c: arms at the same speed, one on slower processors, speeds that come and go, cycles before pieces of work."""

from dataclasses import replace

import numpy as np

from assay.records import EngineCost, Fact, FactClass, Observations, Severity, State, When
from assay.rules.frequency_differs import RULE
from stage.comparison_cases import case
from stage.noise_cases import phase
from stage.rows import each
from stage.said import FAIL, PASS, UNVERIFIED, hold

PIECE_NS = 400_000


def judged(slower=1.0, *, spread=0.001, on_cpu=1.0, cycles=None, missing=False, **made):
    """Six blocks; the candidate's piece of work takes so many times as long; `cycles` is its clock rate over the baseline's."""
    draw = np.random.default_rng(5)

    def of(trial):
        candidate = trial.levels["target"] == "xfs"
        spent = int(on_cpu * 10e9)
        counted = None if cycles is None else int(spent * 2.3 * (cycles if candidate else 1.0) / 2)
        cost = EngineCost(cpu_user_ns=spent, cpu_system_ns=0, user_cycles=counted, kernel_cycles=counted)
        found = phase()
        clients = tuple(replace(client, cost=cost) for client in found.clients)
        return replace(found, workload="w", clients=clients)

    def seen(run):
        times = slower if run.trial.levels["target"] == "xfs" else 1.0
        facts = [
            Fact(
                host="local",
                when=when,
                key="speed.piece_ns",
                value=str(round(PIECE_NS * times * draw.normal(1, spread))),
                fact_class=FactClass.NOISE,
            )
            for when in (When.BEFORE, When.AFTER)
        ]
        return run, Observations(facts=() if missing else tuple(facts))

    one = case("N01c", lambda trial: 100.0 + trial.id % 3, phases=of, **made)
    measure = replace(one.measure, workload="w", operation="write")
    arms = [tuple(seen(run) for run, _ in arm) for arm in (one.baseline, one.candidate)]
    return RULE.check(replace(one, measure=measure, baseline=arms[0], candidate=arms[1]))


@each(
    "slower on_cpu state",
    (1.0, 1.0, State.PASS),
    (1.1, 1.0, State.FAIL),
    (0.9, 1.0, State.FAIL),
    (1.1, 0.1, State.PASS),
    (1.1, 0.3, State.FAIL),
)
def test_arms_at_other_speeds_are_told_as_far_as_the_load_felt_it(slower, on_cpu, state):
    assert judged(slower, on_cpu=on_cpu).state is state


def test_what_is_told_is_bounded_by_equal_speeds():
    found = judged(1.25)
    assert (found.state, found.severity) == (State.FAIL, Severity.QUALIFIES)
    assert "20 %" in found.statement
    even = judged(1.0)
    assert even.bound is None
    assert found.bound.high / found.bound.low > 1.25


def test_a_speed_that_is_declared_to_follow_is_not_judged():
    one = case("N01c", lambda trial: 100.0)
    assert RULE.applies(one) is None
    assert "declared" in RULE.applies(replace(one, experiment=replace(one.experiment, implied=("speed.*",))))


def test_states():
    hold(
        ("a speed that comes and goes is in the interval already", judged(1.0, spread=0.2), PASS),
        "cycles go before pieces of work",
        (judged(1.2, cycles=1.0), PASS),
        (judged(1.0, cycles=0.9), FAIL),
        "what nobody timed and too few runs are not known",
        (judged(missing=True), UNVERIFIED),
        (judged(1.2, blocks=2), UNVERIFIED),
        (judged(missing=True, cycles=1.0), PASS),
    )
