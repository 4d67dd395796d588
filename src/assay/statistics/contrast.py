"""The ratio of two arms as a contrast, a difference of means of logarithms: standard error, interval, test and conclusion.

By Student's t: W. S. Gosset ("Student"), The probable error of a mean, Biometrika 6 (1908), 1-25; over the differences of
pairs, block by block (STATISTICS 2.2 and 2.3 of the design: randomised complete blocks), or of two samples by Welch. The
coverage of the intervals is simulated in tests/statistics/test_contrast.py.

A ratio of two statistics without a formula for its interval is resampled: whole runs are drawn again, never single operations.
Reference: B. Efron, Better bootstrap confidence intervals, J. American Statistical Association 82 (1987), 171-185 (BCa). Below
20 runs it covers too little (simulated: 0.77 to 0.92 of 0.95 at n <= 5), so it gives nothing there.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from statistics import covariance, fmean, stdev, variance
from typing import Any

from assay.frozen import dataclass
from assay.records import Conclusion


@dataclass(frozen=True, kw_only=True)
class Contrast:
    """A difference on the scale of natural logarithms, so that its exponential is a ratio."""

    difference: float
    standard_error: float
    degrees: float
    """Degrees of freedom."""
    n: int
    """Pairs, or the smaller arm."""
    spread: float
    """Standard deviation of the paired differences, or of one arm's values (pooled)."""


def interval(contrast: Contrast, confidence: float) -> tuple[float, float]:
    """The two-sided t interval of the difference; the whole line where there are no degrees of freedom."""
    from scipy.special import stdtrit

    if contrast.degrees <= 0:
        return -math.inf, math.inf
    half = float(stdtrit(contrast.degrees, (1 + confidence) / 2)) * contrast.standard_error
    return contrast.difference - half, contrast.difference + half


def p_value(contrast: Contrast) -> float:
    """The two-sided probability of a difference at least so large where there is none; 1 without degrees of freedom."""
    from scipy.special import stdtr

    if contrast.degrees <= 0:
        return 1.0
    if contrast.standard_error == 0:
        return 1.0 if contrast.difference == 0 else 0.0
    return float(2 * stdtr(contrast.degrees, -abs(contrast.difference / contrast.standard_error)))


Interval = tuple[float, float]


def four_way(wide: Interval, narrow: Interval, matters_share: float) -> Conclusion:
    """The conclusion of a contrast; `wide` is its 95 % interval, `narrow` its 90 % interval. The first match wins.

    Beyond the margin on one side: different and matters. The narrow one inside the margins: equivalent where the wide one
    holds 0, else different but immaterial. Else undecided.
    """
    margin = math.log1p(matters_share)
    if wide[0] > margin or wide[1] < -margin:
        return Conclusion.MATTERS
    if -margin < narrow[0] and narrow[1] < margin:
        return Conclusion.EQUIVALENT if wide[0] <= 0 <= wide[1] else Conclusion.IMMATERIAL
    return Conclusion.UNDECIDED


def paired_ratio(baseline: Sequence[float], candidate: Sequence[float]) -> Contrast:
    """The contrast ln(candidate / baseline) over pairs of positive values. Raises ValueError where there is no pair."""
    differences = [math.log(b / a) for a, b in zip(baseline, candidate, strict=True)]
    n = len(differences)
    if n == 0:
        raise ValueError("found no pairs; expected at least one")
    spread = stdev(differences) if n > 1 else 0.0
    return Contrast(difference=fmean(differences), standard_error=spread / math.sqrt(n), degrees=n - 1, n=n, spread=spread)


def welch_ratio(baseline: Sequence[float], candidate: Sequence[float]) -> Contrast:
    """The contrast ln(candidate / baseline) of positive values. Raises ValueError where an arm is empty."""
    arms = [[math.log(value) for value in arm] for arm in (baseline, candidate)]
    if not all(arms):
        raise ValueError("found an arm without values; expected at least one in each")
    difference, n = fmean(arms[1]) - fmean(arms[0]), min(len(arm) for arm in arms)
    if n < 2:
        return Contrast(difference=difference, standard_error=0.0, degrees=0, n=n, spread=0.0)
    variances = [variance(arm) for arm in arms]
    parts = [found / len(arm) for found, arm in zip(variances, arms, strict=True)]
    total = sum(parts)
    terms = sum(part**2 / (len(arm) - 1) for part, arm in zip(parts, arms, strict=True))
    return Contrast(
        difference=difference,
        standard_error=math.sqrt(total),
        degrees=total**2 / terms if terms > 0 else sum(len(arm) - 1 for arm in arms),
        n=n,
        spread=math.sqrt(fmean(variances)),
    )


