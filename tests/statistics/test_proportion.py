"""Exact limits of a share: known values, the definition by tails of the binomial, symmetry."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.statistics.intervals import proportion

counts = st.integers(1, 60).flatmap(lambda of: st.tuples(st.integers(0, of), st.just(of)))


def at_least(happened, of, share):
    """The probability of so many or more, summed from the terms."""
    return math.fsum(math.comb(of, k) * share**k * (1 - share) ** (of - k) for k in range(happened, of + 1))


def test_known_values():
    ten = proportion(10, 10)
    assert (ten.low, ten.high) == (pytest.approx(0.025 ** (1 / 10)), 1.0)
    one = proportion(1, 10)  # 0.25 % to 44.5 %, as published tables have it
    assert one.low == pytest.approx(0.002528579)
    assert one.high == pytest.approx(0.445016117)


def test_nothing_tried_has_no_interval():
    nothing = proportion(0, 0)
    assert (nothing.low, nothing.high) == (None, None)


@pytest.mark.parametrize(("happened", "of", "confidence"), [(3, 2, 0.95), (-1, 2, 0.95), (1, 2, 1.0), (1, 2, 0.0)])
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
