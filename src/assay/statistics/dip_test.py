"""How far values are from having one mode, and the two groups in which they fall.

The dip is the smallest distance, over all distributions with one mode, between that distribution and the one of the values:
convex up to the mode, concave after it. It is held against the dip of values drawn evenly, which of all distributions with one
mode is the hardest to tell from two, so the test is careful with any other.

Reference: J. A. Hartigan, P. M. Hartigan, The dip test of unimodality, Annals of Statistics 13 (1985), 70-84. The critical
values are simulated here (tests/statistics/test_dip_test.py repeats a part of it).
"""

from __future__ import annotations

import bisect
import math
from collections.abc import Sequence
from statistics import fmean

from assay.frozen import dataclass

Point = tuple[float, float]
LEAST = 4
"""Fewer values always have one mode."""
CRITICAL: Sequence[tuple[int, float]] = (
    (4, 0.4413),
    (5, 0.4299),
    (6, 0.4295),
    (7, 0.4545),
    (8, 0.4616),
    (9, 0.4636),
    (10, 0.4675),
    (12, 0.4775),
    (15, 0.4878),
    (20, 0.4988),
    (30, 0.5172),
    (50, 0.5308),
    (100, 0.5451),
    (200, 0.5580),
    (500, 0.5799),
)
"""Number of values -> sqrt(n) x dip that evenly drawn values exceed in 2.5 % of sets."""


@dataclass(frozen=True, kw_only=True)
class Modes:
    """The two groups that split the values with the least squares left: their means, and the share of the upper one."""

    low: float
    high: float
    upper_share: float


def dip(values: Sequence[float]) -> float:
    """The dip of values; half of one step of their distribution at least. Raises ValueError where there are none."""
    n = len(values)
    if n == 0:
        raise ValueError("found no values; expected at least one")
    places = sorted(set(values))
    ordered = sorted(values)
    before = [bisect.bisect_left(ordered, place) / n for place in places]
    after = [bisect.bisect_right(ordered, place) / n for place in places]
    low, high, largest = 0, len(places) - 1, 1 / n
    while True:
        convex = hull([(places[i], before[i]) for i in range(low, high + 1)], upper=False)
        concave = hull([(places[i], after[i]) for i in range(low, high + 1)], upper=True)
        corners = sorted({bisect.bisect_left(places, x) for x, _ in (*convex, *concave)})
        gaps = {i: along(concave, places[i]) - along(convex, places[i]) for i in corners}
        widest = max(gaps, key=lambda i: gaps[i])
        if gaps[widest] <= largest:
            return largest / 2
        first, last = modal(places, (convex, concave), widest)
        left = (after[i] - along(convex, places[i]) for i in range(low, first + 1))
        right = (along(concave, places[i]) - before[i] for i in range(last, high + 1))
        largest = max(largest, *left, *right)
        if (first, last) == (low, high):
            return largest / 2
        low, high = first, last


def modal(places: Sequence[float], hulls: tuple[Sequence[Point], Sequence[Point]], widest: int) -> tuple[int, int]:
    """The modal interval around the corner where the hulls are widest apart: from there to the nearest corner of the other hull.

    Only a corner will do: where the hulls run parallel, rounding may make any place between two corners the widest.
    """
    convex, concave = ([corner[0] for corner in one] for one in hulls)
    at = places[widest]
    if at in convex:
        return widest, bisect.bisect_left(places, concave[bisect.bisect_left(concave, at)])
    return bisect.bisect_left(places, convex[bisect.bisect_right(convex, at) - 1]), widest


def hull(points: Sequence[Point], *, upper: bool) -> list[Point]:
    """The corners of the greatest convex function below the points, or of the least concave one above them."""
    sign = -1 if upper else 1
    corners: list[Point] = []
    for x, y in points:
        while len(corners) > 1 and sign * turn(corners[-2], corners[-1], (x, y)) <= 0:
            corners.pop()
        corners.append((x, y))
    return corners


def turn(a: Point, b: Point, c: Point) -> float:
    """Above 0 where the way from a over b to c turns left."""
    return (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])


def along(corners: Sequence[Point], at: float) -> float:
    """The height of a broken line at a place."""
    index = bisect.bisect_left(corners, (at, -math.inf))
    x, y = corners[index]
    if x == at or index == 0:
        return y
    x0, y0 = corners[index - 1]
    return y0 + (y - y0) * (at - x0) / (x - x0)


def has_several_modes(values: Sequence[float]) -> bool:
    """Whether the values have more than one mode, at the level 2.5 %: 5 % for two arms together."""
    return len(values) >= LEAST and dip(values) * math.sqrt(len(values)) > critical(len(values))


def critical(n: int) -> float:
    """sqrt(n) x dip that evenly drawn values exceed in 2.5 % of sets; between the numbers of the table on a line in 1 / n."""
    sizes = [size for size, _ in CRITICAL]
    index = bisect.bisect_left(sizes, n)
    if index == len(sizes) or sizes[index] == n:
        return CRITICAL[min(index, len(sizes) - 1)][1]
    (small, lower), (large, upper) = CRITICAL[index - 1], CRITICAL[index]
    return lower + (upper - lower) * (1 / small - 1 / n) / (1 / small - 1 / large)


def modes(values: Sequence[float]) -> Modes:
    """The split of the values in two groups with the smallest sum of squares. Raises ValueError with fewer than two."""
    ordered = sorted(values)
    if len(ordered) < 2:
        raise ValueError(f"found {len(ordered)} values; expected at least two")

    def between(at: int) -> float:
        return at * (len(ordered) - at) * (fmean(ordered[at:]) - fmean(ordered[:at])) ** 2

    at = max(range(1, len(ordered)), key=between)
    return Modes(low=fmean(ordered[:at]), high=fmean(ordered[at:]), upper_share=1 - at / len(ordered))
