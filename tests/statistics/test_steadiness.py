"""Change points as the best of all partitions, MSER-5 and five rounds against their definitions, and the three tests together."""

import math
import random
from itertools import combinations, pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.audit import limits
from assay.statistics.steadiness import (
    BATCH,
    EXCURSION_SHARE,
    LEAST,
    PRICE,
    RANGE_SHARE,
    ROUNDS,
    Truncation,
    five_rounds,
    largest_step,
    mser5,
    noise,
    segments,
    steadiness,
)


def against(values):
    """Which of the three tests call the values unsteady."""
    found = steadiness(values)
    answers = {"rounds": not found.rounds.within(), "mser": found.truncation.at_limit, "step": found.step_share > 0.05}
    return [name for name, answer in answers.items() if answer]


def test_a_step_in_the_middle_is_seen_by_all_three_and_parts_two_levels():
    values = [100.0 + at % 3 for at in range(30)] + [60.0 + at % 3 for at in range(30)]
    assert against(values) == ["rounds", "mser", "step"]
    assert steadiness(values).levels == (pytest.approx(101), pytest.approx(61))


@pytest.mark.parametrize(("count", "asked"), [(0, 0), (ROUNDS - 1, 0), (ROUNDS, 1), (2 * BATCH, 3)])
def test_too_few_values_leave_tests_out(count, asked):
    assert steadiness([3.0] * count).tests == asked


def test_nothing_done_is_asked_nothing():
    assert steadiness([0.0] * 60).tests == 0


def share_refused(level, noise_share, correlation, runs=150):
    """Of so many runs of sixty rates about a level (a function of time from 0 to 1), those that two tests refuse."""
    refused = 0
    for seed in range(runs):
        draw, state = random.Random(seed), 0.0
        values = []
        for at in range(60):
            state = correlation * state + math.sqrt(1 - correlation**2) * draw.gauss(0, 1)
            values.append(level((at + 0.5) / 60) * (1 + noise_share * state))
        refused += len(against(values)) >= 2
    return refused / runs


def test_how_often_two_of_three_are_wrong():
    """The figures of `assay explain W02`."""
    still, fallen = lambda _: 1.0, lambda t: 1.0 if t < 0.5 else 0.7
    assert share_refused(still, 0.06, 0.3) <= 0.04
    assert share_refused(still, 0.06, 0.8) <= 0.2
    assert share_refused(lambda t: 1.0 if t < 0.5 else 0.9, 0.06, 0.3) >= 0.8
    assert share_refused(fallen, 0.15, 0.3) >= 0.95
    assert share_refused(lambda t: 1 + math.exp(-t / 0.1), 0.06, 0.3) >= 0.95


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


rates = st.floats(0.1, 1e9)


@given(st.lists(rates, min_size=ROUNDS, max_size=12))
def test_it_is_the_range_and_the_fit_of_the_last_five(values):
    found = five_rounds(values)
    last = np.array(values[-ROUNDS:])
    line = np.polyval(np.polyfit(np.arange(ROUNDS), last, 1), [0, ROUNDS - 1])
    assert found is not None
    assert found.range_share == pytest.approx((last.max() - last.min()) / last.mean())
    assert found.excursion_share == pytest.approx(abs(line[1] - line[0]) / last.mean(), rel=1e-6, abs=1e-6)


@given(st.lists(rates, min_size=ROUNDS, max_size=ROUNDS), st.floats(1e-3, 1e3))
def test_neither_the_unit_nor_the_direction_of_time_matters(values, unit):
    forth, back = five_rounds(values), five_rounds([value * unit for value in reversed(values)])
    assert forth is not None
    assert back is not None
    assert back.range_share == pytest.approx(forth.range_share, abs=1e-9)
    assert back.excursion_share == pytest.approx(forth.excursion_share, abs=1e-9)


@pytest.mark.parametrize(
    ("values", "steady"),
    [
        ([100, 100, 100, 100, 100], True),
        ([90, 110, 90, 110, 90], False),
        ([92, 108, 92, 108, 100], True),
        ([100, 103, 106, 109, 112], False),
        ([100, 102, 104, 106, 108], True),
        ([1, 1000, 100, 100, 100, 100, 100], True),
    ],
    ids=["still", "range", "within the range", "slope", "within the slope", "only the last five count"],
)
def test_steady_is_what_neither_scatters_nor_leans(values, steady):
    found = five_rounds(values)
    assert found is not None
    assert found.within() == steady


@pytest.mark.parametrize("values", [[], [1.0] * 4, [0.0] * 5])
def test_too_few_rounds_and_rounds_of_nothing_say_nothing(values):
    assert five_rounds(values) is None


def test_the_rule_judges_by_the_same_limits_as_the_fleet_stops():
    found = limits.thresholds("W02")
    assert (found["range_share"], found["excursion_share"]) == (RANGE_SHARE, EXCURSION_SHARE)
