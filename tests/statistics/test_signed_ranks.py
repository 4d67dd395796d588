"""The typical ratio of pairs: against scipy's exact test, its coverage, and what disturbed pairs do to it."""

import math

import numpy as np
import pytest
from scipy.stats import wilcoxon

from assay.statistics.contrast import interval, paired_ratio
from assay.statistics.signed_ranks import LEAST, MOST, typical_ratio


def test_the_interval_leaves_out_1_where_the_exact_test_of_scipy_rejects_it():
    chance = np.random.default_rng(3)
    for _ in range(100):
        count = int(chance.integers(LEAST, 15))
        baseline, candidate = np.exp(chance.normal(0, 0.1, count)), np.exp(chance.normal(0.05, 0.1, count))
        _, low, high = typical_ratio(baseline, candidate, 0.95)
        assert (low > 1 or high < 1) == (wilcoxon(np.log(candidate / baseline)).pvalue <= 0.05)


@pytest.mark.parametrize("count", [8, 30])
def test_the_interval_holds_the_truth_beside_a_neighbour_who_strikes_one_pair_of_three(count):
    chance = np.random.default_rng(4)

    def arm():
        struck = chance.random((600, count)) < 0.3
        return np.exp(chance.normal(0, 0.02, (600, count)) + struck * chance.uniform(0, 0.4, (600, count)))

    found = [typical_ratio(first, 1.1 * second, 0.95) for first, second in zip(arm(), arm(), strict=True)]
    held = np.mean([low <= 1.1 <= high for _, low, high in found])
    assert 0.95 - 3 * math.sqrt(0.05 * 0.95 / 600) <= held


def test_disturbed_pairs_hide_a_change_from_the_mean_and_not_from_the_typical_pair():
    ratios = [1.10, 1.11, 1.09, 1.10, 1.12, 1.08, 1.10, 0.55, 1.07, 1.13, 1.11, 1.09, 1.10]
    ones = [1.0] * len(ratios)
    low, high = interval(paired_ratio(ones, ratios), 0.95)
    assert low < 0 < high
    value, low, high = typical_ratio(ones, ratios, 0.95)
    assert value == pytest.approx(1.10, abs=0.01)
    assert 1 < low < value < high


def test_too_few_and_too_many_pairs_have_none():
    assert [typical_ratio([1.0] * count, [1.1] * count, 0.95) for count in (LEAST - 1, MOST + 1)] == [None, None]
    assert typical_ratio([1.0] * LEAST, [1.1] * LEAST, 0.99) is None
    with pytest.raises(ValueError, match="zip"):
        typical_ratio([1.0], [1.0, 2.0], 0.95)
