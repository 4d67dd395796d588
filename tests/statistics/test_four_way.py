import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.records import Conclusion
from assay.statistics.contrast import four_way

M = math.log(1.05)


@pytest.mark.parametrize(
    ("wide", "narrow", "expected"),
    [
        ((M + 0.01, 0.2), (M + 0.02, 0.15), Conclusion.MATTERS),
        ((-0.2, -M - 0.01), (-0.15, -M - 0.02), Conclusion.MATTERS),
        ((-0.01, 0.02), (-0.005, 0.015), Conclusion.EQUIVALENT),
        ((0.001, 0.02), (0.003, 0.018), Conclusion.IMMATERIAL),
        ((-0.02, -0.001), (-0.018, -0.003), Conclusion.IMMATERIAL),
        ((-0.02, 0.06), (-0.01, 0.045), Conclusion.EQUIVALENT),
        ((-0.02, 0.06), (-0.01, 0.05), Conclusion.UNDECIDED),
        ((0.01, 0.2), (0.02, 0.18), Conclusion.UNDECIDED),
        ((-math.inf, math.inf), (-math.inf, math.inf), Conclusion.UNDECIDED),
    ],
)
def test_the_first_match_wins(wide, narrow, expected):
    assert four_way(wide, narrow, 0.05) is expected


@given(st.floats(-0.5, 0.5), st.floats(0, 0.5), st.floats(0.001, 0.5))
def test_turning_the_arms_round_changes_nothing(centre, half, matters):
    wide, narrow = (centre - half, centre + half), (centre - 0.8 * half, centre + 0.8 * half)
    back = four_way((-wide[1], -wide[0]), (-narrow[1], -narrow[0]), matters)
    assert four_way(wide, narrow, matters) is back
