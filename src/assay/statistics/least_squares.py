"""Linear models by least squares: a line over time, and groups within strata.

`trend` says whether values rise or fall with time: the slope of the line and its t test. Reference: N. R. Draper, H. Smith,
Applied Regression Analysis, 3rd ed. (1998), chapter 1.

`two_way` says whether values differ between groups once the means of their strata are taken out, and the strata once the groups
are: the additive model value = stratum + group against the model of strata alone, by the F test of nested least squares.
References: R. A. Fisher, Statistical Methods for Research Workers (1925), chapter VIII; Draper and Smith, chapter 6.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Sequence
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
