"""Whether values rise or fall with time: the slope of the least-squares line and its t test.

Reference: N. R. Draper, H. Smith, Applied Regression Analysis, 3rd ed. (1998), chapter 1.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import fmean

from assay.frozen import dataclass
from assay.statistics.contrast import Contrast, p_value


@dataclass(frozen=True, kw_only=True)
class Trend:
    """The slope in units of the values per unit of time, the rise over the whole time, the p-value of no slope."""

    slope: float
    rise: float
    p_value: float


def trend(times: Sequence[float], values: Sequence[float], spent: int = 0) -> Trend | None:
    """The line through the points; None where fewer than one degree of freedom is left or all times are equal.

    `spent` are degrees of freedom that were used to make the values (means taken out of residuals, beyond the first).
    """
    n, mean_time, mean_value = len(times), fmean(times) if times else 0.0, fmean(values) if values else 0.0
    spread = sum((time - mean_time) ** 2 for time in times)
    degrees = n - 2 - spent
    if degrees < 1 or spread == 0:
        return None
    slope = sum((time - mean_time) * (value - mean_value) for time, value in zip(times, values, strict=True)) / spread
    rest = sum((value - mean_value - slope * (time - mean_time)) ** 2 for time, value in zip(times, values, strict=True))
    error = math.sqrt(rest / degrees / spread)
    contrast = Contrast(difference=slope, standard_error=error, degrees=degrees, n=n, spread=0.0)
    return Trend(slope=slope, rise=slope * (max(times) - min(times)), p_value=p_value(contrast))


def line_squares(times: Sequence[float], values: Sequence[float]) -> float:
    """The sum of the squared distances of the values from the least-squares line through them."""
    share = correlation(times, values) ** 2
    mean = fmean(values)
    return (1 - share) * sum((value - mean) ** 2 for value in values)


def correlation(first: Sequence[float], second: Sequence[float]) -> float:
    """Pearson's correlation; 0 where one of the two does not vary."""
    means = fmean(first), fmean(second)
    products = sum((a - means[0]) * (b - means[1]) for a, b in zip(first, second, strict=True))
    squares = sum((a - means[0]) ** 2 for a in first) * sum((b - means[1]) ** 2 for b in second)
    return products / math.sqrt(squares) if squares > 0 else 0.0
