"""Contrasts in blocks: exact where there is no noise, their intervals hold, and missing runs cost only what they must."""

import itertools
import math

import numpy as np
import pytest

from assay.statistics.contrast import interval
from assay.statistics.effects import alone, conditional, contrasts, crossed
from stage.rows import each
from stage.sizes import few_and_many

FULL = tuple(itertools.product((0, 1), repeat=3))
HALF = tuple(row for row in itertools.product((0, 1), repeat=4) if sum(row) % 2 == 0)
LEVELS = tuple(itertools.product((0, 1, 2), (0, 1)))
ONE = ((0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1), (0, 0, 2))
DESIGNS = {
    "full": crossed(FULL, pairs=True),
    "half": crossed(HALF, pairs=True),
    "three levels": crossed(LEVELS, pairs=True),
    "one at a time": alone(ONE),
}


def measured(rows, blocks, value, spreads=None, seed=1):
    """Values, blocks, places of a whole design in blocks; spreads: a standard deviation for each combination."""
    draws = np.random.default_rng(seed)
    found = []
    for block in range(blocks):
        drift = draws.standard_normal()
        for place, row in enumerate(rows):
            noise = spreads[place] * draws.standard_normal() if spreads is not None else 0.0
            found.append((value(row) + drift + noise, block, place))
    values, blocks_of, places = zip(*found, strict=True)
    return list(values), list(blocks_of), list(places)


def by_steps(effects, found):
    return dict(zip([one.steps for one in effects], found, strict=True))


def test_known_effects_interactions_and_levels_come_back_exactly():
    values = measured(FULL, 3, lambda row: 0.5 * row[0] - 0.2 * row[1] + 0.3 * row[0] * row[2])
    found = by_steps(DESIGNS["full"], contrasts(*values, [one.weights for one in DESIGNS["full"]]))
    want = {((0, 1),): 0.65, ((1, 1),): -0.2, ((2, 1),): 0.15, ((0, 1), (2, 1)): 0.3, ((0, 1), (1, 1)): 0.0}
    for steps, size in want.items():
        assert found[steps].difference == pytest.approx(size)
        assert found[steps].standard_error == pytest.approx(0, abs=1e-9)
    values = measured(LEVELS, 3, lambda row: (0.0, 0.1, 0.4)[row[0]])
    found = by_steps(DESIGNS["three levels"], contrasts(*values, [one.weights for one in DESIGNS["three levels"]]))
    assert found[((0, 1),)].difference == pytest.approx(0.1)
    assert found[((0, 2),)].difference == pytest.approx(0.4)
    assert len(found) == 2 + 1 + 2
    weights = conditional(FULL, ((0, 1), (2, 1)))
    values = measured(FULL, 3, lambda row: 0.5 * row[0] + 0.3 * row[0] * row[2])
    assert [one.difference for one in contrasts(*values, weights)] == pytest.approx([0.5, 0.8])


def test_a_step_on_another_target_stands_against_that_target_alone():
    """The second factor does something on target 1 alone; the target itself is worth 2."""
    rows = ((0, 0, 0), (0, 0, 1), (1, 0, 0), (1, 1, 0), (1, 2, 0))
    effects = alone(rows)
    values = measured(rows, 3, lambda row: 2.0 * row[0] + 0.3 * row[0] * row[1] + 0.1 * row[2])
    found = by_steps(effects, contrasts(*values, [one.weights for one in effects]))
    want = {((2, 1),): 0.1, ((0, 1),): 2.0, ((1, 1),): 0.3, ((1, 2),): 0.6}
    assert {steps: one.difference for steps, one in found.items()} == pytest.approx(want)
    without = alone(tuple(row for row in rows if row != (1, 0, 0)))
    assert [one.steps for one in without] == [((2, 1),)], "nothing to stand against, nothing claimed"


