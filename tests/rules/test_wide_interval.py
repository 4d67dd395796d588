import math
from dataclasses import replace

import numpy as np

from assay import catalogue
from assay.records import Conclusion, Method, Severity, State
from stage.comparison_cases import case
from stage.rows import each
from stage.said import ASKED, PASS, UNBOUNDED, hold

RULE = catalogue.find("rules", "wide_interval")


def noisy(spread, seed=4):
    draw = np.random.default_rng(seed)
    return lambda t: 100 * math.exp(draw.normal(0, spread))


def test_a_median_of_five_pairs_is_not_said_to_be_one_of_fewer_than_three():
    found = case("S02", noisy(0.002))
    bare = replace(found.comparison.ratio, low=None, high=None, n=5, method=Method.PAIRED_MEDIANS)
    statement = RULE.check(replace(found, comparison=replace(found.comparison, ratio=bare))).statement
    assert statement == "No confidence interval: 5 pairs of runs (use at least 6). The ratio may be noise."
    assert RULE.check(replace(found, comparison=replace(found.comparison, ratio=None))).state is State.FAIL


@each("measure", "spool.create.errors", "spool.create.count")
def test_a_value_of_0_is_no_run_that_lacks(measure):
    found = case("S02", lambda trial: float(trial.block), measure=measure)
    assert found.comparison.ratio is None
    finding = RULE.check(found)
    assert finding.short == "no interval"


def test_a_wide_interval_qualifies_and_is_the_bound():
    wide = case("S02", noisy(0.05))
    finding = RULE.check(wide)
    assert (finding.state, finding.severity) == (State.FAIL, Severity.QUALIFIES)
    assert wide.comparison.ratio is not None
    assert finding.bound is not None
    assert (finding.bound.low, finding.bound.high) == (wide.comparison.ratio.low, wide.comparison.ratio.high)
    assert finding.observed["half_width_share"] > finding.threshold["half_width_share"] == 0.025


def test_the_advice_gives_the_number_of_repeats_and_that_many_are_enough():
    finding = RULE.check(case("S02", noisy(0.05)))
    needed = finding.observed["repeats"]
    assert f"`repeats = {needed:,}` (6 now)" in finding.advice
    assert RULE.check(case("S02", noisy(0.05), blocks=2 * needed)).observed["half_width_share"] < 0.025


def test_a_narrow_interval_of_few_runs_is_not_too_wide():
    finding = RULE.check(case("S02", noisy(0.0001), blocks=4))
    assert (finding.state, finding.short) == (State.FAIL, "too few runs")
    assert "Confidence interval" not in finding.statement
    assert "`repeats = 5` (4 now)" in finding.advice


@each("times", 2.0, 0.4)
def test_a_wide_interval_that_answers_all_the_same_passes(times):
    noise = noisy(0.05)
    decided = case("S02", lambda trial: noise(trial) * (times if trial.levels["target"] == "xfs" else 1.0))
    assert decided.comparison.conclusion is Conclusion.MATTERS
    finding = RULE.check(decided)
    assert finding.observed["half_width_share"] > finding.threshold["half_width_share"]
    assert (finding.state, finding.bound) == (State.PASS, None)


def test_an_answer_of_few_runs_is_still_of_few_runs():
    decided = case("S02", lambda trial: 200.0 if trial.levels["target"] == "xfs" else 100.0 + trial.id, blocks=4)
    assert decided.comparison.conclusion is Conclusion.MATTERS
    assert RULE.check(decided).state is State.FAIL


@each("blocks bounded", (4, True), (3, True), (2, False), (1, False))
def test_too_few_runs_qualify_whatever_their_spread(blocks, bounded):
    finding = RULE.check(case("S02", noisy(0.0001), blocks=blocks))
    assert finding.state is State.FAIL
    assert (finding.bound is not None) == bounded


def test_states():
    hold(
        ("a narrow interval of enough runs passes", RULE.check(case("S02", noisy(0.002))), PASS, UNBOUNDED),
        ("it applies to every comparison", RULE.applies(case("S02", noisy(0.01))), ASKED),
    )
