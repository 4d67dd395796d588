"""Whether values differ between groups once the means of their strata are taken out, and the strata once the groups are.

The additive model value = stratum + group against the model of strata alone, by the F test of nested least squares.

Reference: R. A. Fisher, Statistical Methods for Research Workers (1925), chapter VIII; N. R. Draper, H. Smith, Applied Regression
Analysis, 3rd ed. (1998), chapter 6.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass

from assay.statistics.contrast import Contrast

LEAST = 2
"""Values of the smallest group that is looked at."""


@dataclass(frozen=True, kw_only=True)
class TwoWay:
    """The p-value of no difference between groups, how far apart they are, and the second stratum less the first."""

    p_value: float
    apart: float
    """Largest less smallest group, in units of the values."""
    strata: Contrast
    """With the groups taken out."""


def two_way(values: Sequence[float], strata: Sequence[Hashable], groups: Sequence[Hashable]) -> TwoWay | None:
    """The groups' effect on values in two strata; None where fewer than two groups, or no freedom, are left.

    Values of groups that occur only once are left out.
    """
    import numpy as np
    from scipy.special import fdtrc

    sizes = Counter(groups)
    kept = [place for place, group in enumerate(groups) if sizes[group] >= LEAST]
    names = list(dict.fromkeys(groups[place] for place in kept))
    halves = list(dict.fromkeys(strata))
    if len(names) < 2 or len(halves) != 2 or len({strata[place] for place in kept}) < 2:
        return None
    y = np.array([values[place] for place in kept])
    plain = np.array([[1.0, float(strata[place] == halves[1])] for place in kept])
    marks = np.array([[float(groups[place] == name) for name in names[1:]] for place in kept])
    full = np.hstack([plain, marks])
    rank = int(np.linalg.matrix_rank(full))
    degrees = len(kept) - rank
    if degrees < 1 or rank <= 2:
        return None
    found = np.linalg.lstsq(full, y, rcond=None)[0]
    rest = float(np.sum((y - full @ found) ** 2))
    before = float(np.sum((y - plain @ np.linalg.lstsq(plain, y, rcond=None)[0]) ** 2))
    effects = [0.0, *(float(effect) for effect in found[2:])]
    error = math.sqrt(max(0.0, float(np.linalg.pinv(full.T @ full)[1, 1]) * rest / degrees))
    difference = Contrast(difference=float(found[1]), standard_error=error, degrees=degrees, n=len(kept), spread=0.0)
    if rest <= 1e-12 * max(before, 1e-300):
        p = 0.0 if before > 0 else 1.0
    else:
        p = float(fdtrc(rank - 2, degrees, (before - rest) / (rank - 2) / (rest / degrees)))
    return TwoWay(p_value=p, apart=max(effects) - min(effects), strata=difference)
