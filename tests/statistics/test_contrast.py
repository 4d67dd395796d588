"""Contrasts against scipy.stats, and the coverage of their intervals on skewed noise."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.statistics.contrast import Contrast, interval, p_value
from assay.statistics.ratio import paired_ratio, welch_ratio

positive = st.floats(1e-6, 1e9)


def test_no_spread_and_no_freedom():
    same = paired_ratio([2.0, 2.0, 2.0], [2.0, 2.0, 2.0])
    assert interval(same, 0.95) == (0.0, 0.0)
    assert p_value(same) == 1.0
    double = paired_ratio([2.0, 2.0, 2.0], [4.0, 4.0, 4.0])
    assert interval(double, 0.95) == (math.log(2), math.log(2))
    assert p_value(double) == 0.0
    one = paired_ratio([2.0], [4.0])
    assert interval(one, 0.95) == (-math.inf, math.inf)
    assert p_value(one) == 1.0


def test_nothing_to_compare_is_refused():
    with pytest.raises(ValueError, match="no pairs"):
        paired_ratio([], [])
    with pytest.raises(ValueError, match="an arm without values"):
        welch_ratio([], [1.0])


@given(st.lists(st.tuples(positive, positive), min_size=2, max_size=12))
def test_swapping_the_arms_turns_the_contrast_round(pairs):
    first, second = [a for a, _ in pairs], [b for _, b in pairs]
    for ratio in (paired_ratio, welch_ratio):
        there, back = ratio(first, second), ratio(second, first)
        assert there.difference == pytest.approx(-back.difference, abs=1e-9)
        assert there.standard_error == pytest.approx(back.standard_error, rel=1e-6, abs=1e-9)


def test_both_agree_with_scipy():
    from scipy import stats

    draw = np.random.default_rng(3)
    a, b = draw.lognormal(0, 0.1, 7), draw.lognormal(0.05, 0.3, 7)
    reference = stats.ttest_rel(np.log(b), np.log(a))
    mine = paired_ratio(a.tolist(), b.tolist())
    assert p_value(mine) == pytest.approx(reference.pvalue)
    assert interval(mine, 0.95) == pytest.approx(tuple(reference.confidence_interval(0.95)))
    reference = stats.ttest_ind(np.log(b[:5]), np.log(a), equal_var=False)
    mine = welch_ratio(a.tolist(), b[:5].tolist())
    assert p_value(mine) == pytest.approx(reference.pvalue)
    assert interval(mine, 0.9) == pytest.approx(tuple(reference.confidence_interval(0.9)))


def noise(kind: str, draw: np.random.Generator, shape: tuple[int, int]) -> np.ndarray:
    """Multiplicative noise of about 3 to 8 %: lognormal, with a tenth of slow outliers, or of Student's t with 3 degrees."""
    if kind == "lognormal":
        return np.exp(draw.normal(0, 0.08, shape))
    if kind == "outliers":
        return np.exp(draw.normal(0, 0.03, shape)) * np.where(draw.random(shape) < 0.1, 0.7, 1.0)
    return np.exp(0.03 * draw.standard_t(3, shape))


@pytest.mark.parametrize("kind", ["lognormal", "outliers", "heavy"])
@pytest.mark.parametrize("n", [3, 5, 10])
def test_the_paired_interval_covers_the_truth(kind, n):
    draw, sets = np.random.default_rng(11), 3000
    baseline, candidate = noise(kind, draw, (sets, n)), 1.07 * noise(kind, draw, (sets, n))
    inside = 0
    for a, b in zip(baseline.tolist(), candidate.tolist(), strict=True):
        low, high = interval(paired_ratio(a, b), 0.95)
        inside += low <= math.log(1.07) <= high
    assert inside / sets >= 0.93


@pytest.mark.parametrize("kind", ["lognormal", "heavy"])
def test_the_unpaired_interval_covers_the_truth(kind):
    draw, sets = np.random.default_rng(12), 3000
    baseline, candidate = noise(kind, draw, (sets, 5)), noise(kind, draw, (sets, 5))
    covered = [interval(welch_ratio(a, b), 0.95) for a, b in zip(baseline.tolist(), candidate.tolist(), strict=True)]
    assert sum(low <= 0 <= high for low, high in covered) / sets >= 0.93


def test_a_contrast_without_error_is_certain():
    certain = Contrast(difference=0.1, standard_error=0.0, degrees=4, n=5, spread=0.0)
    assert p_value(certain) == 0.0
