"""A value below both of its neighbours: depth and p-value against scipy's tests, never a dip on a slope."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.statistics.contrast import interval
from assay.statistics.ratio import dip, weight_of

rows = st.lists(st.tuples(*[st.floats(1.0, 1e6)] * 3), min_size=3, max_size=12)


def test_depth_is_the_ratio_to_the_interpolated_neighbours():
    found = dip([100.0] * 3, [100.0, 101.0, 99.0], [400.0] * 3, 0.5)
    assert math.exp(found.depth.difference) == pytest.approx(0.5, rel=1e-3)
    quarter = dip([100.0] * 3, [100.0, 101.0, 99.0], [400.0] * 3, 0.25)
    assert math.exp(quarter.depth.difference) == pytest.approx(1 / math.sqrt(2), rel=1e-3)


@settings(deadline=None)
@given(rows)
def test_the_p_value_is_the_worse_of_two_paired_tests(values):
    from scipy.stats import ttest_rel

    left, middle, right = (np.log([row[place] for row in values]) for place in range(3))
    sure = [ttest_rel(middle, other, alternative="less").pvalue for other in (left, right) if np.ptp(middle - other) > 1e-6]
    found = dip(*(np.exp(one).tolist() for one in (left, middle, right)), 0.5)
    if len(sure) == 2:
        assert found.p_value == pytest.approx(max(sure), rel=1e-5, abs=1e-12)


@settings(deadline=None)
@given(rows, st.floats(0.05, 0.95))
def test_below_both_is_below_what_lies_between(values, weight):
    left, middle, right = ([row[place] for row in values] for place in range(3))
    found = dip(left, middle, right, weight)
    if found.p_value < 0.4:
        assert found.depth.difference < 0


def test_the_foot_of_a_cliff_is_none():
    foot = dip([5.0, 5.1, 4.9, 5.0, 5.1], [1.0, 1.02, 0.99, 1.01, 1.0], [1.0, 1.01, 1.0, 0.99, 1.02], 0.5)
    assert interval(foot.depth, 0.95)[1] < math.log(0.5)
    assert foot.p_value > 0.05


def test_no_spread_and_no_freedom():
    assert dip([2.0] * 3, [1.0] * 3, [2.0] * 3, 0.5).p_value == 0.0
    assert dip([2.0] * 3, [2.0] * 3, [2.0] * 3, 0.5).p_value == 1.0
    assert dip([2.0], [1.0], [2.0], 0.5).p_value == 1.0
    with pytest.raises(ValueError, match="no pairs"):
        dip([], [], [], 0.5)


def test_weights_go_by_logarithm():
    assert weight_of(16, 64, 256) == pytest.approx(0.5)
    assert weight_of(16, 32, 256) == pytest.approx(0.25)
    assert weight_of(0, 1, 4) == pytest.approx(0.25)
