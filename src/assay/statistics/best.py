"""Which of several arms could be the best: multiple comparisons with the best, each arm in its turn against all others.

J. C. Hsu, Constrained simultaneous confidence intervals for multiple comparisons with the best, Annals of Statistics 12 (1984),
1136-1144; D. Edwards, J. Hsu, Multiple comparisons with the best treatment, J. American Statistical Association 78 (1983),
965-971. An arm is ruled out where another one is above it by a one-sided Dunnett test with this arm as the control. Then the true
best is ruled out in at most 5 of 100 experiments, however many arms there are: only the tests of the true best can do it.

Arms of the same complete blocks that spread alike share one variance, that of the residuals of arms and blocks (two-way,
additive, on logarithms). All others are held against each other pair by pair, with Bonferroni's bound over the other arms.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from statistics import fmean, variance

from assay.statistics.significance import (
    LEAST_BLOCKS,
    MOST_UNLIKE,
    Arm,
    differences,
    exceeded_above,
    residual_square,
)

Above = tuple[tuple[float, ...], ...]
"""[i][j]: the probability of arm j so far above arm i, or of any other arm so, where none is above it; 1 for i = j."""


def alike(arms: Sequence[Arm]) -> bool:
    """Whether the differences of every two arms (of logarithms) spread alike, so that one variance stands for all."""
    if len(arms[0]) < LEAST_BLOCKS or any(len(arm) != len(arms[0]) for arm in arms):
        return False
    spreads = [variance(differences(one, other)) for one, other in itertools.combinations(arms, 2)]
    return min(spreads) > 0 and max(spreads) / min(spreads) <= MOST_UNLIKE


def above(arms: Sequence[Arm]) -> Above:
    """Of arms that are `alike`, of values of which more is better."""
    logs = [[math.log(value) for value in arm] for arm in arms]
    blocks, freedom = len(logs[0]), (len(logs) - 1) * (len(logs[0]) - 1)
    scale, means = math.sqrt(2 * residual_square(logs) / freedom / blocks), [fmean(arm) for arm in logs]
    return tuple(
        tuple(1.0 if i == j else exceeded_above((there - here) / scale, len(arms) - 1, freedom) for j, there in enumerate(means))
        for i, here in enumerate(means)
    )


def by_pairs(p_values: Sequence[Sequence[float]]) -> Above:
    """The same from the one-sided p-values of the pairs alone."""
    return tuple(tuple(min(1.0, (len(row) - 1) * p) for p in row) for row in p_values)
