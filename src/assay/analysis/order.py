"""Whether two arms were mixed in time: what pairs and blocks are for."""

from __future__ import annotations

from collections.abc import Sequence

from assay.records import Judged
from assay.statistics.least_squares import correlation

SEPARATION = 0.6
"""Correlation of arm with place in time above which the arms stood apart. Whole blocks of two arms reach 0.45 at most
(two blocks in the same order), A A A B B B reaches 0.88."""


def is_interleaved(baseline: Sequence[Judged], candidate: Sequence[Judged]) -> bool:
    """Whether the runs of two arms were mixed in the order in which they were started; two runs or fewer always are."""
    started = sorted([(one.run.started_utc, arm) for arm, runs in enumerate((baseline, candidate)) for one in runs])
    if len(started) < 3 or not baseline or not candidate:
        return True
    places = [float(place) for place in range(len(started))]
    return abs(correlation(places, [float(arm) for _, arm in started])) <= SEPARATION
