"""The ratio of two arms that were measured in pairs: the mean of the differences of logarithms, block by block.

Reference: STATISTICS 2.2 and 2.3 of the design (randomised complete blocks, Student's t on log differences); the coverage
of its interval is simulated in tests/statistics/test_paired_ratio.py.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import fmean, stdev

from assay.statistics.contrast import Contrast


def paired_ratio(baseline: Sequence[float], candidate: Sequence[float]) -> Contrast:
    """The contrast ln(candidate / baseline) over pairs of positive values. Raises ValueError where there is no pair."""
    differences = [math.log(b / a) for a, b in zip(baseline, candidate, strict=True)]
    n = len(differences)
    if n == 0:
        raise ValueError("found no pairs; expected at least one")
    spread = stdev(differences) if n > 1 else 0.0
    return Contrast(difference=fmean(differences), standard_error=spread / math.sqrt(n), degrees=n - 1, n=n, spread=spread)
