"""A ratio of two statistics without a formula for its interval: whole runs are drawn again, never single operations.

Reference: B. Efron, Better bootstrap confidence intervals, J. American Statistical Association 82 (1987), 171-185 (BCa). Below
20 runs it covers too little (simulated: 0.77 to 0.92 of 0.95 at n <= 5), so it gives nothing there.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence

LEAST = 20
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
    import numpy as np
    from scipy.stats import bootstrap

    if min(len(baseline), len(candidate)) < LEAST:
        return None

    def ratio(first: Sequence[float], second: Sequence[float]) -> float:
        return math.log(statistic(second) / statistic(first))

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # where no run changes the statistic there is no acceleration: NaN, and said so
        found = bootstrap(
            (baseline, candidate),
            ratio,
            paired=paired,
            vectorized=False,
            n_resamples=DRAWS,
            confidence_level=confidence,
            method="BCa",
            rng=np.random.default_rng(SEED),
        ).confidence_interval
    low, high = float(found.low), float(found.high)
    return None if math.isnan(low) or math.isnan(high) else (math.exp(low), math.exp(high))
