"""Contrasts, dips, Fieller, order statistics and the bootstrap against scipy's, and how often their intervals hold the truth."""

import math
import statistics

import numpy as np
import pytest
import scipy
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.records import Conclusion
from assay.statistics.contrast import (
    Contrast,
    dip,
    fieller,
    four_way,
    interval,
    p_value,
    paired_ratio,
    resampled_ratio,
    weight_of,
    welch_ratio,
)
from assay.statistics.intervals import median_interval, sign_test
from stage.rows import each
from stage.sizes import chance, few_and_many

positive = st.floats(1e-6, 1e9)


def test_no_spread_no_freedom_and_nothing_to_compare():
    same = paired_ratio([2.0, 2.0, 2.0], [2.0, 2.0, 2.0])
    assert interval(same, 0.95) == (0.0, 0.0)
    assert p_value(same) == 1.0
    double = paired_ratio([2.0, 2.0, 2.0], [4.0, 4.0, 4.0])
    assert interval(double, 0.95) == (math.log(2), math.log(2))
    assert p_value(double) == 0.0
    one = paired_ratio([2.0], [4.0])
    assert interval(one, 0.95) == (-math.inf, math.inf)
    assert p_value(one) == 1.0
    with pytest.raises(ValueError, match="no pairs"):
        paired_ratio([], [])
    with pytest.raises(ValueError, match="an arm without values"):
        welch_ratio([], [1.0])
    certain = Contrast(difference=0.1, standard_error=0.0, degrees=4, n=5, spread=0.0)
    assert p_value(certain) == 0.0


@given(st.lists(st.tuples(positive, positive), min_size=2, max_size=12))
def test_swapping_the_arms_turns_the_contrast_round(pairs):
    first, second = [a for a, _ in pairs], [b for _, b in pairs]
    for ratio in (paired_ratio, welch_ratio):
        there, back = ratio(first, second), ratio(second, first)
        assert there.difference == pytest.approx(-back.difference, abs=1e-9)
        assert there.standard_error == pytest.approx(back.standard_error, rel=1e-6, abs=1e-9)


def test_both_agree_with_scipy():
    draw = np.random.default_rng(3)
    a, b = draw.lognormal(0, 0.1, 7), draw.lognormal(0.05, 0.3, 7)
    reference = scipy.stats.ttest_rel(np.log(b), np.log(a))
    mine = paired_ratio(a.tolist(), b.tolist())
    assert p_value(mine) == pytest.approx(reference.pvalue)
    assert interval(mine, 0.95) == pytest.approx(tuple(reference.confidence_interval(0.95)))
    reference = scipy.stats.ttest_ind(np.log(b[:5]), np.log(a), equal_var=False)
    mine = welch_ratio(a.tolist(), b[:5].tolist())
    assert p_value(mine) == pytest.approx(reference.pvalue)
    assert interval(mine, 0.9) == pytest.approx(tuple(reference.confidence_interval(0.9)))


def noise(kind: str, draw: np.random.Generator, shape: tuple[int, int]) -> np.ndarray:
    """Multiplicative noise of about 3 to 8 %: lognormal, with a tenth of slow outliers, or of Student's t with 3 degrees."""
    if kind == "lognormal":
        return np.exp(draw.normal(0, 0.08, shape))
    if kind == "outliers":
        return np.exp(draw.normal(0, 0.03, shape)) * np.where(draw.random(shape) < 0.1, 0.7, 1.0)
    return np.exp(0.03 * draw.standard_t(3, shape))


@few_and_many("sets", 500, 3000)
@each("kind", "lognormal", "outliers", "heavy")
@each("n", 3, 5, 10)
def test_the_paired_interval_covers_the_truth(kind, n, sets):
    draw = np.random.default_rng(11)
    baseline, candidate = noise(kind, draw, (sets, n)), 1.07 * noise(kind, draw, (sets, n))
    inside = 0
    for a, b in zip(baseline.tolist(), candidate.tolist(), strict=True):
        low, high = interval(paired_ratio(a, b), 0.95)
        inside += low <= math.log(1.07) <= high
    assert inside / sets >= (0.93 if sets == 3000 else 0.95 - chance(0.05, sets))


