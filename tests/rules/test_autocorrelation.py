import math

import numpy as np
import pytest

from assay import catalogue
from assay.records import Change, Severity, State
from stage.comparison_cases import case
from stage.said import ASKED, FAIL, NOT_ASKED, PASS, hold
from stage.sizes import few_and_many

RULE = catalogue.find("rules", "autocorrelation")


def wandering(correlation, spread=0.05, seed=1):
    """The candidate's level is a first-order autoregressive series over the blocks; the baseline's is not."""
    draw = np.random.default_rng(seed)
    levels = [draw.normal(0, spread)]
    for _ in range(200):
        levels.append(correlation * levels[-1] + draw.normal(0, spread) * math.sqrt(1 - correlation**2))
    return lambda t: 100 * math.exp(levels[t.block] * (t.levels["target"] == "xfs"))


def test_an_arm_that_wanders_qualifies_with_the_interval_that_it_bears():
    found = case("S07", wandering(0.95), blocks=20)
    finding = RULE.check(found)
    assert (finding.state, finding.severity) == (State.FAIL, Severity.QUALIFIES)
    assert finding.observed["correlation"] > 0.5
    assert finding.observed["worth"] < 8
    assert finding.bound.low < found.comparison.ratio.low
    assert finding.bound.high > found.comparison.ratio.high


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


def test_states():
    hold(
        ("independent runs pass", RULE.check(case("S07", wandering(0.0), blocks=20)), PASS, "within chance"),
        "a drift that both arms share drops out of the pairs",
        (
            RULE.check(case("S07", lambda t: 100 * math.exp(t.block / 20 + np.random.default_rng(2).normal(0, 0.01)), blocks=20)),
            PASS,
        ),
        "an arm whose level changed half way qualifies",
        (
            RULE.check(
                case(
                    "S07",
                    lambda t: (
                        100
                        * math.exp(
                            np.random.default_rng(3).normal(0, 0.02) + 0.3 * (t.levels["target"] == "xfs" and t.block >= 4)
                        )
                    ),
                    blocks=8,
                )
            ),
            FAIL,
        ),
        "runs of a sitting are asked one after the other",
        (RULE.check(case("S07", wandering(0.95), blocks=20, change=Change.MANUAL)), FAIL),
        "too few pairs cannot be told",
        (RULE.applies(case("S07", wandering(0.9), blocks=7)), NOT_ASKED),
        (RULE.applies(case("S07", wandering(0.9), blocks=8)), ASKED),
        ("equal runs follow nothing", RULE.check(case("S07", lambda t: 100.0, blocks=8)), PASS),
    )
