"""How long a series remembers itself: the integrated autocorrelation time, in values.

The mean of n values that remember themselves is worth n / time independent ones. Two estimates of time = 1 + 2 sum r_k, and the
larger one: the sum up to the first k at which r_k is not above 0 (initial positive sequence), and (1 + r) / (1 - r), which it is
where only neighbours depend on each other (an autoregressive process of first order). To each r_k is added what it lacks because
the deviations are from a mean, or from several, that were made of the same values.

References: C. J. Geyer, Practical Markov chain Monte Carlo, Statistical Science 7 (1992), 473-483 (where to end the sum);
F. H. C. Marriott, J. A. Pope, Bias in the estimation of autocorrelations, Biometrika 41 (1954), 390-402.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

MOST = 0.95
"""The correlation of neighbours is taken to be at most this: of a longer memory a series of a hundred values does not tell."""
LEAST = 4
"""Fewer values remember nothing."""


def correlation_time(rest: Sequence[float], means: int = 1) -> float:
    """The time of deviations from so many means, in values and at least 1. Nothing that varies: 1."""
    size, squares = len(rest), sum(value * value for value in rest)
    if size < LEAST or squares <= 0:
        return 1.0
    first = sum(before * after for before, after in pairwise(rest)) / squares
    first = min(MOST, max(0.0, first + lean(first, size, means)))
    total, lag, more = 0.0, 1, first
    while more > 0 and lag < size // 4:
        total, lag = total + more, lag + 1
        more = min(1.0, sum(rest[at] * rest[at + lag] for at in range(size - lag)) / squares + means / size)
    return max(1 + 2 * total, (1 + first) / (1 - first))


def lean(first: float, size: int, means: int) -> float:
    """What the correlation of neighbours lacks: (1 + 3 r) / n for each mean."""
    return (1 + 3 * max(0.0, first)) * means / size
