"""Change points: a series in stretches of different means, by least squares with a price for each change.

Source: the exact search of Jackson et al., An algorithm for optimal partitioning of data on an interval, IEEE Signal
Processing Letters 12(2), 2005 (what PELT, Killick et al. 2012, finds with less work); price 4 ln(n) s^2 for each change, with
s from the median absolute deviation of the differences of neighbours, which a change of level hardly touches.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import accumulate, pairwise

from assay.frozen import dataclass

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
