import math
from statistics import StatisticsError

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.statistics.intervals import arithmetic_mean, geometric_mean


def test_known_values():
    mean = arithmetic_mean([1.0, 2.0, 3.0])
    assert mean.value == 2.0
    assert mean.high == pytest.approx(2 + 4.302652729911275 / math.sqrt(3))
    assert geometric_mean([1.0, 100.0]).value == pytest.approx(10)


def test_fewer_than_three_give_no_interval():
    for values in ([5.0], [5.0, 6.0]):
        assert (geometric_mean(values).low, geometric_mean(values).high) == (None, None)


def test_what_has_no_mean():
    with pytest.raises(StatisticsError):
        arithmetic_mean([])
    with pytest.raises(ValueError, match=r"math domain|positive"):
        geometric_mean([1.0, 0.0])


@given(st.lists(st.floats(1e-3, 1e9), min_size=3, max_size=20), st.floats(1e-3, 1e3))
def test_the_interval_holds_the_mean_and_scales(values, factor):
    mean, scaled = geometric_mean(values), geometric_mean([value * factor for value in values])
    assert mean.low is not None
    assert mean.high is not None
    assert mean.low <= mean.value * (1 + 1e-9)
    assert mean.value <= mean.high * (1 + 1e-9)
    assert scaled.value == pytest.approx(mean.value * factor, rel=1e-6)
