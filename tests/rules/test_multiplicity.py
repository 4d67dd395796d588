import math
from dataclasses import replace

import numpy as np

from assay import catalogue
from assay.records import Conclusion, Precision, Severity, State
from stage import notebook_records as made
from stage.comparison_cases import of_runs
from stage.rows import each
from stage.said import NOT_ASKED, PASS, hold
from stage.sizes import few_and_many

RULE = catalogue.find("rules", "multiplicity")
LEVELS = ("ext4", "xfs", "btrfs", "zfs")
SETS = few_and_many("sets", 60, 300)


def runs_of(asked, blocks, spread=0.01, seed=1, slower=(), begun=None):
    """(plan, runs) of normal noise, with levels that are slower by a share, up to a block."""
    plan = made.plan(asked, blocks)
    draw = np.random.default_rng(seed)
    slower = dict(slower)
    values = {t.id: 100 * math.exp(draw.normal(0, spread) - slower.get(t.levels["target"], 0.0)) for t in plan.trials}
    return plan, [made.judged(made.run(t), {made.RATE: values[t.id]}) for t in plan.trials if begun is None or t.block < begun]


def case(asked, blocks=5, which=0, **noise):
    plan, runs = runs_of(asked, blocks, **noise)
    return of_runs("S06", asked, plan, runs, which)


def test_a_difference_that_stands_among_all_passes():
    finding = RULE.check(case(made.experiment(LEVELS), slower={"xfs": 0.3}))
    assert finding.state is State.PASS
    assert finding.observed["contrasts"] == 3
    assert finding.observed["adjusted_p"] < 0.05


def fluke():
    """Among the seeds, one by which xfs differs from ext4 at 5 %, but not among three contrasts."""
    found = (case(made.experiment(LEVELS), seed=seed) for seed in range(400))
    return next(one for one in found if one.comparison.p_value <= 0.05 < one.comparison.adjusted_p_value)


def test_a_difference_that_is_none_among_all_qualifies():
    found = fluke()
    finding = RULE.check(found)
    assert (finding.state, finding.severity) == (State.FAIL, Severity.QUALIFIES)
    assert found.comparison.conclusion is not Conclusion.MATTERS
    assert not found.comparison.ratio.low <= 1 <= found.comparison.ratio.high
    assert finding.bound.low <= 1 <= finding.bound.high
    assert "(3 tests)" in finding.statement


def test_every_measure_and_condition_is_a_contrast():
    asked = made.experiment(LEVELS, clients=(1, 2), measures=(made.RATE, made.LATENCY))
    plan = made.plan(asked, 3)
    runs = [made.judged(made.run(t), {made.RATE: 100.0 + t.id % 7, made.LATENCY: 5.0 + t.id % 5}) for t in plan.trials]
    assert RULE.check(of_runs("S06", asked, plan, runs)).observed["contrasts"] == 6


def test_a_schedule_that_was_left_qualifies_with_the_interval_over_the_looks():
    found = case(replace(made.experiment(), repeats=12), blocks=12, begun=7)
    finding = RULE.check(found)
    assert (finding.state, finding.severity) == (State.FAIL, Severity.QUALIFIES)
    assert "7 of 12" in finding.statement
    assert finding.bound.low < found.comparison.ratio.low < found.comparison.ratio.high < finding.bound.high


@each("asked", {"repeats": Precision(half_width_share=0.03)}, {"repeats": 12, "budget_ns": 10**12})
def test_a_schedule_that_ends_by_precision_or_budget_is_not_left(asked):
    assert RULE.check(case(replace(made.experiment(), **asked), blocks=12, begun=7)).state is State.PASS


@SETS
def test_the_adjusted_p_lets_a_difference_through_in_5_percent(sets):
    """Of sets of three contrasts between equal arms, how often any difference is left after the adjustment."""
    asked = made.experiment(LEVELS)
    claimed = 0
    for seed in range(sets):
        plan, runs = runs_of(asked, 5, seed=seed)
        found = [of_runs("S06", asked, plan, runs, which).comparison for which in range(3)]
        claimed += any(one.adjusted_p_value <= 0.05 for one in found)
    assert claimed / sets <= 0.05 + 3 * math.sqrt(0.05 * 0.95 / sets)


@SETS
def test_the_interval_over_the_looks_holds_at_the_look_that_is_liked_best(sets):
    """Equal arms are looked at after every block from the third on, and left where the interval is furthest from 1."""
    asked, outside, fooled = replace(made.experiment(), repeats=12), 0, 0
    for seed in range(sets):
        plan, runs = runs_of(asked, 12, seed=seed)
        looks = [of_runs("S06", asked, plan, [r for r in runs if r.run.trial.block < begun]) for begun in range(3, 12)]
        best = min(looks, key=lambda one: one.comparison.p_value)
        fooled += best.comparison.p_value <= 0.05
        bound = RULE.check(best).bound
        outside += not bound.low <= 1 <= bound.high
    assert fooled / sets > 0.1, "the lie: the 95 % interval at that look excludes the truth far too often"
    assert outside / sets <= 0.05 + 3 * math.sqrt(0.05 * 0.95 / sets)


def test_states():
    hold(
        ("one contrast over its whole schedule passes", RULE.check(case(made.experiment())), PASS),
        ("two pairs have no test", RULE.applies(case(made.experiment(), blocks=2)), NOT_ASKED),
    )
