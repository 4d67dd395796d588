"""A difference of means with its standard error: interval and test by Student's t.

Reference: W. S. Gosset ("Student"), The probable error of a mean, Biometrika 6 (1908), 1-25.
"""

from __future__ import annotations

import math

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
