"""Multiple comparisons with the best: tabulated critical values, and that the true best is ruled out in at most 5 of 100 sets."""

import itertools

import numpy as np
import pytest

from assay.statistics.best import above, alike, by_pairs
from assay.statistics.contrast import p_below, paired_ratio
from assay.statistics.significance import LEVEL, exceeded, exceeded_above
from stage.rows import each
from stage.sizes import chance, few_and_many

# C. W. Dunnett, J. American Statistical Association 50 (1955), table 1a: one-sided, joint probability 0.95.
TABULATED = {(1, 10): 1.81, (2, 10): 2.15, (3, 10): 2.34, (2, 20): 2.03, (4, 20): 2.30, (3, 60): 2.10}


@each("case", *TABULATED)
def test_one_sided_critical_values_are_those_of_the_table(case):
    assert exceeded_above(TABULATED[case], *case) == pytest.approx(LEVEL, abs=0.0015)


def test_upwards_is_less_probable_than_either_way():
    assert 0.5 < exceeded_above(2.0, 3, 12) / exceeded(2.0, 3, 12) < 0.6
    assert exceeded_above(-30.0, 3, 12) == 1.0
    assert exceeded_above(30.0, 3, 12) < 1e-9


def drawn(draw, means, blocks, spread):
    shared = draw.normal(0, 0.2, blocks)
    return [np.exp(shared + mean + draw.normal(0, spread, blocks)) for mean in means]


@few_and_many("sets", 200, 4000)
@each(
    "means blocks",
    ((0.0, 0.0, 0.0, 0.0), 5),
    ((0.0, 0.02, 0.04), 3),
    ((0.0, 0.0, -0.05, -0.1, 0.0, -0.2, 0.0, 0.0), 4),
)
def test_a_best_arm_is_seldom_ruled_out(means, blocks, sets):
    draw, best = np.random.default_rng(len(means) * 100 + blocks), max(range(len(means)), key=means.__getitem__)
    lost = {"at once": 0, "by pairs": 0}
    for _ in range(sets):
        arms = drawn(draw, means, blocks, 0.03)
        pairs = [[p_below(paired_ratio(other, one)) if other is not one else 1.0 for other in arms] for one in arms]
        lost["at once"] += min(above(arms)[best]) <= LEVEL
        lost["by pairs"] += min(by_pairs(pairs)[best]) <= LEVEL
    assert {how: count / sets for how, count in lost.items() if count / sets > LEVEL + chance(LEVEL, sets)} == {}


def test_what_is_far_behind_is_ruled_out():
    arms = drawn(np.random.default_rng(7), (0.0, -0.5, -0.02, -0.6), 5, 0.03)
    assert [min(row) <= LEVEL for row in above(arms)] == [False, True, False, True]


def test_arms_are_alike_where_every_two_differ_by_as_much():
    draw = np.random.default_rng(1)
    arms = drawn(draw, (0.0, 0.1, 0.2), 6, 0.03)
    assert alike(arms)
    assert not alike([*arms, drawn(draw, (0.0,), 6, 0.5)[0]])
    assert not alike([arms[0][:2], arms[1][:2], arms[2][:2]])
    assert not alike([arms[0], arms[1], arms[2][:5]])
    assert not any(alike(list(pair)) for pair in itertools.product([arms[0]], repeat=2)), "no spread at all"
