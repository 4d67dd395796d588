"""Whether values that follow one another are alike, and how many independent ones they are worth.

The test is von Neumann's ratio V of the squared differences of neighbours over the squared deviations: of independent normal
values its mean is 2 and its variance 4 (n - 2) / (n^2 - 1). The values are worth n (1 - r) / (1 + r) independent ones, with r the
correlation of neighbours, for which 1 / n is added since deviations from their own mean lean that much the other way.

References: J. von Neumann, Distribution of the ratio of the mean square successive difference to the variance, Annals of
Mathematical Statistics 12 (1941), 367-395; G. V. Bayley, J. M. Hammersley, The effective number of independent observations in
an autocorrelated time series, Supplement to the J. of the Royal Statistical Society 8 (1946), 184-197.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import fmean

LEAST = 4
"""Fewer values have too few neighbours."""
MOST = 0.99
"""The correlation is taken to be at most this: equal values in one long row are worth one, not none."""


@dataclass(frozen=True, kw_only=True)
class Serial:
    """The correlation of neighbours, the one-sided p-value of none, and the number of independent values they are worth."""

    correlation: float
    p_value: float
    effective: float


def serial(values: Sequence[float]) -> Serial | None:
    """The likeness of neighbours; None where fewer than four values or no differences between them tell nothing."""
    n, centre = len(values), fmean(values) if values else 0.0
    squares = sum((value - centre) ** 2 for value in values)
    if n < LEAST or squares == 0:
        return None
    steps = sum((after - before) ** 2 for before, after in pairwise(values))
    together = sum((before - centre) * (after - centre) for before, after in pairwise(values))
    correlation = min(MOST, together / squares + 1 / n)
    score = (2 - steps / squares) / math.sqrt(4 * (n - 2) / (n * n - 1))
    worth = n * (1 - correlation) / (1 + correlation) if correlation > 0 else float(n)
    return Serial(correlation=correlation, p_value=math.erfc(score / math.sqrt(2)) / 2, effective=max(1.0, worth))