@few_and_many("sets", 500, 3000)
@each("kind", "lognormal", "heavy")
def test_the_unpaired_interval_covers_the_truth(kind, sets):
    draw = np.random.default_rng(12)
    baseline, candidate = noise(kind, draw, (sets, 5)), noise(kind, draw, (sets, 5))
    covered = [interval(welch_ratio(a, b), 0.95) for a, b in zip(baseline.tolist(), candidate.tolist(), strict=True)]
    assert sum(low <= 0 <= high for low, high in covered) / sets >= (0.93 if sets == 3000 else 0.95 - chance(0.05, sets))


M = math.log(1.05)


@each(
    "wide narrow expected",
    ((M + 0.01, 0.2), (M + 0.02, 0.15), Conclusion.MATTERS),
    ((-0.2, -M - 0.01), (-0.15, -M - 0.02), Conclusion.MATTERS),
    ((-0.01, 0.02), (-0.005, 0.015), Conclusion.EQUIVALENT),
    ((0.001, 0.02), (0.003, 0.018), Conclusion.IMMATERIAL),
    ((-0.02, -0.001), (-0.018, -0.003), Conclusion.IMMATERIAL),
    ((-0.02, 0.06), (-0.01, 0.045), Conclusion.EQUIVALENT),
    ((-0.02, 0.06), (-0.01, 0.05), Conclusion.UNDECIDED),
    ((0.01, 0.2), (0.02, 0.18), Conclusion.UNDECIDED),
    ((-math.inf, math.inf), (-math.inf, math.inf), Conclusion.UNDECIDED),
)
def test_the_first_match_wins(wide, narrow, expected):
    assert four_way(wide, narrow, 0.05) is expected


@given(st.floats(-0.5, 0.5), st.floats(0, 0.5), st.floats(0.001, 0.5))
def test_turning_the_arms_round_changes_nothing(centre, half, matters):
    wide, narrow = (centre - half, centre + half), (centre - 0.8 * half, centre + 0.8 * half)
    back = four_way((-wide[1], -wide[0]), (-narrow[1], -narrow[0]), matters)
    assert four_way(wide, narrow, matters) is back


rows = st.lists(st.tuples(*[st.floats(1.0, 1e6)] * 3), min_size=3, max_size=12)


@settings(deadline=None)
@given(rows)
def test_the_p_value_is_the_worse_of_two_paired_tests(values):
    from scipy.stats import ttest_rel

    left, middle, right = (np.log([row[place] for row in values]) for place in range(3))
    sure = [ttest_rel(middle, other, alternative="less").pvalue for other in (left, right) if np.ptp(middle - other) > 1e-6]
    found = dip(*(np.exp(one).tolist() for one in (left, middle, right)), 0.5)
    if len(sure) == 2:
        assert found.p_value == pytest.approx(max(sure), rel=1e-5, abs=1e-12)


@settings(deadline=None)
@given(rows, st.floats(0.05, 0.95))
def test_below_both_is_below_what_lies_between(values, weight):
    left, middle, right = ([row[place] for row in values] for place in range(3))
    found = dip(left, middle, right, weight)
    if found.p_value < 0.4:
        assert found.depth.difference < 0


def test_a_dip_at_a_cliff_without_spread_and_by_logarithm():
    foot = dip([5.0, 5.1, 4.9, 5.0, 5.1], [1.0, 1.02, 0.99, 1.01, 1.0], [1.0, 1.01, 1.0, 0.99, 1.02], 0.5)
    assert interval(foot.depth, 0.95)[1] < math.log(0.5)
    assert foot.p_value > 0.05
    assert dip([2.0] * 3, [1.0] * 3, [2.0] * 3, 0.5).p_value == 0.0
    assert dip([2.0] * 3, [2.0] * 3, [2.0] * 3, 0.5).p_value == 1.0
    assert dip([2.0], [1.0], [2.0], 0.5).p_value == 1.0
    with pytest.raises(ValueError, match="no pairs"):
        dip([], [], [], 0.5)
    assert weight_of(16, 64, 256) == pytest.approx(0.5)
    assert weight_of(16, 32, 256) == pytest.approx(0.25)
    assert weight_of(0, 1, 4) == pytest.approx(0.25)
    found = dip([100.0] * 3, [100.0, 101.0, 99.0], [400.0] * 3, 0.5)
    assert math.exp(found.depth.difference) == pytest.approx(0.5, rel=1e-3)
    quarter = dip([100.0] * 3, [100.0, 101.0, 99.0], [400.0] * 3, 0.25)
    assert math.exp(quarter.depth.difference) == pytest.approx(1 / math.sqrt(2), rel=1e-3)


