"""What the interval and the p-value of a comparison say, for rules and for the answer alike."""

from __future__ import annotations

import math

from assay.records import Bound, Comparison, Method
from assay.statistics.contrast import LEAST_RUNS
from assay.statistics.intervals import LEAST, LEAST_MEDIAN
from assay.statistics.significance import LEVEL


def differs(one: Comparison) -> bool:
    """Tell whether there is a difference, of whatever size."""
    ratio = one.ratio
    if ratio is None or ratio.low is None or ratio.high is None or lost_by_adjustment(one):
        return False
    low, high = ratio.sure
    return (low is not None and low > 1) or (high is not None and high < 1)


def lost_by_adjustment(one: Comparison) -> bool:
    """Tell whether a difference is not significant any more after the adjustment for all that were tested."""
    return one.adjusted_p_value is not None and one.p_value is not None and one.p_value <= LEVEL < one.adjusted_p_value


def reaches_beyond(one: Comparison) -> bool:
    """Tell whether the 95 % interval holds differences that matter: two one-sided tests at 5 % take the 90 % interval."""
    ratio, margin = one.ratio, 1 + one.matters_share
    low, high = (None, None) if ratio is None else ratio.sure
    return ratio is not None and ((low or 0.0) < 1 / margin or (high or math.inf) > margin)


def interval_of(one: Comparison) -> Bound | None:
    """Give the 95 % interval of the ratio as a bound; None where there is none."""
    ratio = one.ratio
    return Bound(low=ratio.low, high=ratio.high, unit="ratio") if ratio is not None and ratio.low is not None else None


def least(method: Method) -> int:
    """Give the fewest pairs, or runs of an arm, that have an interval."""
    medians = {Method.PAIRED_MEDIANS: LEAST_MEDIAN, Method.UNPAIRED_MEDIANS: LEAST_RUNS}
    return medians.get(method, LEAST)
