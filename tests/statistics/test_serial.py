import math

import numpy as np
import pytest

from assay.statistics.serial import serial


def autoregressive(correlation, n, draw):
    values = [draw.normal()]
    for _ in range(n - 1):
        values.append(correlation * values[-1] + draw.normal() * math.sqrt(1 - correlation**2))
    return values


@pytest.mark.parametrize("correlation", [0.0, 0.5, 0.8])
def test_a_known_correlation_and_what_its_values_are_worth(correlation):
    draw = np.random.default_rng(1)
    found = [serial(autoregressive(correlation, 400, draw)) for _ in range(50)]
    assert np.mean([one.correlation for one in found]) == pytest.approx(correlation, abs=0.03)
    assert np.mean([one.effective for one in found]) == pytest.approx(400 * (1 - correlation) / (1 + correlation), rel=0.15)


@pytest.mark.parametrize("n", [8, 12, 30])
def test_independent_values_are_below_one_percent_in_one_percent(n):
    draw, sets = np.random.default_rng(n), 4000
    below = sum(serial(draw.normal(size=n).tolist()).p_value < 0.01 for _ in range(sets)) / sets
    assert below <= 0.01 + 3 * math.sqrt(0.01 * 0.99 / sets)


def test_values_that_alternate_are_worth_themselves():
    found = serial([1.0, 2.0] * 6)
    assert found.p_value > 0.99
    assert found.effective == 12


def test_too_few_or_equal_values_tell_nothing():
    assert serial([1.0, 2.0, 3.0]) is None
    assert serial([1.0] * 10) is None
    assert serial([]) is None
