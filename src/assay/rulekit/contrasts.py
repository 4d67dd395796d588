"""What the interval and the p-value of a comparison say, for rules and for the answer alike."""

from __future__ import annotations

import math

from assay.records import Comparison, Conclusion, Method
from assay.statistics.contrast import LEAST_RUNS
from assay.statistics.intervals import LEAST, LEAST_MEDIAN
from assay.statistics.significance import LEVEL


def differs(one: Comparison) -> bool:
    """Tell whether there is a difference, of whatever size."""
    ratio = one.ratio
    if ratio is None or ratio.low is None or ratio.high is None or lost_by_adjustment(one):
        return False
    return ratio.low > 1 or ratio.high < 1


def lost_by_adjustment(one: Comparison) -> bool:
    """Tell whether a difference is not significant any more after the adjustment for all that were tested."""
    return one.adjusted_p_value is not None and one.p_value is not None and one.p_value <= LEVEL < one.adjusted_p_value


def reaches_beyond(one: Comparison) -> bool:
    """Tell whether the 95 % interval holds differences that matter: two one-sided tests at 5 % take the 90 % interval."""
    ratio, margin = one.ratio, 1 + one.matters_share
    return ratio is not None and ((ratio.low or 0.0) < 1 / margin or (ratio.high or math.inf) > margin)


def claims_difference(conclusion: Conclusion) -> bool:
    """Tell whether a conclusion is that the arms differ."""
    return conclusion in (Conclusion.MATTERS, Conclusion.IMMATERIAL)


def least(method: Method) -> int:
    """Give the fewest pairs, or runs of an arm, that have an interval."""
    medians = {Method.PAIRED_MEDIANS: LEAST_MEDIAN, Method.UNPAIRED_MEDIANS: LEAST_RUNS}
    return medians.get(method, LEAST)
