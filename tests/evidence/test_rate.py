"""Rates of counters whose samples lie around a time and seldom at its ends."""

from array import array

import pytest

from assay.evidence import ladder
from assay.records import Series


def counter(*samples: tuple[int, float]) -> Series:
    at_ns, value = zip(*samples, strict=True)
    at, values = array("q", at_ns), array("d", value)
    return Series(phase="p", source="s", layer="cpu", host="h", subject="absolute", metric="m", unit="1", at_ns=at, value=values)


def test_a_rate_is_over_the_time_between_the_samples_that_counted():
    seen = counter((0, 0.0), (1_000_000_000, 1_000.0))
    assert ladder.rate(seen, 500_000_000, 501_000_000) == pytest.approx(1e-6), "1,000 in a second, not 1,000 in a millisecond"
    assert ladder.rate(counter((5, 3.0)), 0, 10) is None
    waited = counter((0, 0.0), (100, 60.0))
    assert ladder.least_share(waited, 20, 80) == pytest.approx(20 / 60)
    assert ladder.least_share(waited, 40, 60) == 0.0, "all of it may have been outside"
    assert ladder.least_share(waited, 60, 60) is None
