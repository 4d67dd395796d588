"""Two groups of latencies far apart, from a histogram: fast ones, slow ones, and hardly any between them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from assay.measures import latency

Buckets = Sequence[tuple[int, int]]
"""(highest value of the bucket in ns, count), ascending."""
STEP = 10**0.125
"""Eight places to part the groups at to each power of ten."""


class Apart(NamedTuple):
    """What two groups are: medians so many times apart, each this share of all, between them this of the smaller."""

    times: float
    group_share: float
    between_share: float


def two(seen: Buckets, apart: Apart) -> tuple[float, float, float] | None:
    """(share of the fast group, its median, the slow group's median in ns); None where the latencies are one group."""
    total = sum(count for _, count in seen)
    for edge in _edges(seen):
        fast, slow = [one for one in seen if one[0] <= edge], [one for one in seen if one[0] > edge]
        share = sum(count for _, count in fast) / total
        if not apart.group_share <= share <= 1 - apart.group_share or _middle(slow) < apart.times * _middle(fast):
            continue
        low, high = _middle(fast) * apart.times**0.25, _middle(slow) / apart.times**0.25
        between = sum(count for upper, count in seen if low < upper < high)
        if low <= edge <= high and between <= apart.between_share * min(share, 1 - share) * total:
            return share, _middle(fast), _middle(slow)
    return None


def _middle(group: Buckets) -> float:
    """The median latency of a group, in ns."""
    return latency.percentile(list(group), 0.5) or 0.0


def _edges(seen: Buckets) -> Iterator[float]:
    """Latencies that may part two groups."""
    edge = float(seen[0][0]) if seen else 0.0
    while seen and edge < seen[-1][0]:
        yield edge
        edge *= STEP
