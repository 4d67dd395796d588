"""Demands found again from trials of different mixes, and Erlang's formula."""

import math

import numpy as np
import pytest

from assay.statistics.queueing import (
    MixPoint,
    Unknown,
    amounts,
    demands,
    highest_rate,
    quantiles,
    slowdown,
    used_by,
    waiting_share,
)
from stage.rows import each
from stage.sizes import few_and_many

TRUE = (0.05, 20e-6, 90e-6)
MIXES = {"reads": (9000.0, 1000.0), "even": (4000.0, 4000.0), "writes": (600.0, 6000.0), "few": (900.0, 300.0)}


def measured(mixes=MIXES, n=4, spread=0.03, seed=1, curve=0.0, true=TRUE):
    """Trials with noise of rates and of use."""
    draw = np.random.default_rng(seed)
    for name, rates in mixes.items():
        for _ in range(n):
            seen = [rate * float(np.exp(draw.normal(0, spread))) for rate in rates]
            used = true[0] + sum(d * rate for d, rate in zip(true[1:], seen, strict=True))
            bent = 1 + curve * rates[0] * rates[1] / 16e6
            yield MixPoint(mix=name, rates=tuple(seen), used=used * bent * float(np.exp(draw.normal(0, spread))))


def test_without_noise_the_truth_is_found_and_a_curve_is_no_line():
    found = demands(list(measured(spread=0)))
    assert (found.background, *found.each) == pytest.approx(TRUE)
    assert found.has_background
    assert found.is_linear
    assert found.misfit == pytest.approx(0, abs=1e-9)
    assert demands(list(measured(spread=0, curve=0.4))).is_linear is False
    two = {name: MIXES[name] for name in ("reads", "writes")}
    found = demands(list(measured(two, spread=0, true=(0.0, 20e-6, 90e-6))))
    assert found.each == pytest.approx((20e-6, 90e-6))
    assert not found.has_background
    assert found.is_linear is None
    assert found.allowance == 0.05
    points = list(measured())
    assert (demands(points).draws == demands(points).draws).all()


@each("mixes", {"even": (4000.0, 4000.0)}, {"a": (4000.0, 4000.0), "b": (2000.0, 2000.0)})
def test_classes_that_never_part_are_not_told_apart(mixes):
    assert demands(list(measured(mixes, n=6))) is Unknown.ALIKE


def test_an_unused_class_or_resource_has_no_demand():
    assert demands(list(measured({"a": (100.0, 0.0), "b": (200.0, 0.0), "c": (50.0, 0.0)}))) is Unknown.ALIKE
    assert demands([MixPoint(mix="a", rates=(1.0,), used=0.0)]) is Unknown.NOTHING
    assert demands([]) is Unknown.NOTHING
    assert demands(list(measured(n=1))) is Unknown.FEW


@few_and_many("sets", 24, 80)
@each("n", 3, 5)
@each("which", tuple(MIXES), ("reads", "writes"))
def test_the_interval_of_a_mix_that_was_not_measured_holds_its_mean(n, which, sets):
    """90 % intervals, of the truth and of the mean of as many trials; the allowance for curves only makes them wider."""
    true = TRUE if len(which) > 2 else (0.0, *TRUE[1:])
    mixes = {name: MIXES[name] for name in which}
    hold = (5000.0, 2000.0)
    truth = true[0] + true[1] * hold[0] + true[2] * hold[1]
    draw = np.random.default_rng(7)
    hits = {"truth": 0, "mean": 0}
    for seed in range(sets):
        found = demands(list(measured(mixes, n=n, seed=seed, true=true)), draws=300)
        low, _, high = quantiles(used_by(found, hold))
        hits["truth"] += low <= truth <= high
        low, _, high = quantiles(used_by(found, hold, trials=n))
        hits["mean"] += low <= truth * float(np.exp(draw.normal(0, 0.03, n).mean())) <= high
    assert min(hits.values()) >= 0.87 * sets


@few_and_many("sets", 24, 80)
def test_the_interval_of_a_demand_holds_the_truth(sets):
    hits = np.zeros(3)
    for seed in range(sets):
        found = demands(list(measured(n=4, seed=seed)), draws=300)
        for place, true in enumerate(TRUE):
            low, _, high = quantiles(found.draws[:, place])
            hits[place] += low <= true <= high
    assert hits.min() >= 0.86 * sets


def saturated(seed, spread=0.03):
    """Three mixes that each keep one processor busy all the time: a background of all of it would explain them as well."""
    draw = np.random.default_rng(seed)
    for share in (0.95, 0.5, 0.05):
        for _ in range(4):
            total = float(np.exp(draw.normal(0, spread))) / (share * TRUE[1] + (1 - share) * TRUE[2])
            yield MixPoint(mix=f"{share}", rates=(share * total, (1 - share) * total), used=1.0)


def test_noise_and_what_does_not_idle_are_no_background():
    for seed in range(8):
        found = demands(list(saturated(seed)), draws=50)
        assert not found.has_background
        assert found.each == pytest.approx(TRUE[1:], rel=0.1)
    assert not demands(list(measured()), idles=False).has_background


def test_a_mix_is_bounded_by_what_it_uses_also_by_nothing():
    found = demands(list(measured(spread=0.01)))
    low, value, high = highest_rate(found, 2.0, (0.5, 0.5))
    assert value == pytest.approx((2 - 0.05) / 55e-6, rel=0.03)
    assert low < value < high
    assert highest_rate(found, 2.0, (0.0, 0.0)) is None
    # Reads write nothing: what one write takes is known, and that a read takes nothing.
    pure = {"reads": (1000.0, 0.0), "writes": (0.0, 500.0), "both": (400.0, 300.0)}
    found = demands(list(measured(pure, true=(0.0, 0.0, 90e-6))), idles=False)
    assert found.each == pytest.approx((0.0, 90e-6), rel=0.05, abs=1e-6)
    assert found.is_linear
    assert amounts((8.0, 8.0, 8.0), 5) == pytest.approx([8.0] * 5)
    assert quantiles(amounts((8.0, 10.0, 12.5), 4000)) == pytest.approx((8.0, 10.0, 12.5), rel=0.02)


def direct(servers, load):
    """Erlang's formula as it is written, for few servers."""
    a = servers * load
    waiting = a**servers / math.factorial(servers) / (1 - load)
    return waiting / (sum(a**k / math.factorial(k) for k in range(servers)) + waiting)


@each("servers load", (1, 0.7), (2, 0.5), (4, 0.9), (16, 0.75))
def test_the_recursion_is_erlangs_formula(servers, load):
    assert waiting_share(servers, load) == pytest.approx(direct(servers, load))


def test_waiting_at_the_ends_is_that_of_a_single_queue_and_does_not_overflow():
    assert slowdown(1, 0.7) == pytest.approx(1 / 0.3)
    assert slowdown(8, 0.0) == 1
    assert slowdown(8, 1.0) == math.inf
    assert waiting_share(8, 1.3) == 1
    assert 0 < waiting_share(5000, 0.99) < 1


@each("servers load", (0, 0.5), (1, -0.1))
def test_nonsense_is_refused(servers, load):
    with pytest.raises(ValueError, match="no server"):
        slowdown(servers, load)
