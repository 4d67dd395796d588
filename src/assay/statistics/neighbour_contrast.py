"""Whether a value lies below both of its neighbours, block by block: how far below their interpolation, and how sure.

With x the value and w the neighbours' weights, the depth is the mean over blocks of ln x - (1 - w) ln x_left - w ln x_right:
a paired contrast with Student's t interval. A value is a dip where it lies below the left AND the right one, so the test is the
one of an intersection of hypotheses: its p-value is the larger of the two one-sided ones. It keeps its level on any slope, at
the foot of a cliff too, where the depth alone is negative; and below both means below their interpolation.

References: "Student", The probable error of a mean, Biometrika 6 (1908), 1-25; R. L. Berger, Multiparameter hypothesis testing
and acceptance sampling, Technometrics 24 (1982), 295-300.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from assay.statistics.contrast import Contrast
from assay.statistics.paired_ratio import paired_ratio


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
