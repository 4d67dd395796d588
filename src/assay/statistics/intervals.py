"""A mean, a median or a share with its interval.

Means by Student's t: geometric for figures whose noise multiplies, arithmetic for shares and counts. Reference: STATISTICS 2.0
of the design: rates and latencies are analysed as logarithms, so the interval of their mean is that of the geometric mean and
never reaches below zero.

Medians by order statistics: no distribution is assumed, and few values give no interval. Reference: W. J. Conover, Practical
Nonparametric Statistics (1999), 3.2 (quantile test), as scipy.stats.quantile_test has it. The confidence is at least what is
wanted; 95 % needs six values, 90 % five.

Series that remember themselves by the means of batches so long that they are independent: of at least five correlation times and
at most twenty of them; longer ones where neighbouring means are still alike. Their means are then taken for independent values,
and the t interval for theirs. References: B. Schmeiser, Batch size effects in the analysis of simulation output, Operations
Research 30 (1982), 556-568 (ten to thirty batches); G. S. Fishman, Grouping observations in digital simulation, Management
Science 24 (1978), 510-521 (make them longer until their means do not correlate).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import fmean, stdev
from typing import Any

from assay.frozen import dataclass
from assay.statistics.autocorrelation import correlation_time, serial

LEAST = 3
"""Below so many values no interval is given (S02)."""


@dataclass(frozen=True, kw_only=True)
class Mean:
    """A mean with its interval; low and high are None where there are fewer than three values."""

    value: float
    low: float | None
    high: float | None
    n: int


def prediction(values: Sequence[float], error: float) -> tuple[float, float]:
    """Where one further value belongs: outside of it is a share `error` of them. At least two values.

    m +- t(n - 1) s sqrt(1 + 1/n) (Hahn and Meeker, Statistical Intervals, 1991, section 4.8).
    """
    from scipy.special import stdtrit

    n, centre = len(values), fmean(values)
    half = float(stdtrit(n - 1, 1 - error / 2)) * stdev(values) * math.sqrt(1 + 1 / n)
    return centre - half, centre + half


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


def spread_of(half_width: float, number: int, confidence: float = 0.95) -> float:
    """The standard deviation of so many values whose t interval has this half width: the inverse of `values_within`."""
    from scipy.special import stdtrit

    return half_width * math.sqrt(number) / float(stdtrit(number - 1, (1 + confidence) / 2))


def spread_bounds(number: int, confidence: float = 0.9) -> tuple[float, float]:
    """The bounds of a standard deviation by so many normal values, as multiples of it (chi-squared distribution)."""
    from scipy.special import chdtri

    freedom, rare = number - 1, (1 - confidence) / 2
    return math.sqrt(freedom / float(chdtri(freedom, rare))), math.sqrt(freedom / float(chdtri(freedom, 1 - rare)))


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


LEAST_MEDIAN = 6
"""Fewer values have no 95 % interval: 2 / 2^5 is above 5 %."""


def median_interval(values: Sequence[float], confidence: float, quantile: float = 0.5) -> tuple[float, float] | None:
    """Lowest and highest median (or other quantile) of what the values were drawn from; None where they are too few."""
    from scipy.stats import quantile_test

    if not values:
        return None
    found: Any = quantile_test(values, p=quantile).confidence_interval(confidence)
    low, high = float(found.low), float(found.high)
    return None if math.isnan(low) or math.isnan(high) else (low, high)


def sign_test(differences: Sequence[float]) -> float:
    """The two-sided probability of so uneven signs where the median of the differences is 0; 1 where there are none.

    Differences of exactly 0 count for neither side.
    """
    from scipy.special import bdtr

    above, below = (sum(sign * one > 0 for one in differences) for sign in (1, -1))
    return min(1.0, 2 * float(bdtr(min(above, below), above + below, 0.5))) if above + below else 1.0


MOST_BATCHES = 20
LEAST_BATCHES = 5
"""Of fewer batches no interval is made: it would be wider than it is true."""
TIMES = 5.0
"""Correlation times of a batch."""
ALIKE = 0.2
"""Correlation of neighbouring means from which on batches are made longer (the limit of S07)."""
ALIKE_P = 0.05
"""Of a few means chance alone makes such a one often: it is believed below this p-value."""


@dataclass(frozen=True, kw_only=True)
class BatchMeans:
    """The correlation time in values; the means of the batches, how many values each has; the mean with its interval."""

    time: float
    batches: tuple[float, ...]
    each: int
    mean: Mean | None
    """None where too few independent batches fit."""


def batch_means(values: Sequence[float], confidence: float = 0.95) -> BatchMeans:
    """The batches at the end of the series: what does not fill one is left out at its beginning. No batches of no values."""
    centre = fmean(values) if values else 0.0
    time = correlation_time([value - centre for value in values])
    most = min(MOST_BATCHES, int(len(values) / math.ceil(TIMES * time)))
    for count in range(most, LEAST_BATCHES - 1, -1):
        each = len(values) // count
        first = len(values) - count * each
        batches = tuple(fmean(values[at : at + each]) for at in range(first, len(values), each))
        alike = serial(batches)
        if alike is None or alike.correlation <= ALIKE or alike.p_value >= ALIKE_P:
            return BatchMeans(time=time, batches=batches, each=each, mean=arithmetic_mean(batches, confidence))
    return BatchMeans(time=time, batches=(), each=0, mean=None)
