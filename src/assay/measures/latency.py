"""Latencies from histograms: merged by adding buckets, percentiles by cumulative count. Percentiles are never averaged."""

from __future__ import annotations

import math
from collections import Counter

from assay.records import Observations


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
    total = sum(count for _, count in buckets)
    if not total:
        return None
    rank = max(1, math.ceil(share * total))
    seen = 0
    for upper, count in buckets:
        seen += count
        if seen >= rank:
            return float(upper)
    return float(buckets[-1][0])


def spread(buckets: list[tuple[int, int]]) -> float:
    """Standard deviation over mean of the latencies, from the buckets; 0 where there are none."""
    total = sum(count for _, count in buckets)
    mean = sum(upper * count for upper, count in buckets) / total if total else 0.0
    if not mean:
        return 0.0
    return math.sqrt(sum(count * (upper - mean) ** 2 for upper, count in buckets) / total) / mean