def test_pairs_of_a_fraction_are_one_effect_with_their_aliases():
    effects = {one.steps: one.mixed_with for one in DESIGNS["half"]}
    assert effects[((0, 1), (1, 1))] == (((2, 1), (3, 1)),)
    assert [len(steps) for steps in effects] == [1, 1, 1, 1, 2, 2, 2]
    values = measured(HALF, 3, lambda row: 0.3 * row[0] * row[1] + 0.2 * row[2] * row[3])
    found = by_steps(DESIGNS["half"], contrasts(*values, [one.weights for one in DESIGNS["half"]]))
    assert found[((0, 1), (1, 1))].difference == pytest.approx(0.5), "the sum of both"


@few_and_many("sets", 60, 250)
@each("blocks", 3, 5)
@each("unlike", 0.0, 1.0)
@each("name", *DESIGNS)
def test_intervals_hold_the_truth_as_often_as_they_say(name, unlike, blocks, sets):
    effects = DESIGNS[name]
    rows = {"full": FULL, "half": HALF, "three levels": LEVELS, "one at a time": ONE}[name]
    draws = np.random.default_rng(7)
    hits = []
    for seed in range(sets):
        spreads = 0.05 * np.exp(unlike * draws.standard_normal(len(rows)))
        values = measured(rows, blocks, lambda row: 0.0, spreads, seed)
        for one in contrasts(*values, [effect.weights for effect in effects]):
            low, high = interval(one, 0.95)
            hits.append(low <= 0 <= high)
    most = 0.98 if sets == 250 else 0.985 if name != "one at a time" else 1  # few effects of few sets
    assert 0.90 <= np.mean(hits) <= most


def test_missing_runs_cost_what_they_must():
    values, blocks, places = measured(FULL, 4, lambda row: 0.5 * row[0], np.full(8, 0.01))
    kept = [place for place in range(len(values)) if place != 5]
    weights = [one.weights for one in DESIGNS["full"]]
    found = contrasts([values[i] for i in kept], [blocks[i] for i in kept], [places[i] for i in kept], weights)
    assert found[0].difference == pytest.approx(0.5, abs=0.02)
    assert {one.n for one in found} == {4}, "it stands on four blocks"
    values, blocks, places = measured(FULL, 4, lambda row: 0.5 * row[0], np.full(8, 0.01))
    kept = [place for place in range(len(values)) if places[place] != 7 or blocks[place] == 0]
    weights = [one.weights for one in DESIGNS["full"]]
    (first, *_) = contrasts([values[i] for i in kept], [blocks[i] for i in kept], [places[i] for i in kept], weights)
    low, high = interval(first, 0.95)
    assert low <= 0.5 <= high
    assert 0 < high - low < 0.1
    assert first.degrees == len(kept) - 8 - 3
    values, blocks, places = measured(ONE, 4, lambda row: 0.0, np.full(5, 0.01))
    kept = [place for place in range(len(values)) if places[place] != 1 or blocks[place] < 2]
    weights = [one.weights for one in DESIGNS["one at a time"]]
    found = contrasts([values[i] for i in kept], [blocks[i] for i in kept], [places[i] for i in kept], weights)
    assert [one.n for one in found] == [2, 4, 4, 4]
    values, blocks, places = measured(FULL, 4, lambda row: 0.5 * row[0])
    kept = [place for place in range(len(values)) if places[place] != 7]
    weights = [one.weights for one in DESIGNS["full"]]
    assert set(contrasts([values[i] for i in kept], [blocks[i] for i in kept], [places[i] for i in kept], weights)) == {None}
    assert contrasts([1.0, 2.0, 3.0, 4.0], [0, 1, 2, 3], [0, 1, 0, 1], [(-1.0, 1.0)]) == (None,)
    values = measured(FULL, 1, lambda row: 0.5 * row[0], np.full(8, 0.01))
    (one, *_) = contrasts(*values, [effect.weights for effect in DESIGNS["full"]])
    assert (one.degrees, one.n) == (0, 1)
    assert interval(one, 0.95) == (-math.inf, math.inf)


def test_weights_of_an_effect_sum_to_nothing_and_weigh_both_sides_alike():
    for effects in DESIGNS.values():
        for one in effects:
            assert sum(one.weights) == pytest.approx(0)
            assert sum(weight for weight in one.weights if weight > 0) == pytest.approx(len(one.steps))
