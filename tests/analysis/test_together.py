"""Several candidates against one baseline: whose procedure holds them together, and that it keeps its level."""

import math
from dataclasses import replace

import numpy as np
import pytest

from assay.analysis.cells import cells
from assay.analysis.compare import comparisons
from assay.analysis.together import blocks_to_detect
from assay.cli import tables
from assay.records import Change, Conclusion, Observations, Outcome
from assay.statistics.contrast import Contrast
from assay.statistics.significance import LEVEL, log_effect
from stage import notebook_records as made
from stage.rows import each
from stage.sizes import few_and_many

LEVELS = ("ext4", "xfs", "btrfs", "f2fs")


def no_evidence(run: str) -> Observations:
    raise AssertionError(f"the verdict of {run} has the value")


class Case:
    """An experiment of several targets whose runs are made once; each answer has other values."""

    def __init__(self, blocks=5, **changes):
        self.asked = made.experiment(LEVELS, **changes)
        self.plan = made.plan(self.asked, blocks)
        self.runs = [made.run(trial) for trial in self.plan.trials]

    def answer(self, value, left_out=()):
        judged = [made.judged(run, {made.RATE: value(run.trial)}) for run in self.runs]
        judged = [
            one if one.run.trial.id not in left_out else replace(one, run=replace(one.run, outcome=Outcome.FAILED))
            for one in judged
        ]
        return comparisons(self.asked, cells(self.asked, self.plan, judged, no_evidence), judged)


@pytest.fixture(scope="module")
def case():
    return Case()


def drawn(seed, spread=0.03, of=None):
    """Values that share what their block has, and spread by so much; those of one level by more."""
    draw = np.random.default_rng(seed)
    shared = draw.normal(0, 0.2, 100)
    return lambda trial: float(np.exp(shared[trial.block] + draw.normal(0, spread * (10 if trial.levels["target"] == of else 1))))


def test_whole_blocks_of_like_spread_are_held_together_by_dunnett(case):
    found = case.answer(drawn(1))
    assert {(one.adjusted_by, one.tested) for one in found} == {("Dunnett", 3)}
    assert all(one.adjusted_p_value >= one.p_value for one in found)
    assert tables.tested(found) == "3 comparisons tested; p-values are Dunnett-adjusted."


@each("other", "broken block", "unlike spreads", "by hand")
def test_holm_where_dunnett_does_not_fit(case, other):
    if other == "broken block":
        found = case.answer(drawn(1), left_out=(case.plan.trials[0].id,))
    elif other == "unlike spreads":
        found = case.answer(drawn(1, of="btrfs"))
    else:
        found = Case(change=Change.MANUAL).answer(drawn(1))
    assert {one.adjusted_by for one in found} == {"Holm"}


def test_one_candidate_is_no_family():
    asked = made.experiment(clients=(1, 2))
    plan = made.plan(asked)
    value = drawn(3)
    runs = [made.judged(made.run(trial), {made.RATE: value(trial)}) for trial in plan.trials]
    found = comparisons(asked, cells(asked, plan, runs, no_evidence), runs)
    assert {(one.adjusted_by, one.tested) for one in found} == {("Holm", 2)}


@few_and_many("sets", 60, 300)
@each("of", None, "ext4", "btrfs")
def test_among_equals_a_difference_is_claimed_in_five_of_a_hundred_at_most(case, of, sets):
    claims = (Conclusion.MATTERS, Conclusion.IMMATERIAL)
    wrong = sum(any(one.conclusion in claims for one in case.answer(drawn(seed, 0.01, of))) for seed in range(sets))
    assert wrong / sets <= 0.05 + 3 * (0.05 * 0.95 / sets) ** 0.5


@pytest.mark.parametrize("cv", [0.01, 0.03, 0.1])
def test_the_blocks_that_are_needed_are_those_of_the_plan(cv):
    wanted = math.log(1.05)
    seen = Contrast(difference=0.0, standard_error=cv * math.sqrt(2 / 5), degrees=4, n=5, spread=cv * math.sqrt(2))
    needed = blocks_to_detect(seen, wanted, LEVEL)
    assert needed is not None
    assert log_effect(needed, cv) <= wanted < log_effect(needed - 1, cv)


def test_a_spread_of_nothing_and_one_beyond_measure_need_no_number_of_blocks():
    still = Contrast(difference=0.0, standard_error=0.0, degrees=4, n=5, spread=0.0)
    wild = Contrast(difference=0.0, standard_error=2.0, degrees=4, n=5, spread=4.5)
    assert [blocks_to_detect(one, math.log(1.05), LEVEL) for one in (still, wild)] == [None, None]
