"""The ratio of two arithmetic means, for figures of which the total counts: Fieller's interval.

Reference: E. C. Fieller, Some problems in interval estimation, J. Royal Statistical Society B 16 (1954), 175-185. A ratio r is in
the interval where Student's t does not reject that the mean of candidate - r baseline is 0. Pairs bring their covariance; arms
that were measured apart have none, and the smaller one's degrees of freedom.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import covariance, fmean, variance

from assay.statistics.contrast import Contrast, p_value


def fieller(
    baseline: Sequence[float], candidate: Sequence[float], confidence: float, *, paired: bool
) -> tuple[float, float] | None:
    """Lowest and highest ratio of the means, candidate to baseline; None where the baseline could be 0 by its spread.

    Raises ValueError for arms of fewer than two values, or pairs of which one lacks.
    """
    from scipy.special import stdtrit

    n = min(len(baseline), len(candidate))
    if n < 2 or (paired and len(baseline) != len(candidate)):
        raise ValueError(f"found {len(baseline)} and {len(candidate)} values; expected at least 2, as many in both where paired")
    square = float(stdtrit(n - 1, (1 + confidence) / 2)) ** 2
    below, above = fmean(baseline), fmean(candidate)
    shared = covariance(baseline, candidate) / n if paired else 0.0
    outer = below**2 - square * variance(baseline) / len(baseline)
    middle = below * above - square * shared
    inner = above**2 - square * variance(candidate) / len(candidate)
    if outer <= 0:
        return None
    root = math.sqrt(max(middle**2 - outer * inner, 0.0))
    return (middle - root) / outer, (middle + root) / outer


def p_of_one(baseline: Sequence[float], candidate: Sequence[float], *, paired: bool) -> float:
    """The two-sided probability of means so far apart where their ratio is 1: at most 5 % where the 95 % interval leaves 1 out.

    Raises ValueError for arms of fewer than two values, or pairs of which one lacks.
    """
    n = min(len(baseline), len(candidate))
    if n < 2 or (paired and len(baseline) != len(candidate)):
        raise ValueError(f"found {len(baseline)} and {len(candidate)} values; expected at least 2, as many in both where paired")
    shared = covariance(baseline, candidate) / n if paired else 0.0
    square = variance(baseline) / len(baseline) + variance(candidate) / len(candidate) - 2 * shared
    difference, error = fmean(candidate) - fmean(baseline), math.sqrt(max(square, 0.0))
    return p_value(Contrast(difference=difference, standard_error=error, degrees=n - 1, n=n, spread=0.0))
