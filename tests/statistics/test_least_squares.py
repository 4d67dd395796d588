"""Lines over time, and groups within strata, against scipy and known truth."""

import math

import numpy as np
import pytest

from assay.statistics.least_squares import correlation, trend, two_way
from stage.rows import each


def test_the_slope_is_that_of_scipy():
    from scipy import stats

    draw = np.random.default_rng(5)
    times, values = draw.random(20), draw.random(20)
    reference, mine = stats.linregress(times, values), trend(times.tolist(), values.tolist())
    assert mine is not None
    assert mine.slope == pytest.approx(reference.slope)
    assert mine.p_value == pytest.approx(reference.pvalue)
    assert mine.rise == pytest.approx(reference.slope * (times.max() - times.min()))


def test_trends_and_correlations_that_are_none():
    assert trend([], []) is None
    assert trend([1.0, 2.0], [1.0, 2.0]) is None
    assert trend([1.0, 1.0, 1.0], [1.0, 2.0, 3.0]) is None
    assert trend([1.0, 2.0, 3.0], [1.0, 2.0, 3.0], spent=1) is None
    assert correlation([1.0, 2.0], [1.0, 1.0]) == 0
    assert correlation([1.0, 2.0, 3.0], [3.0, 2.0, 1.0]) == pytest.approx(-1)


def test_an_exact_additive_table():
    strata, groups = "aaabbb" * 2, "xyxyxy" * 2
    values = [10 + 3 * (s == "b") + 2 * (g == "y") for s, g in zip(strata, groups, strict=True)]
    found = two_way(values, strata, groups)
    assert found.apart == pytest.approx(2)
    assert found.strata.difference == pytest.approx(3)
    assert found.p_value == 0


def test_strata_alone_are_no_effect_of_groups():
    draw = np.random.default_rng(1)
    strata, groups = "ab" * 20, ["x", "x", "y", "y"] * 10
    found = two_way([5 * (s == "b") + draw.normal() for s in strata], strata, groups)
    assert found.p_value > 0.05
    assert found.strata.difference == pytest.approx(5, abs=1)


def test_the_p_value_is_even_where_there_is_no_effect():
    draw, sets = np.random.default_rng(2), 1000
    strata = "ab" * 8
    below = sum(
        two_way(draw.normal(size=16), strata, draw.permutation(list("xxxxxxyyyyyyzzzz"))).p_value < 0.05 for _ in range(sets)
    )
    assert abs(below / sets - 0.05) <= 3 * math.sqrt(0.05 * 0.95 / sets)


@each(
    "values strata groups",
    ([1.0, 2.0], "ab", "xy"),
    ([1.0] * 4, "abab", "xxxx"),
    ([1.0, 2.0, 3.0, 4.0], "aaaa", "xxyy"),
    ([1.0, 2.0, 3.0, 4.0], "aabb", "xxyy"),
)
def test_what_cannot_be_told(values, strata, groups):
    """Too few values, one group, one stratum, and groups that are the strata."""
    assert two_way(values, strata, groups) is None
