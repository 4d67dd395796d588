"""Latencies from histograms: merged by adding buckets, percentiles by cumulative count. Percentiles are never averaged."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

from assay.records import Observations

ROUNDING = 1e-9
"""More than the error of a few operations on doubles: no rank of a bound falls short by rounding."""


def merged(observations: Observations, phase: str, operation: str) -> list[tuple[int, int]]:
    """(highest value of the bucket in ns, count) over all clients, ascending; empty where no latency was recorded."""
    buckets: Counter[int] = Counter()
    for histogram in observations.histograms:
        if (histogram.phase, histogram.operation) == (phase, operation):
            for upper, count in zip(histogram.upper_ns, histogram.count, strict=True):
                buckets[upper] += count
    return sorted((upper, count) for upper, count in buckets.items() if count)


def percentile(buckets: list[tuple[int, int]], share: float) -> float | None:
    """The latency (ns) that this share of the operations does not exceed: the nearest-rank definition, by bucket."""
    return next(iter(percentiles(buckets, (share,))), None)


def percentiles(buckets: list[tuple[int, int]], shares: Sequence[float]) -> list[float]:
    """The latencies (ns) that these ascending shares of the operations do not exceed, in one walk; empty without operations."""
    total, seen, place, found = sum(count for _, count in buckets), 0, -1, []
    for share in shares if total else ():
        rank = max(1, math.ceil(share * total))
        while seen < rank and place < len(buckets) - 1:
            place += 1
            seen += buckets[place][1]
        found.append(float(buckets[place][0]))
    return found


def bracket(buckets: list[tuple[int, int]], share: float, inside: float) -> tuple[float, float] | None:
    """Between which latencies (ns) the percentile of a part of the operations lies, whichever those are.

    `inside` is the part's share of all operations, 0..1. Where F is the distribution of all and G that of the part, F <= x
    holds for at least (F(x) - (1 - inside)) / inside and at most F(x) / inside of the part, so the part's quantile of `share`
    lies between the quantiles share x inside and share x inside + (1 - inside) of all. None where there are no operations.
    """
    if not buckets or inside <= 0:
        return None
    least, most = share * inside * (1 - ROUNDING), min(1.0, (share * inside + 1 - inside) * (1 + ROUNDING))
    low, high = percentile(buckets, least), percentile(buckets, most)
    return None if low is None or high is None else (low, high)


def lowered(buckets: list[tuple[int, int]], share: float, taken_ns: float) -> float:
    """The lowest that a percentile can be once so much time is taken off the operations, whichever lost it; 0 where all can be.

    It falls most if the time is taken off those at and just below it, down to the same latency.
    """
    left, rank, high, many = taken_ns, max(1, math.ceil(share * sum(count for _, count in buckets))), 0.0, 0
    below = []
    for upper, count in buckets:
        below.append((upper, min(count, rank)))
        rank -= below[-1][1]
        if not rank:
            break
    for upper, count in (*reversed(below), (0, 0)):
        if many and left < many * (high - upper):
            return high - left / many
        left -= many * (high - upper) if many else 0.0
        high, many = float(upper), many + count
    return 0.0


def spread(buckets: list[tuple[int, int]]) -> float:
    """Standard deviation over mean of the latencies, from the buckets; 0 where there are none."""
    total = sum(count for _, count in buckets)
    mean = sum(upper * count for upper, count in buckets) / total if total else 0.0
    if not mean:
        return 0.0
    return math.sqrt(sum(count * (upper - mean) ** 2 for upper, count in buckets) / total) / mean
