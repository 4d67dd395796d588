"""The mean of a series that remembers itself, with an interval: means of batches so long that they are independent.

Batches of at least five correlation times and at most twenty of them; longer ones where neighbouring means are still alike. Their
means are then taken for independent values, and the t interval for theirs.

References: B. Schmeiser, Batch size effects in the analysis of simulation output, Operations Research 30 (1982), 556-568 (ten
to thirty batches); G. S. Fishman, Grouping observations in digital simulation, Management Science 24 (1978), 510-521 (make them
longer until their means do not correlate).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import fmean

from assay.frozen import dataclass
from assay.statistics.correlation_time import correlation_time
from assay.statistics.intervals import Mean, arithmetic_mean
from assay.statistics.serial import serial

MOST = 20
LEAST = 5
"""Of fewer batches no interval is made: it would be wider than it is true."""
TIMES = 5.0
"""Correlation times of a batch."""
ALIKE = 0.2
"""Correlation of neighbouring means from which on batches are made longer (the limit of S07)."""
ALIKE_P = 0.05
"""Of a few means chance alone makes such a one often: it is believed below this p-value."""


@dataclass(frozen=True, kw_only=True)
class BatchMeans:
    """The correlation time in values; the means of the batches, how many values each has; the mean with its interval."""

    time: float
    batches: tuple[float, ...]
    each: int
    mean: Mean | None
    """None where too few independent batches fit."""


def batch_means(values: Sequence[float], confidence: float = 0.95) -> BatchMeans:
    """The batches at the end of the series: what does not fill one is left out at its beginning. No batches of no values."""
    centre = fmean(values) if values else 0.0
    time = correlation_time([value - centre for value in values])
    most = min(MOST, int(len(values) / math.ceil(TIMES * time)))
    for count in range(most, LEAST - 1, -1):
        each = len(values) // count
        first = len(values) - count * each
        batches = tuple(fmean(values[at : at + each]) for at in range(first, len(values), each))
        alike = serial(batches)
        if alike is None or alike.correlation <= ALIKE or alike.p_value >= ALIKE_P:
            return BatchMeans(time=time, batches=batches, each=each, mean=arithmetic_mean(batches, confidence))
    return BatchMeans(time=time, batches=(), each=0, mean=None)
