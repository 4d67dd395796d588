"""Whether a series is steady: stretches of different level (change points), MSER-5, and SNIA's five rounds.

`segments` finds the stretches by least squares with a price for each change: the exact search of Jackson et al., An algorithm
for optimal partitioning of data on an interval, IEEE Signal Processing Letters 12(2), 2005 (what PELT, Killick et al. 2012,
finds with less work); price 4 ln(n) s^2, with s from the median absolute deviation of the differences of neighbours, which a
change of level hardly touches.

`change_points` holds them against noise that remembers itself: its price is 28 long-run variances, the variance of what is left
when the largest changes are taken out, times its correlation time. Without a memory that is 28 times the variance of one value;
noise that remembers itself wanders, and is charged for it. References: M. Lavielle, E. Moulines, Least-squares estimation of an
unknown number of shifts in a time series, J. of Time Series Analysis 21 (2000), 33-59 (dependent noise); J. Bai, P. Perron,
Estimating and testing linear models with multiple structural changes, Econometrica 66 (1998), 47-78 (the variance with the
changes taken out; a shortest stretch).

`five_rounds` is the SNIA Solid State Storage Performance Test Specification 2.0.1, definition of steady state: over the last
five rounds the range of the values is at most 20 % of their average, and the best linear fit (least squares) through them runs
over at most 10 % of the average within the window. It is a coarse filter: with a noise of 6 % it takes a drift of 10 % for
steady in most runs; MSER-5 and change points see what it does not.

Imports nothing heavy: the fleet calls it while it measures.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import accumulate, pairwise

from assay.frozen import dataclass
from assay.statistics.autocorrelation import correlation_time

LEAST = 3
"""Values of the shortest stretch."""
PRICE = 4.0
NORMAL = 1.4826
"""Standard deviation over median absolute deviation of a normal distribution."""
FLOOR_SHARE = 0.005
"""A spread of less than this share of the mean counts as this share: no series is free of noise."""


@dataclass(frozen=True, kw_only=True)
class Segment:
    """A stretch of values with one mean, from `first` up to `end`."""

    first: int
    end: int
    mean: float


def segments(values: Sequence[float], price: float | None = None, least: int = LEAST) -> tuple[Segment, ...]:
    """The stretches in order, one where nothing changes; none of no values.

    `price` is what a change costs, in squares of the values (4 ln(n) s^2 where none is given), `least` the shortest stretch.
    """
    if not values:
        return ()
    price = PRICE * math.log(len(values)) * noise(values) ** 2 if price is None else price
    best, before = [-price], [0]
    sums, squares = ([0.0, *accumulate(value**power for value in values)] for power in (1, 2))
    for end in range(1, len(values) + 1):
        total, square = sums[end], squares[end]
        starts = [0, *range(least, end - least + 1)]
        costs = [best[at] + square - squares[at] - (total - sums[at]) ** 2 / (end - at) for at in starts]
        cheapest = min(costs)
        best.append(cheapest + price)
        before.append(starts[costs.index(cheapest)])
    edges = [len(values)]
    while edges[-1] > 0:
        edges.append(before[edges[-1]])
    return tuple(
        Segment(first=first, end=end, mean=(sums[end] - sums[first]) / (end - first)) for first, end in pairwise(edges[::-1])
    )


def noise(values: Sequence[float]) -> float:
    """Standard deviation of the values about their stretches, from the differences of neighbours."""
    floor = FLOOR_SHARE * abs(sum(values)) / len(values)
    differences = [after - before for before, after in pairwise(values)]
    if not differences:
        return floor
    from statistics import median  # what it imports itself costs more than this file

    middle = median(differences)
    return max(floor, NORMAL * median(abs(one - middle) for one in differences) / math.sqrt(2))


def largest_step(found: Sequence[Segment], mean: float) -> float:
    """The largest difference of neighbouring stretches, in shares of a mean above 0; 0 where nothing changes."""
    return max((abs(after.mean - before.mean) / mean for before, after in pairwise(found)), default=0.0)


LEAST_VALUES = 20
"""Of fewer nothing is said."""
STRETCHES = 12
"""The shortest stretch is this part of the series, and at least three values."""
MEMORY_PRICE = 28.0
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
    return segments(values, MEMORY_PRICE * long_run_variance(values), shortest(values))


def detectable(values: Sequence[float]) -> float:
    """The smallest change in the middle of such a series that is found in 80 of 100, in the unit of the values.

    It takes n d^2 / 4 off the squares, the square of a normal deviate with mean sqrt(n) d / 2 and the long-run variance.
    """
    return 2 * (math.sqrt(MEMORY_PRICE) + POWER_DEVIATE) * math.sqrt(long_run_variance(values) / len(values))


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


ROUNDS = 5
RANGE_SHARE = 0.20
EXCURSION_SHARE = 0.10


@dataclass(frozen=True, kw_only=True)
class Steady:
    """How far five rounds differ, in shares of their mean."""

    range_share: float
    """Largest minus smallest."""
    excursion_share: float
    """Ends of the least-squares line, from the first round to the last, without its sign."""

    def within(self, range_share: float = RANGE_SHARE, excursion_share: float = EXCURSION_SHARE) -> bool:
        """Whether both are at most so large."""
        return self.range_share <= range_share and self.excursion_share <= excursion_share


def five_rounds(rates: Sequence[float]) -> Steady | None:
    """The last five of the rates of rounds of equal length; None where there are fewer, or their mean is not above 0."""
    last = rates[-ROUNDS:]
    mean = sum(last) / ROUNDS
    if len(last) < ROUNDS or mean <= 0:
        return None
    middle = (ROUNDS - 1) / 2
    leaning = sum((at - middle) * rate for at, rate in enumerate(last))
    slope = leaning / sum((at - middle) ** 2 for at in range(ROUNDS))
    return Steady(range_share=(max(last) - min(last)) / mean, excursion_share=abs(slope) * (ROUNDS - 1) / mean)


BATCH = 5
ROUNDING = 1e-9


@dataclass(frozen=True, kw_only=True)
class Truncation:
    """How many batches to leave out at the beginning, and how many were allowed to be."""

    batches: int
    limit: int
    """Half of all batches."""

    @property
    def at_limit(self) -> bool:
        """Whether the warm-up fills all that it may: then there is no steady rest."""
        return self.batches >= self.limit


def mser5(values: Sequence[float]) -> Truncation | None:
    """The truncation of a series; None where it has no two batches. Values behind the last whole batch are left out."""
    batches = batched(values)
    limit = len(batches) // 2
    if limit < 1:
        return None
    return Truncation(batches=min(range(limit + 1), key=lambda leave: _marginal(batches[leave:])), limit=limit)


def batched(values: Sequence[float]) -> list[float]:
    """The means of batches of five; values behind the last whole one are left out."""
    return [sum(values[at : at + BATCH]) / BATCH for at in range(0, len(values) - BATCH + 1, BATCH)]


def _marginal(rest: Sequence[float]) -> float:
    """Sum of squares about the mean, over the square of the number; values that only rounding tells apart are the same."""
    mean = sum(rest) / len(rest)
    if max(rest) - min(rest) <= ROUNDING * abs(mean):
        return 0.0
    return sum((value - mean) ** 2 for value in rest) / len(rest) ** 2


@dataclass(frozen=True, kw_only=True)
class Steadiness:
    """What each test says; None where there are too few values for it."""

    rounds: Steady | None
    truncation: Truncation | None
    levels: tuple[float, ...]
    """The mean of each stretch that the change points part."""
    step_share: float | None
    """The largest difference of neighbouring levels, over the mean."""

    @property
    def tests(self) -> int:
        """How many tests there are values for."""
        return sum(answer is not None for answer in (self.rounds, self.truncation, self.step_share))


def steadiness(values: Sequence[float]) -> Steadiness:
    """The three tests of values of parts of equal length; what is behind the last whole round or batch is left out."""
    each, mean = len(values) // ROUNDS, sum(values) / max(1, len(values))
    batches = batched(values)
    stretches = segments(batches)
    enough = len(batches) > 1 and mean > 0
    return Steadiness(
        rounds=five_rounds([sum(values[at : at + each]) for at in range(0, each * ROUNDS, each)]) if each else None,
        truncation=mser5(values) if mean > 0 else None,
        levels=tuple(one.mean for one in stretches),
        step_share=largest_step(stretches, mean) if enough else None,
    )
