"""The ratio of two arms that were measured apart: Welch's t on logarithms.

Reference: B. L. Welch, The generalization of "Student's" problem when several different population variances are
involved, Biometrika 34 (1947), 28-35; degrees of freedom by Satterthwaite (1946).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import fmean, variance

from assay.statistics.contrast import Contrast


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
