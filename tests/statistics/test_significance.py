"""Power against the noncentral t and a simulation; Dunnett's probabilities against scipy's; Holm's procedure."""

import math
import random

import numpy as np
import pytest
import scipy
from hypothesis import given
from hypothesis import strategies as st

from assay.statistics.significance import LEVEL, POWER, Design, alike, dunnett, exceeded, holm, log_effect, noncentrality
from stage.rows import each
from stage.sizes import few_and_many


@each("blocks share", (3, 0.149), (5, 0.074), (10, 0.043))
def test_the_detectable_effect_of_paired_blocks(blocks: int, share: float) -> None:
    assert math.expm1(log_effect(blocks, 0.03)) == pytest.approx(share, abs=0.0006)


@each("blocks cv share", (3, 0.01, 0.031), (5, 0.05, 0.107), (10, 0.03, 0.041), (30, 0.2, 0.158))
def test_the_detectable_effect_of_independent_arms(blocks: int, cv: float, share: float) -> None:
    assert math.expm1(log_effect(blocks, cv, Design.INDEPENDENT)) == pytest.approx(share, abs=0.0015)


def test_the_effect_that_can_be_proved_and_one_block_shows_nothing() -> None:
    assert math.expm1(math.log1p(0.05) + log_effect(5, 0.03)) == pytest.approx(0.13, abs=0.003)
    assert log_effect(1, 0.01) is None
    assert log_effect(0, 0.01) is None


@each("freedom", 2, 4, 9, 49)
def test_the_power_is_that_of_the_noncentral_t(freedom: int) -> None:
    from scipy.stats import nct, t

    shift = noncentrality(freedom, level=LEVEL, power=POWER)
    critical = t.ppf(1 - LEVEL / 2, freedom)
    assert nct.sf(critical, freedom, shift) + nct.cdf(-critical, freedom, shift) == pytest.approx(POWER, abs=1e-5)


def test_two_blocks_have_the_power_of_a_simulation() -> None:
    effect, source, hits, rounds = log_effect(2, 0.05), random.Random(1), 0, 20000
    assert effect is not None
    for _ in range(rounds):
        first, second = (source.gauss(effect, 0.05 * math.sqrt(2)) for _ in range(2))
        spread = abs(first - second) / 2
        hits += abs(first + second) / 2 > 12.7062 * spread
    assert hits / rounds == pytest.approx(POWER, abs=0.012)


@given(st.integers(2, 100), st.floats(0.001, 0.3))
def test_more_blocks_show_smaller_effects(blocks: int, cv: float) -> None:
    few, more = log_effect(blocks, cv), log_effect(blocks + 1, cv)
    assert few is not None
    assert more is not None
    assert more < few


BLOCKS = np.array([1.0, 1.3, 0.8, 1.1, 0.9])


@each("candidates n", (2, 4), (3, 5), (6, 10), (1, 5))
def test_the_probabilities_are_those_of_scipy_where_there_are_no_blocks(candidates, n):
    draw = np.random.default_rng(5)
    arms = [draw.normal(0.4 * number, 1, n) for number in range(candidates + 1)]
    known = scipy.stats.dunnett(*arms[1:], control=arms[0], rng=np.random.default_rng(1))
    freedom = (candidates + 1) * (n - 1)
    for statistic, p in zip(known.statistic, known.pvalue, strict=True):
        assert exceeded(abs(statistic), candidates, freedom) == pytest.approx(p, abs=0.002)


def test_what_blocks_share_is_taken_out_and_unlike_spreads_are_no_case():
    noise = np.random.default_rng(3).normal(0, 0.01, (4, 5))
    arms = [BLOCKS * np.exp(one) * factor for one, factor in zip(noise, (1, 1.1, 1, 1), strict=True)]
    first, second, third = dunnett(arms[0], arms[1:])
    assert first < 0.001
    assert min(second, third) > 0.05
    draw = np.random.default_rng(1)
    quiet, loud = np.exp(draw.normal(0, 0.01, (3, 5))), np.exp(draw.normal(0, 0.2, 5))
    assert not alike(quiet[0], [quiet[1], loud])
    assert not alike([1.0, 2.0], [[1.0, 3.0], [2.0, 1.0]])
    assert not alike([1.0, 2.0, 3.0], [[1.0, 2.0, 3.0], [2.0, 4.0, 6.0]]), "no spread"
    with pytest.raises(ValueError, match="found arms of 3, 2 blocks"):
        dunnett([1.0, 2.0, 3.0], [[1.0, 2.0]])
    with pytest.raises(ValueError, match="no spread"):
        dunnett([1.0, 1.0, 1.0], [[2.0, 2.0, 2.0]])
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx((0.03, 0.06, 0.06, 0.02))
    assert holm([]) == ()


@few_and_many("sets", 100, 500)
@each("candidates blocks", (2, 3), (3, 5), (6, 5), (3, 10))
def test_the_error_over_all_candidates_is_five_percent(candidates, blocks, sets):
    draw, wrong = np.random.default_rng(7), 0
    for _ in range(sets):
        arms = np.exp(draw.normal(0, 0.03, (candidates + 1, blocks)) + draw.normal(0, 0.3, blocks))
        wrong += min(dunnett(arms[0], arms[1:])) <= 0.05
    error = (0.05 / sets) ** 0.5  # 0.01 of 500
    assert 0.05 - 3 * error <= wrong / sets <= 0.05 + 3 * error


@given(st.lists(st.floats(0, 1), min_size=1, max_size=12))
def test_never_below_the_p_value_and_in_its_order(values):
    adjusted = holm(values)
    assert all(value <= new <= 1 for value, new in zip(values, adjusted, strict=True))
    assert min(adjusted) == pytest.approx(min(1, len(values) * min(values)))
    order = sorted(range(len(values)), key=values.__getitem__)
    assert [adjusted[i] for i in order] == sorted(adjusted)
