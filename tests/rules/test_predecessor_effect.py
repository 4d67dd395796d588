import math
from dataclasses import replace

import numpy as np
import pytest

from assay import catalogue
from assay.experiment import plan as planning
from assay.records import Severity, State
from stage import notebook_records as made
from stage.comparison_cases import of_runs
from stage.said import FAIL, NOT_ASKED, PASS, hold
from stage.sizes import few_and_many

RULE = catalogue.find("rules", "predecessor_effect")


def case(*, effect=0.0, spread=0.01, seed=1, blocks=8, clients=(), path="target", cause="xfs", asked_seed=1):
    """Runs in the shuffled blocks of a real plan; what comes after a trial with `cause` is faster by the effect."""
    asked = replace(made.experiment(clients=clients), repeats=blocks, seed=asked_seed)
    plan = planning.plan(asked)
    draw = np.random.default_rng(seed)
    before = {t.position + 1: t.levels[path] for t in plan.trials} if effect else {}
    runs = [
        made.judged(made.run(t), {made.RATE: 100 * math.exp(draw.normal(0, spread) + effect * (before.get(t.position) == cause))})
        for t in plan.trials
    ]
    return of_runs("S05", asked, plan, runs)


def test_an_effect_of_the_run_before_qualifies_with_the_ratio_without_it():
    found = case(effect=0.1)
    finding = RULE.check(found)
    assert (finding.state, finding.severity) == (State.FAIL, Severity.QUALIFIES)
    assert finding.observed["apart_share"] == pytest.approx(math.expm1(0.1), rel=0.25)
    assert finding.bound.low <= found.comparison.ratio.low < found.comparison.ratio.high <= finding.bound.high
    assert finding.bound.low < 1 < finding.bound.high, "the truth: no difference"


def test_an_effect_that_changes_no_decision_passes():
    finding = RULE.check(case(effect=0.01, spread=0.0001))
    assert finding.state is State.PASS
    assert finding.observed["before_p"] < 0.01


@few_and_many("sets", 40, 200)
@pytest.mark.parametrize("clients", [(), (1, 2, 4)])
def test_noise_is_rarely_accused(clients, sets):
    alarms = sum(
        RULE.check(case(spread=0.1, seed=seed, asked_seed=seed, clients=clients)).state is State.FAIL for seed in range(sets)
    )
    assert alarms / sets <= 0.01 + 3 * math.sqrt(0.01 / sets)


def test_states():
    hold(
        ("runs that do not ask who was before pass", RULE.check(case()), PASS),
        "the level before of a factor that is not compared counts too",
        (RULE.check(case(effect=0.15, clients=(1, 4), path="clients", cause=4, blocks=12)), FAIL),
        ("too few runs cannot be told", RULE.applies(case(blocks=2)), NOT_ASKED),
    )
