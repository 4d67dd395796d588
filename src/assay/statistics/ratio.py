"""The ratio of two arms that were measured in pairs: the mean of the differences of logarithms, block by block.

Reference: STATISTICS 2.2 and 2.3 of the design (randomised complete blocks, Student's t on log differences); the coverage
of its interval is simulated in tests/statistics/test_paired_ratio.py.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import covariance, fmean, stdev, variance

from assay.statistics.contrast import Contrast, p_value


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
