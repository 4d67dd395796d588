"""Dunnett's probabilities against scipy's for samples without blocks, and the error rate over all candidates in blocks."""

import numpy as np
import pytest
from scipy import stats

from assay.statistics.multiple_comparisons import alike, dunnett, exceeded
from sizes import few_and_many

BLOCKS = np.array([1.0, 1.3, 0.8, 1.1, 0.9])


@pytest.mark.parametrize(("candidates", "n"), [(2, 4), (3, 5), (6, 10), (1, 5)])
def test_the_probabilities_are_those_of_scipy_where_there_are_no_blocks(candidates, n):
    draw = np.random.default_rng(5)
    arms = [draw.normal(0.4 * number, 1, n) for number in range(candidates + 1)]
    known = stats.dunnett(*arms[1:], control=arms[0], rng=np.random.default_rng(1))
    freedom = (candidates + 1) * (n - 1)
    for statistic, p in zip(known.statistic, known.pvalue, strict=True):
        assert exceeded(abs(statistic), candidates, freedom) == pytest.approx(p, abs=0.002)


def test_what_blocks_share_is_taken_out():
    noise = np.random.default_rng(3).normal(0, 0.01, (4, 5))
    arms = [BLOCKS * np.exp(one) * factor for one, factor in zip(noise, (1, 1.1, 1, 1), strict=True)]
    first, second, third = dunnett(arms[0], arms[1:])
    assert first < 0.001
    assert min(second, third) > 0.05


@few_and_many("sets", 100, 500)
@pytest.mark.parametrize(("candidates", "blocks"), [(2, 3), (3, 5), (6, 5), (3, 10)])
def test_the_error_over_all_candidates_is_five_percent(candidates, blocks, sets):
    draw, wrong = np.random.default_rng(7), 0
    for _ in range(sets):
        arms = np.exp(draw.normal(0, 0.03, (candidates + 1, blocks)) + draw.normal(0, 0.3, blocks))
        wrong += min(dunnett(arms[0], arms[1:])) <= 0.05
    error = (0.05 / sets) ** 0.5  # 0.01 of 500
    assert 0.05 - 3 * error <= wrong / sets <= 0.05 + 3 * error


def test_unlike_spreads_and_too_few_blocks_are_no_case_for_one_variance():
    draw = np.random.default_rng(1)
    quiet, loud = np.exp(draw.normal(0, 0.01, (3, 5))), np.exp(draw.normal(0, 0.2, 5))
    assert not alike(quiet[0], [quiet[1], loud])
    assert not alike([1.0, 2.0], [[1.0, 3.0], [2.0, 1.0]])
    assert not alike([1.0, 2.0, 3.0], [[1.0, 2.0, 3.0], [2.0, 4.0, 6.0]]), "no spread"
    with pytest.raises(ValueError, match="found arms of 3, 2 blocks"):
        dunnett([1.0, 2.0, 3.0], [[1.0, 2.0]])
    with pytest.raises(ValueError, match="no spread"):
        dunnett([1.0, 1.0, 1.0], [[2.0, 2.0, 2.0]])
