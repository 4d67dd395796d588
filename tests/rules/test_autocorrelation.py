import math

import numpy as np
import pytest

from assay import catalogue
from assay.records import Change, Severity, State
from comparison_cases import case
from sizes import few_and_many

RULE = catalogue.find("rules", "autocorrelation")


def wandering(correlation, spread=0.05, seed=1):
    """The candidate's level is a first-order autoregressive series over the blocks; the baseline's is not."""
    draw = np.random.default_rng(seed)
    levels = [draw.normal(0, spread)]
    for _ in range(200):
        levels.append(correlation * levels[-1] + draw.normal(0, spread) * math.sqrt(1 - correlation**2))
    return lambda t: 100 * math.exp(levels[t.block] * (t.levels["target"] == "xfs"))


def test_independent_runs_pass():
    finding = RULE.check(case("S07", wandering(0.0), blocks=20))
    assert finding.state is State.PASS
    assert "within chance" in finding.statement


def test_an_arm_that_wanders_qualifies_with_the_interval_that_it_bears():
    found = case("S07", wandering(0.95), blocks=20)
    finding = RULE.check(found)
    assert (finding.state, finding.severity) == (State.FAIL, Severity.QUALIFIES)
    assert finding.observed["correlation"] > 0.5
    assert finding.observed["worth"] < 8
    assert finding.bound.low < found.comparison.ratio.low
    assert finding.bound.high > found.comparison.ratio.high


def test_a_drift_that_both_arms_share_drops_out_of_the_pairs():
    draw = np.random.default_rng(2)
    assert RULE.check(case("S07", lambda t: 100 * math.exp(t.block / 20 + draw.normal(0, 0.01)), blocks=20)).state is State.PASS


def test_an_arm_whose_level_changed_half_way_qualifies():
    draw = np.random.default_rng(3)
    step = lambda t: 100 * math.exp(draw.normal(0, 0.02) + 0.3 * (t.levels["target"] == "xfs" and t.block >= 4))  # noqa: E731
    assert RULE.check(case("S07", step, blocks=8)).state is State.FAIL


def test_runs_of_a_sitting_are_asked_one_after_the_other():
    finding = RULE.check(case("S07", wandering(0.95), blocks=20, change=Change.MANUAL))
    assert finding.state is State.FAIL
    assert "runs of an arm" in finding.statement


def test_too_few_pairs_cannot_be_told():
    assert "fewer than 8 pairs" in RULE.applies(case("S07", wandering(0.9), blocks=7))
    assert RULE.applies(case("S07", wandering(0.9), blocks=8)) is None


def test_equal_runs_follow_nothing():
    assert RULE.check(case("S07", lambda t: 100.0, blocks=8)).state is State.PASS


@few_and_many("sets", 40, 300)
@pytest.mark.parametrize("blocks", [8, 12, 30])
@pytest.mark.parametrize("skewed", [False, True])
def test_independent_runs_are_rarely_accused(blocks, skewed, sets):
    draw = np.random.default_rng(blocks)
    noise = (lambda: draw.exponential(0.2)) if skewed else (lambda: draw.normal(0, 0.1))
    alarms = sum(
        RULE.check(case("S07", lambda t: 100 * math.exp(noise()), blocks=blocks)).state is State.FAIL for _ in range(sets)
    )
    assert alarms / sets <= 0.015 + 3 * math.sqrt(0.015 / sets)
