"""How a series remembers itself: its correlation time, whether neighbours are alike, and its period.

`correlation_time` is the integrated autocorrelation time, in values: the mean of n values that remember themselves is worth n /
time independent ones. Two estimates of time = 1 + 2 sum r_k, and the larger one: the sum up to the first k at which r_k is not
above 0 (initial positive sequence), and (1 + r) / (1 - r), which it is where only neighbours depend on each other (an
autoregressive process of first order). To each r_k is added what it lacks because the deviations are from a mean, or from
several, that were made of the same values. References: C. J. Geyer, Practical Markov chain Monte Carlo, Statistical Science 7
(1992), 473-483 (where to end the sum); F. H. C. Marriott, J. A. Pope, Bias in the estimation of autocorrelations, Biometrika 41
(1954), 390-402.

`serial` is von Neumann's ratio V of the squared differences of neighbours over the squared deviations: of independent normal
values its mean is 2 and its variance 4 (n - 2) / (n^2 - 1). The values are worth n (1 - r) / (1 + r) independent ones, with r
the correlation of neighbours, for which 1 / n is added since deviations from their own mean lean that much the other way.
References: J. von Neumann, Distribution of the ratio of the mean square successive difference to the variance, Annals of
Mathematical Statistics 12 (1941), 367-395; G. V. Bayley, J. M. Hammersley, The effective number of independent observations in
an autocorrelated time series, Supplement to the J. of the Royal Statistical Society 8 (1946), 184-197.

`cycle` is the first peak of the autocorrelation after that has fallen below zero, and what it does to a mean. Source: Box,
Jenkins, Reinsel, Time Series Analysis (sample autocorrelation); Bartlett 1946 for its variance where the series remembers
itself: var r_k = (1 + 2 sum of r_j^2, j < first zero) / n. A period returns at its multiples too, where noise does not: the
p-value is that of the mean over all of them, each with this variance, times the number of lags that were looked at
(Bonferroni). The line through the series is taken off first: a drift is no period.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import accumulate, pairwise

from assay.frozen import dataclass

LONGEST = 0.95
"""The correlation of neighbours is taken to be at most this: of a longer memory a series of a hundred values does not tell."""
LEAST = 4
"""Fewer values have too few neighbours and remember nothing."""


def correlation_time(rest: Sequence[float], means: int = 1) -> float:
    """The time of deviations from so many means, in values and at least 1. Nothing that varies: 1."""
    size, squares = len(rest), sum(value * value for value in rest)
    if size < LEAST or squares <= 0:
        return 1.0
    first = sum(before * after for before, after in pairwise(rest)) / squares
    first = min(LONGEST, max(0.0, first + lean(first, size, means)))
    total, lag, more = 0.0, 1, first
    while more > 0 and lag < size // 4:
        total, lag = total + more, lag + 1
        more = min(1.0, sum(rest[at] * rest[at + lag] for at in range(size - lag)) / squares + means / size)
    return max(1 + 2 * total, (1 + first) / (1 - first))


def lean(first: float, size: int, means: int) -> float:
    """What the correlation of neighbours lacks: (1 + 3 r) / n for each mean."""
    return (1 + 3 * max(0.0, first)) * means / size


MOST_ALIKE = 0.99
"""The correlation is taken to be at most this: equal values in one long row are worth one, not none."""


@dataclass(frozen=True, kw_only=True)
class Serial:
    """The correlation of neighbours, the one-sided p-value of none, and the number of independent values they are worth."""

    correlation: float
    p_value: float
    effective: float


def serial(values: Sequence[float]) -> Serial | None:
    """The likeness of neighbours; None where fewer than four values or no differences between them tell nothing."""
    from statistics import fmean  # what it imports itself costs more than this file

    n, centre = len(values), fmean(values) if values else 0.0
    squares = sum((value - centre) ** 2 for value in values)
    if n < LEAST or squares == 0:
        return None
    steps = sum((after - before) ** 2 for before, after in pairwise(values))
    together = sum((before - centre) * (after - centre) for before, after in pairwise(values))
    correlation = min(MOST_ALIKE, together / squares + 1 / n)
    score = (2 - steps / squares) / math.sqrt(4 * (n - 2) / (n * n - 1))
    worth = n * (1 - correlation) / (1 + correlation) if correlation > 0 else float(n)
    return Serial(correlation=correlation, p_value=math.erfc(score / math.sqrt(2)) / 2, effective=max(1.0, worth))


LEAST_PERIODIC = 8
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
    """The strongest period of which at least two fit; None in fewer than LEAST_PERIODIC values, or where nothing returns."""
    size = len(values)
    if size < LEAST_PERIODIC:
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
