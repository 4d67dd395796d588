"""Two groups of latencies: they are found where they are, whatever their sizes, and never in one group with a tail."""

from hypothesis import given
from hypothesis import strategies as st

from assay.measures.groups import Apart, two

APART = Apart(times=10, group_share=0.1, between_share=0.1)
SPREAD = st.lists(st.tuples(st.floats(0.8, 1.25), st.integers(1, 50)), min_size=1, max_size=20)


def buckets(middle, spread):
    return [(round(middle * factor), count) for factor, count in spread]


def merged(*groups):
    counts = {}
    for upper, count in (one for group in groups for one in group):
        counts[upper] = counts.get(upper, 0) + count
    return sorted(counts.items())


@given(SPREAD, SPREAD, st.integers(10_000, 1_000_000), st.integers(20, 2000))
def test_groups_that_are_far_apart_are_found_unless_one_is_small(fast, slow, middle, times):
    quick, late = buckets(middle, fast), buckets(middle * times, slow)
    share = sum(count for _, count in quick) / sum(count for _, count in (*quick, *late))
    found = two(merged(quick, late), APART)
    if 0.1 <= share <= 0.9:
        assert found is not None
        assert abs(found[0] - share) < 1e-9
        assert round(0.8 * middle) <= found[1] <= round(1.25 * middle)
    else:
        assert found is None


@given(SPREAD, st.integers(10_000, 10_000_000))
def test_one_group_is_one(spread, middle):
    assert two(merged(buckets(middle, spread)), APART) is None


@given(st.integers(3, 60), st.integers(1000, 100_000))
def test_a_slope_over_three_powers_of_ten_is_one_group(steps, lowest):
    assert two([(round(lowest * 1000 ** (step / (20 * steps))), 10) for step in range(20 * steps)], APART) is None


def test_nothing_is_no_group():
    assert two([], APART) is None
