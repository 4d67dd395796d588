"""A mean with its t interval: geometric for figures whose noise multiplies, arithmetic for shares and counts.

Reference: STATISTICS 2.0 of the design: rates and latencies are analysed as logarithms, so the interval of their mean
is that of the geometric mean and never reaches below zero.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, stdev

LEAST = 3
"""Below so many values no interval is given (S02)."""


@dataclass(frozen=True, kw_only=True)
class Mean:
    """A mean with its interval; low and high are None where there are fewer than three values."""

    value: float
    low: float | None
    high: float | None
    n: int


def arithmetic_mean(values: Sequence[float], confidence: float = 0.95) -> Mean:
    """The mean of values, in their unit. Raises statistics.StatisticsError where there are none."""
    centre, n = fmean(values), len(values)
    if n < LEAST:
        return Mean(value=centre, low=None, high=None, n=n)
    from scipy.special import stdtrit

    half = float(stdtrit(n - 1, (1 + confidence) / 2)) * stdev(values) / math.sqrt(n)
    return Mean(value=centre, low=centre - half, high=centre + half, n=n)


def values_within(half_width: float, spread: float, confidence: float = 0.95) -> int:
    """The smallest number of values of this standard deviation whose t interval has at most this half width; three at least."""
    from scipy.special import stdtrit

    def enough(number: int) -> bool:
        return float(stdtrit(number - 1, (1 + confidence) / 2)) * spread <= half_width * math.sqrt(number)

    least = most = LEAST
    while not enough(most):
        least, most = most + 1, 2 * most
    while least < most:
        middle = (least + most) // 2
        least, most = (least, middle) if enough(middle) else (middle + 1, most)
    return most


def geometric_mean(values: Sequence[float], confidence: float = 0.95) -> Mean:
    """The geometric mean of positive values, in their unit. Raises ValueError for others."""
    logs = arithmetic_mean([math.log(value) for value in values], confidence)
    return Mean(
        value=math.exp(logs.value),
        low=None if logs.low is None else math.exp(logs.low),
        high=None if logs.high is None else math.exp(logs.high),
        n=logs.n,
    )


@dataclass(frozen=True, kw_only=True)
class Proportion:
    """So many of so many, and the interval of the share; low and high are None where nothing was tried."""

    happened: int
    of: int
    low: float | None
    high: float | None


def proportion(happened: int, of: int, confidence: float = 0.95) -> Proportion:
    """The share of `happened` in `of` independent trials with its two-sided interval.

    Raises ValueError where it is no count of trials, or the confidence no share.
    """
    if not 0 <= happened <= of:
        raise ValueError(f"found {happened} of {of}; expected 0 to {of}")
    if not 0 < confidence < 1:
        raise ValueError(f"found a confidence of {confidence}; expected one between 0 and 1")
    if of == 0:
        return Proportion(happened=0, of=0, low=None, high=None)
    from scipy.special import betaincinv

    tail, failed = (1 - confidence) / 2, of - happened
    return Proportion(
        happened=happened,
        of=of,
        low=float(betaincinv(happened, failed + 1, tail)) if happened else 0.0,
        high=float(betaincinv(happened + 1, failed, 1 - tail)) if failed else 1.0,
    )
