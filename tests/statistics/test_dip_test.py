import itertools

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from assay.statistics.dip_test import CRITICAL, critical, dip, has_several_modes, modes
from stage.rows import each
from stage.sizes import chance, few_and_many


def by_linear_programs(values):
    """The dip as it is defined: for each place of the mode, the nearest function that is convex before it and concave after.

    The function has two values at the mode, before and after it. Unknowns: its values and the distance, which is made small.
    """
    from scipy.optimize import linprog

    x, n = sorted(values), len(values)
    return min(linprog(*program(x, n, mode), bounds=[(0, 1)] * (n + 2)).fun for mode in range(n))


def program(x, n, mode):
    """The objective and the inequalities; unknown n is the value just after the mode, unknown n + 1 the distance."""
    rows = [*distances(n, mode), ({mode: 1, n: -1}, 0)]
    rows += [({after(i, n, mode): 1, i + 1: -1}, 0) for i in range(n - 1)]
    for i in range(1, n - 1):
        before, behind = 1 / (x[i] - x[i - 1]), 1 / (x[i + 1] - x[i])
        bend = {i: before + behind, after(i - 1, n, mode): -before, i + 1: -behind}
        if i != mode:
            rows.append((bend if i < mode else {at: -factor for at, factor in bend.items()}, 0))
    matrix = np.zeros((len(rows), n + 2))
    for row, (factors, _) in enumerate(rows):
        for at, factor in factors.items():
            matrix[row, at] = factor
    return np.eye(n + 2)[n + 1], matrix, [limit for _, limit in rows]


def after(i, n, mode):
    return n if i == mode else i


def distances(n, mode):
    """Each value is near the distribution of the values on both sides of its step, at the mode each on its own side."""
    for at, below, above in [(i, i, i if i == mode else i + 1) for i in range(n)] + [(n, mode + 1, mode + 1)]:
        yield {at: 1, n + 1: -1}, below / n
        yield {at: -1, n + 1: -1}, -above / n


@settings(max_examples=25, deadline=None)
@given(st.lists(st.integers(0, 400), min_size=4, max_size=12, unique=True))
@example([0, 26, 106, 131, 152, 193, 273])
def test_it_is_the_distance_to_the_nearest_distribution_with_one_mode(values):
    assert dip([float(value) for value in values]) == pytest.approx(by_linear_programs(values), abs=1e-7)


def test_known_dips_modes_and_critical_values():
    assert dip([0.0, 0.0, 1.0, 1.0]) == 0.25
    assert dip([1.0, 2.0, 3.0, 4.0]) == pytest.approx(1 / 8)
    assert dip([7.0]) == 0.5
    with pytest.raises(ValueError, match="found no values"):
        dip([])
    found = modes([1.0, 1.2, 5.0, 5.2, 5.4, 5.4])
    assert (found.low, found.high) == (pytest.approx(1.1), pytest.approx(5.25))
    assert found.upper_share == pytest.approx(4 / 6)
    with pytest.raises(ValueError, match="at least two"):
        modes([1.0])
    for (small, lower), (large, upper) in itertools.pairwise(CRITICAL):
        if large - small > 1:
            assert min(lower, upper) < critical((small + large) // 2) < max(lower, upper)
    assert critical(10_000) == CRITICAL[-1][1]


@few_and_many("sets", 500, 1500)
@each("n", 6, 10, 25)
def test_evenly_drawn_values_are_beyond_the_critical_value_in_a_fortieth(n, sets):
    draw = np.random.default_rng(100 + n)
    beyond = sum(has_several_modes(draw.random(n).tolist()) for _ in range(sets)) / sets
    assert abs(beyond - 0.025) <= chance(0.025, sets)


def test_normal_values_are_accused_less_often_and_two_groups_always():
    draw, sets = np.random.default_rng(1), 400
    assert sum(has_several_modes(draw.normal(size=10).tolist()) for _ in range(sets)) / sets <= 0.02
    draw = np.random.default_rng(2)
    for n in (3, 5, 10, 50):
        assert has_several_modes([*draw.normal(0, 0.01, n), *draw.normal(1, 0.01, n)])
