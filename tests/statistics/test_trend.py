import numpy as np
import pytest

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
