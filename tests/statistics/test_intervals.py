"""Means with t intervals, how many values a wanted width takes, and exact limits of a share."""

import math
from statistics import StatisticsError

import pytest
import scipy
from hypothesis import given
from hypothesis import strategies as st

from assay.statistics.intervals import LEAST, arithmetic_mean, geometric_mean, proportion, values_within
from stage.rows import each


def test_known_values_and_those_without_an_interval():
    mean = arithmetic_mean([1.0, 2.0, 3.0])
    assert mean.value == 2.0
    assert mean.high == pytest.approx(2 + 4.302652729911275 / math.sqrt(3))
    assert geometric_mean([1.0, 100.0]).value == pytest.approx(10)
    for values in ([5.0], [5.0, 6.0]):
        assert (geometric_mean(values).low, geometric_mean(values).high) == (None, None)
    with pytest.raises(StatisticsError):
        arithmetic_mean([])
    with pytest.raises(ValueError, match=r"math domain|positive"):
        geometric_mean([1.0, 0.0])
    ten = proportion(10, 10)
    assert (ten.low, ten.high) == (pytest.approx(0.025 ** (1 / 10)), 1.0)
    one = proportion(1, 10)  # 0.25 % to 44.5 %, as published tables have it
    assert one.low == pytest.approx(0.002528579)
    assert one.high == pytest.approx(0.445016117)
    nothing = proportion(0, 0)
    assert (nothing.low, nothing.high) == (None, None)


@given(st.lists(st.floats(1e-3, 1e9), min_size=3, max_size=20), st.floats(1e-3, 1e3))
def test_the_interval_holds_the_mean_and_scales(values, factor):
    mean, scaled = geometric_mean(values), geometric_mean([value * factor for value in values])
    assert mean.low is not None
    assert mean.high is not None
    assert mean.low <= mean.value * (1 + 1e-9)
    assert mean.value <= mean.high * (1 + 1e-9)
    assert scaled.value == pytest.approx(mean.value * factor, rel=1e-6)


def half_width(number: int, spread: float) -> float:
    return float(scipy.stats.t.ppf(0.975, number - 1)) * spread / math.sqrt(number)


@given(st.floats(0.001, 0.2), st.floats(0.0, 2.0))
def test_it_is_the_smallest_number_that_is_enough(wanted: float, spread: float) -> None:
    number = values_within(wanted, spread)
    assert half_width(number, spread) <= wanted * (1 + 1e-9)
    assert number == LEAST or half_width(number - 1, spread) > wanted * (1 - 1e-9)


counts = st.integers(1, 60).flatmap(lambda of: st.tuples(st.integers(0, of), st.just(of)))


def at_least(happened, of, share):
    """The probability of so many or more, summed from the terms."""
    return math.fsum(math.comb(of, k) * share**k * (1 - share) ** (of - k) for k in range(happened, of + 1))


@each("happened of confidence", (3, 2, 0.95), (-1, 2, 0.95), (1, 2, 1.0), (1, 2, 0.0))
def test_what_is_no_share_is_refused(happened, of, confidence):
    with pytest.raises(ValueError, match="expected"):
        proportion(happened, of, confidence)


@given(counts, st.sampled_from([0.8, 0.95, 0.99]))
def test_at_its_limits_the_tails_are_half_of_what_is_left(count, confidence):
    happened, of = count
    found, tail = proportion(happened, of, confidence), (1 - confidence) / 2
    assert found.low <= happened / of <= found.high
    if happened:
        assert at_least(happened, of, found.low) == pytest.approx(tail, rel=1e-6)
    if happened < of:
        assert 1 - at_least(happened + 1, of, found.high) == pytest.approx(tail, rel=1e-6)


@given(counts)
def test_what_happened_and_what_did_not_are_mirrored(count):
    happened, of = count
    one, other = proportion(happened, of), proportion(of - happened, of)
    assert one.low == pytest.approx(1 - other.high)
    assert one.high == pytest.approx(1 - other.low)
