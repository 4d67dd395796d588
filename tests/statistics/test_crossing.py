"""Where a measured curve passes a level, against known truth."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from assay.statistics.crossing import Band, crossings


def bands(values, half=0.1):
    return [Band(at=float(at), low=value - half, value=value, high=value + half) for at, value in values]


def test_between_the_places_on_a_straight_line():
    (one,) = crossings(bands([(1, -1.0), (2, -0.5), (4, 1.5)]))
    assert (one.at, one.rising) == (2.5, True)
    assert one.low == pytest.approx(2.4)
    assert one.high == pytest.approx(2.6)


def test_falling_is_the_mirror():
    (one,) = crossings(bands([(1, 1.0), (3, -1.0)]))
    assert (one.at, one.rising) == (2.0, False)
    assert (one.low, one.high) == (pytest.approx(1.9), pytest.approx(2.1))


def test_a_bound_that_does_not_pass_is_not_known():
    (one,) = crossings(bands([(1, -0.05), (2, 1.0)]))
    assert one.low is None
    assert one.high is not None
    assert crossings(bands([(1, 0.2), (2, 1.0)])) == ()


@given(st.lists(st.floats(-10, 10), min_size=2, max_size=8))
def test_a_bound_is_never_on_the_wrong_side(values):
    for one in crossings(bands(list(enumerate(values)))):
        assert one.low is None or one.low <= one.at
        assert one.high is None or one.high >= one.at
        assert 0 <= one.at <= len(values) - 1


def test_the_bounds_hold_the_truth_as_often_as_they_say():
    """ln ratio = 0.08 (5 - N): break-even at 5; five blocks of 3 % noise; 90 to 100 % of 400 cases."""
    draws = np.random.default_rng(7)
    half = stats.t.ppf(0.975, 4) / math.sqrt(5)
    held = 0
    for _ in range(400):
        made = []
        for n in (1, 2, 4, 8):
            sample = 0.08 * (5 - n) + 0.03 * math.sqrt(2) * draws.standard_normal(5)
            mean, spread = sample.mean(), half * sample.std(ddof=1)
            made.append(Band(at=n, low=mean - spread, value=mean, high=mean + spread))
        (one,) = crossings(made)
        held += (one.low or 1) <= 5 <= (one.high or 8)
    assert held >= 360
