import numpy as np
import pytest

from assay.statistics.group_effect import group_effect
from assay.statistics.trend import correlation, trend


def test_the_slope_is_that_of_scipy():
    from scipy import stats

    draw = np.random.default_rng(5)
    times, values = draw.random(20), draw.random(20)
    reference, mine = stats.linregress(times, values), trend(times.tolist(), values.tolist())
    assert mine is not None
    assert mine.slope == pytest.approx(reference.slope)
    assert mine.p_value == pytest.approx(reference.pvalue)
    assert mine.rise == pytest.approx(reference.slope * (times.max() - times.min()))


def test_where_there_is_no_trend_to_see():
    assert trend([], []) is None
    assert trend([1.0, 2.0], [1.0, 2.0]) is None
    assert trend([1.0, 1.0, 1.0], [1.0, 2.0, 3.0]) is None
    assert trend([1.0, 2.0, 3.0], [1.0, 2.0, 3.0], spent=1) is None


def test_correlation():
    assert correlation([1.0, 2.0], [1.0, 1.0]) == 0
    assert correlation([1.0, 2.0, 3.0], [3.0, 2.0, 1.0]) == pytest.approx(-1)


def test_groups_are_compared_as_scipy_does():
    from scipy import stats

    draw = np.random.default_rng(6)
    groups = [draw.random(n).tolist() for n in (4, 6, 9)]
    assert group_effect(groups) == pytest.approx(stats.f_oneway(*groups).pvalue)
    assert group_effect([*groups, [3.0]]) == group_effect(groups), "a group of one tells nothing"
    assert group_effect([[1.0, 2.0]]) is None
    assert group_effect([[1.0, 1.0], [2.0, 2.0]]) == 0.0
    assert group_effect([[1.0, 1.0], [1.0, 1.0]]) == 1.0