def covered(sets, draw_one, interval, truth):
    """The share of drawn sets whose interval holds the truth."""
    found = [interval(*draw_one()) for _ in range(sets)]
    return sum(one is not None and one[0] <= truth <= one[1] for one in found) / sets


@few_and_many("sets", 300, 2000)
@each("n", 3, 5, 10)
@each("paired", True, False)
def test_fieller_holds_the_ratio_of_totals(n, paired, sets):
    draw = np.random.default_rng(11)

    def one():
        shared = draw.normal(0, 0.2, n) if paired else np.zeros(n)
        arms = np.exp(draw.normal(0, 0.08, (2, n)) + shared)
        return arms[0].tolist(), (1.2 * arms[1]).tolist()

    off = chance(0.07, sets) if sets < 2000 else 0.0
    assert covered(sets, one, lambda a, b: fieller(a, b, 0.95, paired=paired), 1.2) >= 0.93 - off


def test_a_ratio_is_in_fiellers_interval_where_the_t_test_does_not_reject_it():
    draw = np.random.default_rng(2)
    a, b = draw.lognormal(0, 0.2, 6), draw.lognormal(0.1, 0.2, 6)
    for edge in fieller(a.tolist(), b.tolist(), 0.95, paired=True):
        assert scipy.stats.ttest_1samp(b - edge * a, 0).pvalue == pytest.approx(0.05)
    assert fieller([0.1, 5.0, 0.2], [1.0, 1.0, 1.1], 0.95, paired=False) is None
    with pytest.raises(ValueError, match="found 1 and 3 values"):
        fieller([1.0], [1.0, 2.0, 3.0], 0.95, paired=False)
    assert sign_test([1.0, 2.0, 3.0, 4.0, 5.0, -1.0]) == pytest.approx(scipy.stats.binomtest(5, 6).pvalue)
    assert sign_test([0.0, 0.0]) == 1.0
    assert sign_test([1.0] * 3) == pytest.approx(0.25)


@each("n confidence there", (5, 0.95, False), (6, 0.95, True), (4, 0.9, False), (5, 0.9, True))
def test_few_values_give_no_interval_of_a_median(n, confidence, there):
    assert (median_interval(list(range(n)), confidence) is not None) == there
    assert median_interval([], confidence) is None


@few_and_many("sets", 200, 400)
@each("n", 6, 10, 25)
@each("kind", "lognormal", "bimodal", "outliers")
def test_the_interval_of_a_median_covers_it_whatever_the_distribution(n, kind, sets):
    draw = np.random.default_rng(4)
    shapes = {
        "lognormal": lambda: draw.lognormal(0, 0.5, n),
        "bimodal": lambda: draw.normal(0, 0.1, n) + draw.choice([-1, 1], n) + 5,
        "outliers": lambda: draw.standard_t(1.5, n) + 5,
    }
    truth = 1.0 if kind == "lognormal" else 5.0
    assert covered(sets, lambda: (shapes[kind]().tolist(),), lambda x: median_interval(x, 0.95), truth) >= 0.93


def test_the_bootstrap_begins_at_twenty_runs_and_covers_there():
    draw = np.random.default_rng(6)
    assert resampled_ratio([1.0, 2.0] * 9, [1.0, 2.0] * 10, statistics.median, 0.95, paired=False) is None
    assert resampled_ratio([1.0] * 20, [1.0] * 20, statistics.median, 0.95, paired=False) is None, "nothing varies"

    def one():
        return draw.lognormal(0, 0.1, 20).tolist(), draw.lognormal(0, 0.1, 20).tolist()

    def interval(a, b):
        return resampled_ratio(a, b, statistics.median, 0.95, paired=False)

    assert covered(40, one, interval, 1.0) >= 0.85, "40 sets: 0.93 less two and a half standard errors"
    arms = one()
    assert interval(*arms) == interval(*arms)
