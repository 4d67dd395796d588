"""MSER-5 against its definition."""

import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.statistics.steadiness import BATCH, Truncation, mser5


def marginal(values, leave):
    """The definition, written down: variance of what is left over its number."""
    rest = np.array(values)[leave:]
    return rest.var() / rest.size


@given(st.lists(st.integers(0, 10**6), min_size=2 * BATCH, max_size=120))
def test_no_place_in_the_first_half_has_a_smaller_marginal_error(values):
    found = mser5(values)
    whole = len(values) // BATCH
    batches = np.array(values[: whole * BATCH], dtype=float).reshape(whole, BATCH).mean(axis=1)
    assert found is not None
    assert found.limit == whole // 2
    mine = marginal(batches, found.batches)
    assert all(mine <= marginal(batches, leave) * (1 + 1e-6) + 1e-9 for leave in range(found.limit + 1))


@pytest.mark.parametrize("noise", [0.0, 0.02])
def test_a_warm_up_is_cut_off_where_it_ends(noise):
    draw = random.Random(3)
    values = [(1.0 if at < 40 else 2.0) * (1 + noise * draw.gauss(0, 1)) for at in range(200)]
    found = mser5(values)
    assert found is not None
    assert found.batches == pytest.approx(8, abs=2)
    assert not found.at_limit


def test_a_warm_up_that_fills_half_of_it_is_none_that_can_be_cut_off():
    found = mser5([float(at) for at in range(100)])
    assert found == Truncation(batches=10, limit=10)
    assert found.at_limit


def test_nothing_is_cut_off_of_what_never_changes():
    found = mser5([0.1 + 0.2] * 100)
    assert found is not None
    assert found.batches == 0


@pytest.mark.parametrize("count", [0, 1, 9])
def test_less_than_two_batches_say_nothing(count):
    assert mser5([1.0] * count) is None
