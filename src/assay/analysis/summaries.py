"""What stands for the runs of an arm, and the interval of its ratio: geometric mean, total, or median.

The geometric mean is the default: noise multiplies, and rates and times are ratios. Shares and counts are totals, for which
Fieller's interval stands; a file can ask for either, or for the median (`summary = "median"`): in pairs by order statistics,
from six pairs on; apart, by a bootstrap of whole runs, from twenty runs on. Where an interval cannot be had, nothing is decided.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, median

from assay.records import Method, Summary
from assay.statistics.contrast import fieller, p_of_one, p_value, resampled_p, resampled_ratio, welch_ratio
from assay.statistics.intervals import median_interval, sign_test

Edges = tuple[float, float]
METHODS = {
    (Summary.GEOMETRIC, True): Method.PAIRED_GEOMETRIC,
    (Summary.GEOMETRIC, False): Method.UNPAIRED_GEOMETRIC,
    (Summary.TOTAL, True): Method.PAIRED_TOTALS,
    (Summary.TOTAL, False): Method.UNPAIRED_TOTALS,
    (Summary.MEDIAN, True): Method.PAIRED_MEDIANS,
    (Summary.MEDIAN, False): Method.UNPAIRED_MEDIANS,
}
"""By summary, and whether the arms are paired."""
LEVELS = (0.95, 0.90)


@dataclass(frozen=True, kw_only=True)
class Ratio:
    """The ratio of two arms; both intervals on the scale of logarithms, None where there is none."""

    value: float
    wide: Edges | None
    narrow: Edges | None
    p_value: float | None


def ratio(summary: Summary, baseline: Sequence[float], candidate: Sequence[float], *, paired: bool) -> Ratio:
    """The ratio of two arms of positive values; pairs come in the same order. One run alone has a ratio and no interval."""
    totals = summary is Summary.TOTAL
    value = fmean(candidate) / fmean(baseline) if totals else middle(baseline, candidate, paired=paired)
    if min(len(baseline), len(candidate)) < 2:
        return Ratio(value=value, wide=None, narrow=None, p_value=None)
    found = [edges(summary, baseline, candidate, (level, paired)) for level in LEVELS]
    wide, narrow = (logs(one) for one in found)
    return Ratio(value=value, wide=wide, narrow=narrow, p_value=probability(summary, baseline, candidate, paired=paired))


def middle(baseline: Sequence[float], candidate: Sequence[float], *, paired: bool) -> float:
    """The median of the ratios of pairs, or the ratio of the medians."""
    return median(ratios(baseline, candidate)) if paired else median(candidate) / median(baseline)


def ratios(baseline: Sequence[float], candidate: Sequence[float]) -> list[float]:
    """The ratio of each pair."""
    return [second / first for first, second in zip(baseline, candidate, strict=True)]


def edges(summary: Summary, baseline: Sequence[float], candidate: Sequence[float], how: tuple[float, bool]) -> Edges | None:
    """The interval of the ratio at a confidence; None where there is none."""
    confidence, paired = how
    if summary is Summary.TOTAL:
        return fieller(baseline, candidate, confidence, paired=paired)
    if paired:
        return median_interval(ratios(baseline, candidate), confidence)
    return resampled_ratio(baseline, candidate, median, confidence, paired=False)


def logs(found: Edges | None) -> Edges | None:
    """An interval on the scale of logarithms; nothing at or below 0 is a ratio, there it is open."""
    if found is None:
        return None
    low, high = (math.log(edge) if edge > 0 else -math.inf for edge in found)
    return None if math.isinf(low) or math.isinf(high) else (low, high)


def probability(summary: Summary, baseline: Sequence[float], candidate: Sequence[float], *, paired: bool) -> float:
    """The probability of so large a difference where there is none, by the test that the interval is made of."""
    if summary is Summary.TOTAL:
        return p_of_one(baseline, candidate, paired=paired)
    if paired:
        return sign_test([math.log(one) for one in ratios(baseline, candidate)])
    found = resampled_p(baseline, candidate, median, paired=False)
    return p_value(welch_ratio(baseline, candidate)) if found is None else found


def hull(found: Sequence[Ratio]) -> Ratio:
    """One ratio of several, with the smallest interval that holds theirs: one of a baseline's sittings each."""
    return Ratio(
        value=math.exp(fmean(math.log(one.value) for one in found)),
        wide=around([one.wide for one in found]),
        narrow=around([one.narrow for one in found]),
        p_value=None if any(one.p_value is None for one in found) else max(one.p_value or 0.0 for one in found),
    )


def around(found: Sequence[Edges | None]) -> Edges | None:
    """The hull of intervals; None where one is missing."""
    known = [one for one in found if one is not None]
    return (min(low for low, _ in known), max(high for _, high in known)) if known and len(known) == len(found) else None
