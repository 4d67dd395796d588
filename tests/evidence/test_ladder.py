"""A rise that was not seen is none: neither 0, nor what a part of the time shows."""

from assay.evidence import ladder
from assay.evidence.snapshots import Origin, gauge
from stage.rows import each


@each(
    "samples rise",
    (((0, 5.0), (100, 9.0)), 4.0),
    (((-3, 5.0), (50, 7.0), (103, 9.0)), 4.0),
    (((2, 5.0), (98, 9.0)), 4.0),  # clocks of two hosts, a sample just inside
    (((0, 5.0),), None),
    (((0, 5.0), (50, 9.0)), None),  # the end was not seen
    (((50, 5.0), (100, 9.0)), None),
    (((-9, 5.0), (-3, 9.0)), None),
    ((), None),
)
def test_a_rise_needs_a_sample_at_both_ends(samples, rise):
    at = [(when * 10**8, value) for when, value in samples]
    series = gauge(Origin(host="h", phase="p", source="s", layer="l"), "", "m", "count", at)
    assert ladder.rise(series, 0, 100 * 10**8) == rise
    assert ladder.rises((series,), 0, 100 * 10**8) == rise
