import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.statistics.paired_power import LEVEL, POWER, Design, detectable, log_effect, noncentrality, provable


@pytest.mark.parametrize(("blocks", "share"), [(3, 0.149), (5, 0.074), (10, 0.043)])
def test_the_detectable_effect_of_paired_blocks(blocks: int, share: float) -> None:
    assert detectable(blocks, 0.03) == pytest.approx(share, abs=0.0006)


@pytest.mark.parametrize(("blocks", "cv", "share"), [(3, 0.01, 0.031), (5, 0.05, 0.107), (10, 0.03, 0.041), (30, 0.2, 0.158)])
def test_the_detectable_effect_of_independent_arms(blocks: int, cv: float, share: float) -> None:
    assert detectable(blocks, cv, Design.INDEPENDENT) == pytest.approx(share, abs=0.0015)


def test_the_effect_that_can_be_proved_to_matter() -> None:
    assert provable(5, 0.03, 0.05) == pytest.approx(0.13, abs=0.003)


@pytest.mark.parametrize("freedom", [2, 4, 9, 49])
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


def test_one_block_shows_nothing() -> None:
    assert detectable(1, 0.01) is None
    assert provable(0, 0.01, 0.05) is None


@given(st.integers(2, 100), st.floats(0.001, 0.3))
def test_more_blocks_show_smaller_effects(blocks: int, cv: float) -> None:
    few, more = detectable(blocks, cv), detectable(blocks + 1, cv)
    assert few is not None
    assert more is not None
    assert more < few
    assert (provable(blocks, cv, 0.05) or 0) > few
