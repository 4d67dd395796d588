"""The interval of a median by order statistics: no distribution is assumed, and few values give none.

Reference: W. J. Conover, Practical Nonparametric Statistics (1999), 3.2 (quantile test), as scipy.stats.quantile_test has it. Its
confidence is at least what is asked for; 95 % needs six values, 90 % five.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

LEAST = 6
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
