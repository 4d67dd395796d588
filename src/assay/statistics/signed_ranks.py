"""The typical ratio of pairs, with an interval that few disturbed pairs cannot widen: by the ranks of their differences.

The estimate is the median of the means of every two differences (J. L. Hodges, E. L. Lehmann, Estimates of location based on rank
tests, Annals of Mathematical Statistics 34 (1963), 598-611). The interval holds what the signed-rank test does not reject
(F. Wilcoxon, Individual comparisons by ranking methods, Biometrics Bulletin 1 (1945), 80-83), by its exact distribution.

Equal arms that are run in random order give differences that are symmetric about 0, whatever the noise: the test then errs as
often as it says, also where a neighbour slows one pair of three down by half. A t interval keeps its level there, too, and finds
much less: one pair that is 45 % off counts as much as forty that are right.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache

LEAST = 6
"""Fewer pairs have no two-sided 95 % interval: 2 of 2^5 arrangements are more than 5 %."""
MOST = 1000
"""Of more pairs the means of every two take too long."""


def typical_ratio(baseline: Sequence[float], candidate: Sequence[float], confidence: float) -> tuple[float, float, float] | None:
    """The typical ratio of candidate to baseline over pairs of positive values, and the ends of its interval.

    None of fewer than `LEAST` pairs, and of more than `MOST`. Raises ValueError for arms of different lengths.
    """
    import numpy as np

    differences = np.array([math.log(b / a) for a, b in zip(baseline, candidate, strict=True)])
    count = len(differences)
    if not LEAST <= count <= MOST:
        return None
    first, second = np.triu_indices(count)
    means = np.sort((differences[first] + differences[second]) / 2)
    place = rank_sums_within(count, (1 - confidence) / 2)
    if place == 0:
        return None
    low, high = float(means[place - 1]), float(means[len(means) - place])
    return math.exp(float(np.median(means))), math.exp(low), math.exp(high)


@cache
def rank_sums_within(count: int, tail: float) -> int:
    """How many of the smallest rank sums of so many pairs together have at most this probability."""
    import numpy as np

    chances = np.ones(1)
    for rank in range(1, count + 1):
        longer = np.zeros(len(chances) + rank)
        longer[: len(chances)] += chances / 2
        longer[rank:] += chances / 2
        chances = longer
    return int(np.searchsorted(np.cumsum(chances), tail * (1 + 1e-12), side="right"))
