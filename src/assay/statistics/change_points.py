"""Where the level of a series changes, held against noise that remembers itself; how often noise alone seems to change is known.

The stretches of least squares (segments.py), each change at a price of 28 long-run variances: the variance of what is left when
the largest changes are taken out, times its correlation time. Without a memory that is 28 times the variance of one value; noise
that remembers itself wanders, and is charged for it.

References: M. Lavielle, E. Moulines, Least-squares estimation of an unknown number of shifts in a time series, J. of Time Series
Analysis 21 (2000), 33-59 (dependent noise); J. Bai, P. Perron, Estimating and testing linear models with multiple structural
changes, Econometrica 66 (1998), 47-78 (the variance with the changes taken out; a shortest stretch).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import accumulate, pairwise

from assay.statistics.correlation_time import correlation_time
from assay.statistics.segments import FLOOR_SHARE, LEAST, Segment, segments

LEAST_VALUES = 20
"""Of fewer nothing is said."""
STRETCHES = 12
"""The shortest stretch is this part of the series, and at least three values."""
PRICE = 28.0
FALSE_ALARM_SHARE = 0.05
"""At most so many series seem to change in which nothing does (simulated: normal, lognormal with a coefficient of variation of
0.3): of 120 values, where neighbours correlate by 0.8 or less; of 60 by 0.6; of 20 by 0.3. Without a memory it is 1 in 200."""
POWER_DEVIATE = 0.8416
"""The deviate below which 80 of 100 normal ones are."""
MANY = 60
"""From so many values on three changes are taken out, of fewer two: more would take the noise with them."""


def change_points(values: Sequence[float]) -> tuple[Segment, ...]:
    """The stretches of one level each, in order: one where no change is found, none where there are too few values."""
    if len(values) < LEAST_VALUES:
        return ()
    return segments(values, PRICE * long_run_variance(values), shortest(values))


def detectable(values: Sequence[float]) -> float:
    """The smallest change in the middle of such a series that is found in 80 of 100, in the unit of the values.

    It takes n d^2 / 4 off the squares, the square of a normal deviate with mean sqrt(n) d / 2 and the long-run variance.
    """
    return 2 * (math.sqrt(PRICE) + POWER_DEVIATE) * math.sqrt(long_run_variance(values) / len(values))


def shortest(values: Sequence[float]) -> int:
    """How many values the shortest stretch has."""
    return max(LEAST, len(values) // STRETCHES)


def long_run_variance(values: Sequence[float]) -> float:
    """n times the variance of a mean of n, in squares of the values; no series is so free of noise that it were 0."""
    edges = largest_changes(values, shortest(values))
    rest: list[float] = []
    for first, end in pairwise(edges):
        mean = sum(values[first:end]) / (end - first)
        rest += [value - mean for value in values[first:end]]
    means = len(edges) - 1
    floor = (FLOOR_SHARE * sum(values) / len(values)) ** 2
    return max(floor, sum(value * value for value in rest) / (len(rest) - means) * correlation_time(rest, means))


def largest_changes(values: Sequence[float], least: int) -> list[int]:
    """Edges of stretches: the change that takes out most of the squares, then the one that takes out most of the rest, ..."""
    edges = [0, len(values)]
    for _ in range(3 if len(values) >= MANY else 2):
        found = [(best_split(values[first:end], least), first) for first, end in pairwise(edges)]
        gain, at = max((gain, first + at) for (gain, at), first in found)
        edges = sorted([*edges, at]) if gain > 0 else edges
    return edges


def best_split(values: Sequence[float], least: int) -> tuple[float, int]:
    """How much of the squares the best split takes out, and before which value it is; (0, 0) where none may be."""
    size, sums = len(values), [0.0, *accumulate(values)]
    mean = sums[-1] / size
    places = range(least, size - least + 1)
    return max(((sums[at] - at * mean) ** 2 * size / (at * (size - at)), at) for at in places) if places else (0.0, 0)