def fieller(
    baseline: Sequence[float], candidate: Sequence[float], confidence: float, *, paired: bool
) -> tuple[float, float] | None:
    """Lowest and highest ratio of the means, candidate to baseline; None where the baseline could be 0 by its spread.

    Raises ValueError for arms of fewer than two values, or pairs of which one lacks.
    """
    from scipy.special import stdtrit

    n, shared = _shared(baseline, candidate, paired=paired)
    square = float(stdtrit(n - 1, (1 + confidence) / 2)) ** 2
    below, above = fmean(baseline), fmean(candidate)
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
    n, shared = _shared(baseline, candidate, paired=paired)
    square = variance(baseline) / len(baseline) + variance(candidate) / len(candidate) - 2 * shared
    difference, error = fmean(candidate) - fmean(baseline), math.sqrt(max(square, 0.0))
    return p_value(Contrast(difference=difference, standard_error=error, degrees=n - 1, n=n, spread=0.0))


def _shared(baseline: Sequence[float], candidate: Sequence[float], *, paired: bool) -> tuple[int, float]:
    """The values of the smaller arm, and the covariance of the two means."""
    n = min(len(baseline), len(candidate))
    if n < 2 or (paired and len(baseline) != len(candidate)):
        raise ValueError(f"found {len(baseline)} and {len(candidate)} values; expected at least 2, as many in both where paired")
    return n, covariance(baseline, candidate) / n if paired else 0.0


@dataclass(frozen=True, kw_only=True)
class NeighbourContrast:
    """A value against its neighbours."""

    depth: Contrast
    """ln(value / neighbours, interpolated)."""
    p_value: float
    """One-sided: the probability of lying so far below both where it is not below one of them."""


def dip(left: Sequence[float], value: Sequence[float], right: Sequence[float], weight: float) -> NeighbourContrast:
    """The dip of positive values over blocks; `weight` is that of the right neighbour, 0..1.

    Raises ValueError where there is no block.
    """
    between = [math.exp((1 - weight) * math.log(a) + weight * math.log(b)) for a, b in zip(left, right, strict=True)]
    return NeighbourContrast(
        depth=paired_ratio(between, value),
        p_value=max(p_below(paired_ratio(left, value)), p_below(paired_ratio(right, value))),
    )


def weight_of(left: float, place: float, right: float) -> float:
    """The weight of the right neighbour at a place between them: by logarithm, linear where the left one is not above 0."""
    if left > 0:
        left, place, right = math.log(left), math.log(place), math.log(right)
    return (place - left) / (right - left)


def p_below(contrast: Contrast) -> float:
    """The probability of a difference at least so far below 0 where there is none; 1 without degrees of freedom."""
    from scipy.special import stdtr

    if contrast.degrees <= 0:
        return 1.0
    if contrast.standard_error == 0:
        return 0.0 if contrast.difference < 0 else 1.0
    return float(stdtr(contrast.degrees, contrast.difference / contrast.standard_error))


LEAST_RUNS = 20
_HALVINGS = 12
"""The probability is known to a four thousandth, about as fine as the draws are."""
DRAWS = 1999
SEED = 1
"""The same runs give the same interval."""


def resampled_ratio(
    baseline: Sequence[float],
    candidate: Sequence[float],
    statistic: Callable[[Sequence[float]], float],
    confidence: float,
    *,
    paired: bool,
) -> tuple[float, float] | None:
    """Lowest and highest ratio of the statistic, candidate to baseline; None below 20 runs an arm, or where nothing varies."""
    found = _intervals(baseline, candidate, statistic, paired=paired)
    return found(confidence) if found is not None else None


def resampled_p(
    baseline: Sequence[float], candidate: Sequence[float], statistic: Callable[[Sequence[float]], float], *, paired: bool
) -> float | None:
    """One less the highest confidence of an interval that leaves the ratio 1 out, so the two never disagree; None without one."""
    found = _intervals(baseline, candidate, statistic, paired=paired)
    if found is None or found(1 / 2) is None:
        return None
    low, high = 0.0, 1.0
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        edges = found(1 - middle)
        inside = edges is None or edges[0] <= 1 <= edges[1]
        low, high = (middle, high) if inside else (low, middle)
    return high


def _intervals(
    baseline: Sequence[float], candidate: Sequence[float], statistic: Callable[[Sequence[float]], float], *, paired: bool
) -> Callable[[float], tuple[float, float] | None] | None:
    """Confidence -> interval, all from the same draws; None below 20 runs an arm."""
    import numpy as np
    from scipy.stats import bootstrap

    if min(len(baseline), len(candidate)) < LEAST_RUNS:
        return None

    def ratio(first: Sequence[float], second: Sequence[float]) -> float:
        return math.log(statistic(second) / statistic(first))

    drawn: Any = None

    def edges(confidence: float) -> tuple[float, float] | None:
        nonlocal drawn
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # where no run changes the statistic there is no acceleration: NaN, and said so
            drawn = bootstrap(
                (baseline, candidate),
                ratio,
                paired=paired,
                vectorized=False,
                n_resamples=0 if drawn is not None else DRAWS,
                confidence_level=confidence,
                method="BCa",
                bootstrap_result=drawn,
                rng=np.random.default_rng(SEED),
            )
        low, high = float(drawn.confidence_interval.low), float(drawn.confidence_interval.high)
        return None if math.isnan(low) or math.isnan(high) else (math.exp(low), math.exp(high))

    return edges
