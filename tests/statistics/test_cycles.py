"""Periods: sines, square waves and spikes found; noise, noise that remembers itself, drifts and steps let alone."""

import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.statistics.cycles import LEAST, correlations, cycle, detrended


def noisy(shape, size=60, noise=0.1, seed=1):
    chance = random.Random(seed)
    return [100 * (1 + shape(at)) * (1 + noise * chance.gauss(0, 1)) for at in range(size)]


SHAPES = {
    "sine": lambda at: 0.3 * math.sin(2 * math.pi * at / 12),
    "square": lambda at: 0.5 if at % 12 < 6 else -0.5,
    "spike": lambda at: -0.9 if at % 12 == 5 else 0.0,
}


@pytest.mark.parametrize("shape", SHAPES)
def test_a_period_is_found(shape):
    found = cycle(noisy(SHAPES[shape], noise=0.05))
    assert found is not None
    assert abs(found.lag - 12) <= 1
    assert found.correlation > 0.3
    assert found.p_value < 0.01
    assert found.turns == pytest.approx(5, rel=0.1)


def test_the_period_and_not_twice_it_is_told():
    assert cycle(noisy(SHAPES["square"], size=120, noise=0.01)).lag == 12


@pytest.mark.parametrize("memory", [0.0, 0.5, 0.8])
def test_noise_has_no_period(memory):
    """Of 200 series of noise, with and without memory, the thresholds of the rule accuse hardly any."""
    chance, accused = random.Random(7), 0
    for _ in range(200):
        values, last = [], 0.0
        for _ in range(60):
            last = memory * last + chance.gauss(0, 1)
            values.append(100 + 5 * last)
        found = cycle(values)
        accused += found is not None and found.correlation > 0.3 and found.p_value < 0.01
    assert accused <= 2


def test_a_drift_and_a_step_are_no_periods():
    drift = cycle([100.0 + at for at in range(60)])
    assert drift is None or drift.p_value > 0.01
    step = cycle(noisy(lambda at: 0.5 if at < 30 else 0.0, noise=0.02))
    assert step is None or step.p_value > 0.01 or step.correlation <= 0.3


@given(st.lists(st.floats(0, 1e9), min_size=0, max_size=40))
def test_any_series_is_taken(values):
    found = cycle(values)
    if found is not None:
        assert len(values) >= LEAST
        assert 2 <= found.lag <= len(values) // 2
        assert 0 <= found.p_value <= 1
        assert found.off_share >= 0


@given(st.floats(-100, 100), st.floats(1, 1e6))
def test_a_line_is_taken_off_and_nothing_is_left(slope, start):
    assert max(map(abs, detrended([start + slope * at for at in range(20)]))) < 1e-6 * (start + 2000)
    assert correlations([0.0] * 20) == []


@pytest.mark.parametrize(("size", "turns"), [(30, 2), (24, 2), (120, 10)])
def test_how_far_a_mean_may_be_off(size, turns):
    """Periods of a square wave of 50 % to either side: half a period too much of one side, wherever this series ends."""
    found = cycle([150.0 if at % 12 < 6 else 50.0 for at in range(size)])
    assert found.off_share == pytest.approx(0.25 / (turns + 0.5))
