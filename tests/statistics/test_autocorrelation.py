"""Neighbours that are alike, and periods: sines, square waves and spikes found; noise, drifts and steps let alone."""

import math
import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.statistics.autocorrelation import LEAST_PERIODIC, correlations, cycle, detrended, serial
from stage.rows import each
from stage.sizes import chance, few_and_many


def autoregressive(correlation, n, draw):
    values = [draw.normal()]
    for _ in range(n - 1):
        values.append(correlation * values[-1] + draw.normal() * math.sqrt(1 - correlation**2))
    return values


@each("correlation", 0.0, 0.5, 0.8)
def test_a_known_correlation_and_what_its_values_are_worth(correlation):
    draw = np.random.default_rng(1)
    found = [serial(autoregressive(correlation, 400, draw)) for _ in range(50)]
    assert np.mean([one.correlation for one in found]) == pytest.approx(correlation, abs=0.03)
    assert np.mean([one.effective for one in found]) == pytest.approx(400 * (1 - correlation) / (1 + correlation), rel=0.15)


@few_and_many("sets", 800, 4000)
@each("n", 8, 12, 30)
def test_independent_values_are_below_one_percent_in_one_percent(n, sets):
    draw = np.random.default_rng(n)
    below = sum(serial(draw.normal(size=n).tolist()).p_value < 0.01 for _ in range(sets)) / sets
    assert below <= 0.01 + chance(0.01, sets)


def test_values_that_alternate_are_worth_themselves_and_few_tell_nothing():
    found = serial([1.0, 2.0] * 6)
    assert found.p_value > 0.99
    assert found.effective == 12
    assert serial([1.0, 2.0, 3.0]) is None
    assert serial([1.0] * 10) is None
    assert serial([]) is None


def noisy(shape, size=60, noise=0.1, seed=1):
    chance = random.Random(seed)
    return [100 * (1 + shape(at)) * (1 + noise * chance.gauss(0, 1)) for at in range(size)]


SHAPES = {
    "sine": lambda at: 0.3 * math.sin(2 * math.pi * at / 12),
    "square": lambda at: 0.5 if at % 12 < 6 else -0.5,
    "spike": lambda at: -0.9 if at % 12 == 5 else 0.0,
}


@each("shape", *SHAPES)
def test_a_period_is_found(shape):
    found = cycle(noisy(SHAPES[shape], noise=0.05))
    assert found is not None
    assert abs(found.lag - 12) <= 1
    assert found.correlation > 0.3
    assert found.p_value < 0.01
    assert found.turns == pytest.approx(5, rel=0.1)


def test_a_drift_and_a_step_are_no_periods_and_twice_a_period_is_not_told():
    assert cycle(noisy(SHAPES["square"], size=120, noise=0.01)).lag == 12
    drift = cycle([100.0 + at for at in range(60)])
    assert drift is None or drift.p_value > 0.01
    step = cycle(noisy(lambda at: 0.5 if at < 30 else 0.0, noise=0.02))
    assert step is None or step.p_value > 0.01 or step.correlation <= 0.3


@each("memory", 0.0, 0.5, 0.8)
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


@given(st.lists(st.floats(0, 1e9), min_size=0, max_size=40))
def test_any_series_is_taken(values):
    found = cycle(values)
    if found is not None:
        assert len(values) >= LEAST_PERIODIC
        assert 2 <= found.lag <= len(values) // 2
        assert 0 <= found.p_value <= 1
        assert found.off_share >= 0


@given(st.floats(-100, 100), st.floats(1, 1e6))
def test_a_line_is_taken_off_and_nothing_is_left(slope, start):
    assert max(map(abs, detrended([start + slope * at for at in range(20)]))) < 1e-6 * (start + 2000)
    assert correlations([0.0] * 20) == []


@each("size turns", (30, 2), (24, 2), (120, 10))
def test_how_far_a_mean_may_be_off(size, turns):
    """Periods of a square wave of 50 % to either side: half a period too much of one side, wherever this series ends."""
    found = cycle([150.0 if at % 12 < 6 else 50.0 for at in range(size)])
    assert found.off_share == pytest.approx(0.25 / (turns + 0.5))
