"""Whether values differ between groups: one-way analysis of variance.

Reference: R. A. Fisher, Statistical Methods for Research Workers (1925), chapter VII.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from statistics import fmean


def group_effect(groups: Iterable[Sequence[float]], spent: int = 0) -> float | None:
    """The p-value of no difference between the groups; None with fewer than two groups of two values, or no freedom left.

    `spent` are degrees of freedom that were used to make the values, beyond the common mean.
    """
    from scipy.special import fdtrc

    found = [group for group in groups if len(group) >= 2]
    n = sum(len(group) for group in found)
    degrees = n - len(found) - spent
    if len(found) < 2 or degrees < 1:
        return None
    centre = fmean([value for group in found for value in group])
    between = sum(len(group) * (fmean(group) - centre) ** 2 for group in found) / (len(found) - 1)
    within = sum((value - fmean(group)) ** 2 for group in found for value in group) / degrees
    if within == 0:
        return 1.0 if between == 0 else 0.0
    return float(fdtrc(len(found) - 1, degrees, between / within))
