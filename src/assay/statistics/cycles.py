"""A period in a series: the first peak of its autocorrelation after that has fallen below zero, and what it does to a mean.

Source: Box, Jenkins, Reinsel, Time Series Analysis (sample autocorrelation); Bartlett 1946 for its variance where the series
remembers itself: var r_k = (1 + 2 sum of r_j^2, j < first zero) / n. A period returns at its multiples too, where noise does
not: the p-value is that of the mean over all of them, each with this variance, times the number of lags that were looked at
(Bonferroni). The line through the series is taken off first: a drift is no period.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

LEAST = 8
"""Fewer values than this show no period."""


@dataclass(frozen=True, kw_only=True)
class Cycle:
    """A period of `lag` values, how like the series is to itself so much later, and how likely chance makes it so."""

    lag: int
    correlation: float
    p_value: float
    turns: float
    """How often it fits into the series."""
    off_share: float
    """How far the mean of so many periods and a part of one may be from that of whole ones."""


def cycle(values: Sequence[float]) -> Cycle | None:
    """The strongest period of which at least two fit; None in fewer than LEAST values, or where nothing returns."""
    size = len(values)
    if size < LEAST:
        return None
    rest = detrended(values)
    found = correlations(rest)
    zero = next((lag for lag, value in enumerate(found) if value < 0), None)
    if zero is None:
        return None
    peaks = [lag for lag in range(max(2, zero), len(found)) if found[lag] > 0 and is_peak(found, lag)]
    if not peaks:
        return None
    highest = max(found[lag] for lag in peaks)
    lag = next(lag for lag in peaks if found[lag] >= NEARLY * highest)
    spread = math.sqrt((1 + 2 * sum(value * value for value in found[1:zero])) / size)
    returns = found[lag::lag]
    deviations = sum(returns) / math.sqrt(len(returns)) / spread
    p_value = min(1.0, len(found) * 0.5 * math.erfc(deviations / math.sqrt(2)))
    return Cycle(lag=lag, correlation=found[lag], p_value=p_value, turns=size / lag, off_share=off_share(values, lag))


NEARLY = 0.8
"""The first peak that is nearly as high as the highest is the period; those after it are its multiples."""


def detrended(values: Sequence[float]) -> list[float]:
    """The values less the line of least squares through them."""
    size = len(values)
    mean, middle = sum(values) / size, (size - 1) / 2
    slope = sum((at - middle) * value for at, value in enumerate(values)) / sum((at - middle) ** 2 for at in range(size))
    return [value - mean - slope * (at - middle) for at, value in enumerate(values)]


def correlations(rest: Sequence[float]) -> list[float]:
    """r_0 to r_k of a series with mean 0, k the largest lag that fits twice; empty where nothing varies."""
    total = sum(value * value for value in rest)
    if total <= 0:
        return []
    size = len(rest)
    return [sum(rest[at] * rest[at + lag] for at in range(size - lag)) / total for lag in range(size // 2 + 1)]


def is_peak(found: Sequence[float], lag: int) -> bool:
    """Whether no neighbour is higher."""
    after = found[lag + 1] if lag + 1 < len(found) else -1.0
    return found[lag - 1] <= found[lag] >= after


def off_share(values: Sequence[float], lag: int) -> float:
    """The largest relative distance of the mean of as many whole periods and any part of one from that of whole periods.

    The period is folded: value j of it is the mean of all values j, j + lag, ... Where a series seems to hold whole periods
    exactly, another that begins elsewhere or whose period is a little longer does not, so parts of every length are tried.
    """
    folded = [sum(values[at::lag]) / len(values[at::lag]) for at in range(lag)]
    mean, turns = sum(folded) / lag, len(values) // lag
    if mean == 0:
        return 0.0
    sums = [0.0, *accumulate([*folded, *folded])]
    means = (
        (turns * lag * mean + sums[at + part] - sums[at]) / (turns * lag + part) for at in range(lag) for part in range(1, lag)
    )
    return max(abs(one / mean - 1) for one in means)
