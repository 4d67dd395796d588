"""Fieller, order statistics and the bootstrap: known values, and how often their intervals hold the truth."""

import statistics

import numpy as np
import pytest
from scipy import stats

from assay.statistics.median_interval import median_interval, sign_test
from assay.statistics.ratio import fieller
from assay.statistics.resampled import resampled_ratio
from sizes import few_and_many


def covered(sets, draw_one, interval, truth):
    """The share of drawn sets whose interval holds the truth."""
    found = [interval(*draw_one()) for _ in range(sets)]
    return sum(one is not None and one[0] <= truth <= one[1] for one in found) / sets


@few_and_many("sets", 300, 2000)
@pytest.mark.parametrize("n", [3, 5, 10])
@pytest.mark.parametrize("paired", [True, False])
def test_fieller_holds_the_ratio_of_totals(n, paired, sets):
    draw = np.random.default_rng(11)

    def one():
        shared = draw.normal(0, 0.2, n) if paired else np.zeros(n)
        arms = np.exp(draw.normal(0, 0.08, (2, n)) + shared)
        return arms[0].tolist(), (1.2 * arms[1]).tolist()

    chance = 3 * (0.93 * 0.07 / sets) ** 0.5 if sets < 2000 else 0.0
    assert covered(sets, one, lambda a, b: fieller(a, b, 0.95, paired=paired), 1.2) >= 0.93 - chance


def test_a_ratio_is_in_fiellers_interval_where_the_t_test_does_not_reject_it():
    draw = np.random.default_rng(2)
    a, b = draw.lognormal(0, 0.2, 6), draw.lognormal(0.1, 0.2, 6)
    for edge in fieller(a.tolist(), b.tolist(), 0.95, paired=True):
        assert stats.ttest_1samp(b - edge * a, 0).pvalue == pytest.approx(0.05)


def test_a_baseline_that_could_be_nothing_bounds_no_ratio():
    assert fieller([0.1, 5.0, 0.2], [1.0, 1.0, 1.1], 0.95, paired=False) is None
    with pytest.raises(ValueError, match="found 1 and 3 values"):
        fieller([1.0], [1.0, 2.0, 3.0], 0.95, paired=False)


@pytest.mark.parametrize(("n", "confidence", "there"), [(5, 0.95, False), (6, 0.95, True), (4, 0.9, False), (5, 0.9, True)])
def test_few_values_give_no_interval_of_a_median(n, confidence, there):
    assert (median_interval(list(range(n)), confidence) is not None) == there
    assert median_interval([], confidence) is None


@few_and_many("sets", 200, 400)
@pytest.mark.parametrize("n", [6, 10, 25])
@pytest.mark.parametrize("kind", ["lognormal", "bimodal", "outliers"])
def test_the_interval_of_a_median_covers_it_whatever_the_distribution(n, kind, sets):
    draw = np.random.default_rng(4)
    shapes = {
        "lognormal": lambda: draw.lognormal(0, 0.5, n),
        "bimodal": lambda: draw.normal(0, 0.1, n) + draw.choice([-1, 1], n) + 5,
        "outliers": lambda: draw.standard_t(1.5, n) + 5,
    }
    truth = 1.0 if kind == "lognormal" else 5.0
    assert covered(sets, lambda: (shapes[kind]().tolist(),), lambda x: median_interval(x, 0.95), truth) >= 0.93


def test_the_sign_test_is_the_binomial_one():
    assert sign_test([1.0, 2.0, 3.0, 4.0, 5.0, -1.0]) == pytest.approx(stats.binomtest(5, 6).pvalue)
    assert sign_test([0.0, 0.0]) == 1.0
    assert sign_test([1.0] * 3) == pytest.approx(0.25)


def test_the_bootstrap_begins_at_twenty_runs_and_covers_there():
    draw = np.random.default_rng(6)
    assert resampled_ratio([1.0, 2.0] * 9, [1.0, 2.0] * 10, statistics.median, 0.95, paired=False) is None
    assert resampled_ratio([1.0] * 20, [1.0] * 20, statistics.median, 0.95, paired=False) is None, "nothing varies"

    def one():
        return draw.lognormal(0, 0.1, 20).tolist(), draw.lognormal(0, 0.1, 20).tolist()

    def interval(a, b):
        return resampled_ratio(a, b, statistics.median, 0.95, paired=False)

    assert covered(40, one, interval, 1.0) >= 0.85, "40 sets: 0.93 less two and a half standard errors"
    arms = one()
    assert interval(*arms) == interval(*arms)
