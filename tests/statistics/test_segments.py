"""Change points: the best of all partitions, found."""

import math
import random
from itertools import combinations, pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.statistics.segments import LEAST, PRICE, largest_step, noise, segments


def price_of(values, edges):
    """Squares about the means of the stretches, and the price of the changes."""
    squares = sum(np.var(values[first:end]) * (end - first) for first, end in pairwise(edges))
    return squares + PRICE * math.log(len(values)) * noise(values) ** 2 * (len(edges) - 2)


@given(st.lists(st.integers(1, 1000), min_size=1, max_size=11))
def test_no_other_partition_is_cheaper(values):
    values = [float(value) for value in values]
    found = segments(values)
    edges = [0, *(one.end for one in found)]
    assert [one.first for one in found] == edges[:-1]
    assert edges[-1] == len(values)
    assert all(one.mean == pytest.approx(np.mean(values[one.first : one.end])) for one in found)
    places = range(1, len(values))
    every = ([0, *inner, len(values)] for size in range(len(values)) for inner in combinations(places, size))
    allowed = [one for one in every if len(one) == 2 or all(end - first >= LEAST for first, end in pairwise(one))]
    assert price_of(values, edges) <= min(price_of(values, one) for one in allowed) * (1 + 1e-6) + 1e-6


def test_a_step_is_found_where_it_is():
    draw = random.Random(1)
    values = [(100.0 if at < 30 else 80.0) + draw.gauss(0, 2) for at in range(50)]
    first, second = segments(values)
    assert (first.first, first.end, second.end) == (0, 30, 50)
    assert largest_step((first, second), 92.0) == pytest.approx(20 / 92, rel=0.1)


@pytest.mark.parametrize("values", [[5.0] * 20, [5.0]])
def test_nothing_changes_in_what_never_does(values):
    (only,) = segments(values)
    assert (only.first, only.end, only.mean) == (0, len(values), 5.0)
    assert largest_step((only,), 5.0) == 0


def test_there_are_no_stretches_of_nothing():
    assert segments([]) == ()
