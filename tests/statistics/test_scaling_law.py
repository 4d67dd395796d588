"""The laws and crossings against known truth: which law is chosen, where its peak is, how often intervals hold it."""

import math

import numpy as np
import pytest
import scipy
from hypothesis import given
from hypothesis import strategies as st

from assay.statistics.scaling_law import CurveValue, band, crossings, laws, misfit, peak_interval
from stage.rows import each
from stage.sizes import few_and_many

LEVELS = (1, 2, 4, 8, 16, 32)


def truth(n, one=100.0, contention=0.0, coherency=0.0):
    return one * n / (1 + contention * (n - 1) + coherency * n * (n - 1))


def trials(seed, *, noise=0.03, repeats=5, levels=LEVELS, **of):
    draws = np.random.default_rng(seed)
    return [(float(n), truth(n, **of) * math.exp(noise * draws.standard_normal())) for n in levels for _ in range(repeats)]


@few_and_many("sets", 25, 200)
@each("of name", ({}, "linear"), ({"contention": 0.1}, "amdahl"), ({"contention": 0.05, "coherency": 0.003}, "usl"))
def test_the_law_is_recognised(of, name, sets):
    chosen = [laws(trials(seed, **of))[0] for seed in range(sets)]
    assert sum(law.name == name for law in chosen) >= 0.8 * sets
    assert np.median([law.one for law in chosen]) == pytest.approx(100, rel=0.03)


@few_and_many("sets", 40, 300)
def test_noise_is_no_misfit_and_a_bend_that_the_law_has_not_is_one(sets):
    """A level of 1 %: of 300 curves of the law about three are called misfits; a number that is 10 % off is found."""
    drawn = [trials(seed, contention=0.05, coherency=0.003) for seed in range(sets)]
    alarms = sum(misfit(points, next(law for law in laws(points) if law.name == "usl")) > 0 for points in drawn)
    assert alarms <= max(2, sets / 30)
    bent = [[(n, x * (1.2 if n == 8 else 1)) for n, x in points] for points in drawn[: max(5, sets // 8)]]
    assert all(misfit(points, laws(points)[0]) > 0.05 for points in bent)
    exact = [(n, truth(n, contention=0.1)) for n in LEVELS for _ in range(3)]
    assert misfit(exact, laws(exact)[0]) < 1e-6


@few_and_many("sets", 20, 100)
@each("repeats", 3, 5)
def test_a_level_that_is_reached_is_recognised(repeats, sets):
    """min(100 N, 700): a resource that is used up at 7."""
    chosen = []
    for seed in range(sets):
        draws = np.random.default_rng(seed)
        points = [
            (float(n), min(100.0 * n, 700.0) * math.exp(0.03 * draws.standard_normal())) for n in LEVELS for _ in range(repeats)
        ]
        chosen.append(laws(points)[0])
    assert sum(law.name == "clipped" for law in chosen) >= 0.95 * sets
    assert np.median([law.ceiling / law.one for law in chosen]) == pytest.approx(7, rel=0.03)
    assert all(law.peak is None for law in chosen if law.name == "clipped")


def test_the_parameters_come_back_without_noise_and_a_peak_only_where_there_is_one():
    best = laws(trials(1, noise=1e-9, contention=0.05, coherency=0.003))[0]
    assert best.name == "usl"
    assert best.contention == pytest.approx(0.05, rel=1e-3)
    assert best.coherency == pytest.approx(0.003, rel=1e-3)
    assert best.peak == pytest.approx(math.sqrt(0.95 / 0.003), rel=1e-3)
    for law in laws(trials(3, contention=0.1)):
        assert (law.peak is None) == (law.coherency == 0)


@few_and_many("sets", 25, 200)
def test_the_interval_of_the_peak_holds_the_truth_as_often_as_it_says(sets):
    """Nominal 95 %; 90 to 99 % of 200 synthetic cases."""
    peak = math.sqrt(0.95 / 0.005)
    held = 0
    for seed in range(sets):
        points = trials(seed, contention=0.05, coherency=0.005)
        usl = next(law for law in laws(points) if law.name == "usl")
        low, high = peak_interval(points, usl, seed=seed, draws=250)
        held += low <= peak <= high
    assert 0.9 * sets <= held <= 0.99 * sets


@few_and_many("sets", 20, 120)
@each("of", {"contention": 0.05, "coherency": 0.005}, {"contention": 0.1}, {})
def test_the_band_of_the_curve_holds_the_truth_as_often_as_it_says(of, sets):
    """Nominal 95 % at each place; 94 to 98 % of 120 synthetic cases."""
    places = (1.0, 3.0, 8.0, 24.0, 32.0)
    held = np.zeros(len(places))
    for seed in range(sets):
        points = trials(seed, **of)
        bounds = band(points, laws(points)[0], places, seed=seed, draws=100)
        held += [low <= truth(n, **of) <= high for n, (low, high) in zip(places, bounds, strict=True)]
    assert (held / sets >= 0.95 - max(0.08, 3 * (0.05 / sets) ** 0.5)).all(), held / sets
    assert held.sum() <= 0.99 * sets * len(places), held / sets


@each("points", [(1.0, 5.0), (2.0, 9.0), (4.0, 17.0)], [(n, 0.0) for n in (1.0, 2.0, 3.0, 4.0)])
def test_too_little_is_refused(points):
    with pytest.raises(ValueError, match="found"):
        laws(points)


def bands(values, half=0.1):
    return [CurveValue(at=float(at), low=value - half, value=value, high=value + half) for at, value in values]


def test_crossings_between_places_falling_and_out_of_bounds():
    (one,) = crossings(bands([(1, -1.0), (2, -0.5), (4, 1.5)]))
    assert (one.at, one.rising) == (2.5, True)
    assert one.low == pytest.approx(2.4)
    assert one.high == pytest.approx(2.6)
    (one,) = crossings(bands([(1, 1.0), (3, -1.0)]))
    assert (one.at, one.rising) == (2.0, False)
    assert (one.low, one.high) == (pytest.approx(1.9), pytest.approx(2.1))
    (one,) = crossings(bands([(1, -0.05), (2, 1.0)]))
    assert one.low is None
    assert one.high is not None
    assert crossings(bands([(1, 0.2), (2, 1.0)])) == ()


@given(st.lists(st.floats(-10, 10), min_size=2, max_size=8))
def test_a_bound_is_never_on_the_wrong_side(values):
    for one in crossings(bands(list(enumerate(values)))):
        assert one.low is None or one.low <= one.at
        assert one.high is None or one.high >= one.at
        assert 0 <= one.at <= len(values) - 1


def test_the_bounds_hold_the_truth_as_often_as_they_say():
    """ln ratio = 0.08 (5 - N): break-even at 5; five blocks of 3 % noise; 90 to 100 % of 400 cases."""
    draws = np.random.default_rng(7)
    half = scipy.stats.t.ppf(0.975, 4) / math.sqrt(5)
    held = 0
    for _ in range(400):
        made = []
        for n in (1, 2, 4, 8):
            sample = 0.08 * (5 - n) + 0.03 * math.sqrt(2) * draws.standard_normal(5)
            mean, spread = sample.mean(), half * sample.std(ddof=1)
            made.append(CurveValue(at=n, low=mean - spread, value=mean, high=mean + spread))
        (one,) = crossings(made)
        held += (one.low or 1) <= 5 <= (one.high or 8)
    assert held >= 360
