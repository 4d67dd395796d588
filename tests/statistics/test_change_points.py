"""Change points are found where they are, and seldom in noise alone; correlation time and batch means hold their word."""

import math
import random
import zlib

import pytest

from assay.statistics.autocorrelation import correlation_time
from assay.statistics.intervals import LEAST_BATCHES, batch_means
from assay.statistics.steadiness import FALSE_ALARM_SHARE, LEAST_VALUES, change_points, detectable, mser5
from stage.rows import each
from stage.sizes import chance, few_and_many


def noise(name, count, correlation, kind="normal", spread=0.06):
    """Values about 1 of which neighbours correlate by so much."""
    draw, state, values = random.Random(zlib.crc32(repr(name).encode())), 0.0, []
    for _ in range(count + 50):
        state = correlation * state + math.sqrt(1 - correlation**2) * draw.gauss(0, 1)
        values.append(math.exp(spread * state - spread * spread / 2) if kind == "lognormal" else 1 + spread * state)
    return values[50:]


def changed(values, *levels):
    """The values times the level that begins at a share of the series: (0.5, 0.7) is 0.7 from the middle on."""
    return [
        value * next((level for share, level in reversed(levels) if at >= share * len(values)), 1.0)
        for at, value in enumerate(values)
    ]


@few_and_many("sets", 40, 150)
@each("count correlation", (120, 0.0), (120, 0.3), (120, 0.6), (120, 0.8), (60, 0.0), (60, 0.6), (20, 0.3), (40, 0.3))
@each("kind spread", ("normal", 0.06), ("lognormal", 0.3))
def test_noise_alone_seldom_seems_to_change(count, correlation, kind, spread, sets):
    found = [change_points(noise((count, correlation, kind, one), count, correlation, kind, spread)) for one in range(sets)]
    assert sum(len(one) > 1 for one in found) / sets <= FALSE_ALARM_SHARE + chance(FALSE_ALARM_SHARE, sets)


@few_and_many("sets", 100, 400)
def test_without_a_memory_a_false_alarm_is_rare(sets):
    found = [change_points(noise(("white", one), 120, 0.0, "lognormal", 0.3)) for one in range(sets)]
    assert sum(len(one) > 1 for one in found) <= sets * (0.005 + chance(0.005, sets))


@each(
    "levels correlation least",
    (((0.5, 0.7),), 0.8, 0.9),
    (((0.85, 0.7),), 0.6, 0.9),
    (((0.5, 0.9),), 0.3, 0.8),
    (((0.4, 0.7), (0.6, 1.0)), 0.3, 0.95),
    (((0.25, 0.6), (0.5, 0.9), (0.75, 0.5)), 0.6, 0.9),
)
def test_changes_are_found_as_many_as_there_are_and_where_they_are(levels, correlation, least):
    hits = 0
    for one in range(60):
        found = change_points(changed(noise((levels, one), 120, correlation), *levels))
        places = [stretch.first / 120 for stretch in found[1:]]
        hits += len(places) == len(levels) and all(
            abs(place - share) <= 0.05 for place, (share, _) in zip(places, levels, strict=True)
        )
    assert hits / 60 >= least


@few_and_many("sets", 60, 150)
@each("count", 60, 120)
def test_what_is_called_detectable_is_found_in_eight_of_ten(count, sets):
    found = 0
    for one in range(sets):
        values = noise(("detectable", count, one), count, 0.0)
        found += len(change_points(changed(values, (0.5, 1 + detectable(values))))) == 2
    assert 0.8 - chance(0.8, sets) <= found / sets <= 0.95


def test_levels_are_the_means_of_their_stretches_and_a_long_memory_has_no_interval():
    first, second = change_points([100.0 + at % 3 for at in range(60)] + [60.0 + at % 3 for at in range(60)])
    assert (first.first, first.end, second.end) == (0, 60, 120)
    assert (first.mean, second.mean) == (pytest.approx(101), pytest.approx(61))
    values = [math.sin(at / 40) for at in range(120)]
    found = batch_means(values)
    assert (found.mean, found.batches) == (None, ())
    assert found.time > 120 / (5 * LEAST_BATCHES)
    found = batch_means([1.8] * 3 + [1.0, 2.0] * 60)
    assert len(found.batches) * found.each <= 123
    assert found.mean.value == pytest.approx(1.5, abs=0.05)
    assert batch_means([]).mean is None


@each("count", 0, 1, LEAST_VALUES - 1)
def test_of_too_few_values_nothing_is_said(count):
    assert change_points([1.0 + at % 3 for at in range(count)]) == ()


@each("value", 0.0, 7.0)
def test_what_never_varies_never_changes(value):
    (only,) = change_points([value] * 120)
    assert only.mean == value
    assert correlation_time([0.0] * 120) == 1.0


@each("correlation", 0.0, 0.3, 0.6, 0.8)
def test_the_correlation_time_is_that_of_the_process(correlation):
    values = noise(("time", correlation), 20_000, correlation)
    mean = sum(values) / len(values)
    assert correlation_time([value - mean for value in values]) == pytest.approx((1 + correlation) / (1 - correlation), rel=0.15)


@few_and_many("sets", 100, 300)
@each("correlation least had", (0.0, 0.93, 0.9), (0.3, 0.91, 0.9), (0.6, 0.85, 0.4))
def test_batch_means_hold_the_mean(correlation, least, had, sets):
    found = [batch_means(noise(("batches", correlation, one), 120, correlation)) for one in range(sets)]
    known = [one.mean for one in found if one.mean is not None]
    held = sum(mean.low <= 1 <= mean.high for mean in known) / len(known)
    assert len(known) / sets >= had
    assert held >= least - 3 * math.sqrt(0.05 * 0.95 / len(known)) / 2


def test_a_warm_up_of_a_tenth_is_cut_off():
    cut = [mser5(changed(noise(("warm", one), 120, 0.3), (0.0, 0.5), (0.1, 1.0))).batches * 5 for one in range(60)]
    assert sum(12 <= one <= 40 for one in cut) >= 50
