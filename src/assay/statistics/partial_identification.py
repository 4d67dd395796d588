"""The interval of a mean of which each value is known only between two bounds: by noise, a drain, or hits in a cache.

The mean of the lower bounds and that of the upper ones enclose what is true; how well each of the two means is known widens that
by c standard errors. G. W. Imbens and C. F. Manski, Confidence intervals for partially identified parameters, Econometrica 72
(2004), 1845-1857: c solves F(c + sqrt(n) D / max(s_low, s_high)) - F(-c) = confidence, where D is the distance of both means. It
goes from the two-sided quantile (D = 0: the ordinary interval) to the one-sided one, as the truth cannot miss both ends of a wide
range. They take F to be normal, for many values; here it is Student's t with n - 1 degrees of freedom, since the spreads are
estimated from as few as three values: with normal quantiles such a range holds the truth in 81 of 100 instead of 95. At D = 0
that is the t interval exactly. D is estimated, too: J. Stoye, More on confidence intervals for partially identified parameters,
Econometrica 77 (2009), 1299-1315, shows that it may be where the bounds of one value never cross, as here.
`benchmarks/bounded.py` simulates what the range holds.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import fmean, stdev

from assay.frozen import dataclass

Range = tuple[float, float]
LEAST = 3
"""Below so many values no interval is given."""
HALVINGS = 60


@dataclass(frozen=True, kw_only=True)
class Side:
    """The mean of the bounds of one side, with its standard error; infinite where one of them is not known."""

    mean: float
    error: float


def identified(lows: Sequence[float], highs: Sequence[float], confidence: float = 0.95) -> Range:
    """Between what the mean lies, by the bounds of each value in the same order; of fewer than three values their hull.

    A bound that nobody knows is infinite, and leaves its side open.
    """
    if len(lows) < LEAST:
        return min(lows), max(highs)
    low, high = (Side(mean=fmean(ends), error=error_of(ends)) for ends in (lows, highs))
    return between(low, high, len(lows) - 1, confidence)


def error_of(ends: Sequence[float]) -> float:
    """The standard error of their mean; 0 where that is infinite."""
    return stdev(ends) / math.sqrt(len(ends)) if all(map(math.isfinite, ends)) else 0.0


def between(low: Side, high: Side, freedom: float, confidence: float) -> Range:
    """The range of Imbens and Manski from the means of both sides, known with so many degrees of freedom."""
    wide = max(low.error, high.error)
    c = multiple((high.mean - low.mean) / wide if wide else math.inf, freedom, confidence)
    return low.mean - c * low.error, high.mean + c * high.error


def multiple(distance: float, freedom: float, confidence: float) -> float:
    """How many standard errors each end is moved; `distance` is that of the two means in the larger standard error."""
    from scipy.special import stdtr, stdtrit

    least, most = (float(stdtrit(freedom, share)) for share in (confidence, (1 + confidence) / 2))
    if math.isinf(distance):
        return least
    for _ in range(HALVINGS):
        middle = (least + most) / 2
        held = float(stdtr(freedom, middle + distance)) - float(stdtr(freedom, -middle))
        least, most = (middle, most) if held < confidence else (least, middle)
    return most
