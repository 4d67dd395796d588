"""The five-round criterion against its definition, with the fit of numpy."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.audit import limits
from assay.statistics.steadiness import EXCURSION_SHARE, RANGE_SHARE, ROUNDS, five_rounds

rates = st.floats(0.1, 1e9)


@given(st.lists(rates, min_size=ROUNDS, max_size=12))
def test_it_is_the_range_and_the_fit_of_the_last_five(values):
    found = five_rounds(values)
    last = np.array(values[-ROUNDS:])
    line = np.polyval(np.polyfit(np.arange(ROUNDS), last, 1), [0, ROUNDS - 1])
    assert found is not None
    assert found.range_share == pytest.approx((last.max() - last.min()) / last.mean())
    assert found.excursion_share == pytest.approx(abs(line[1] - line[0]) / last.mean(), rel=1e-6, abs=1e-6)


@given(st.lists(rates, min_size=ROUNDS, max_size=ROUNDS), st.floats(1e-3, 1e3))
def test_neither_the_unit_nor_the_direction_of_time_matters(values, unit):
    forth, back = five_rounds(values), five_rounds([value * unit for value in reversed(values)])
    assert forth is not None
    assert back is not None
    assert back.range_share == pytest.approx(forth.range_share, abs=1e-9)
    assert back.excursion_share == pytest.approx(forth.excursion_share, abs=1e-9)


@pytest.mark.parametrize(
    ("values", "steady"),
    [
        ([100, 100, 100, 100, 100], True),
        ([90, 110, 90, 110, 90], False),
        ([92, 108, 92, 108, 100], True),
        ([100, 103, 106, 109, 112], False),
        ([100, 102, 104, 106, 108], True),
        ([1, 1000, 100, 100, 100, 100, 100], True),
    ],
    ids=["still", "range", "within the range", "slope", "within the slope", "only the last five count"],
)
def test_steady_is_what_neither_scatters_nor_leans(values, steady):
    found = five_rounds(values)
    assert found is not None
    assert found.within() == steady


@pytest.mark.parametrize("values", [[], [1.0] * 4, [0.0] * 5])
def test_too_few_rounds_and_rounds_of_nothing_say_nothing(values):
    assert five_rounds(values) is None


def test_the_rule_judges_by_the_same_limits_as_the_fleet_stops():
    found = limits.thresholds("W02")
    assert (found["range_share"], found["excursion_share"]) == (RANGE_SHARE, EXCURSION_SHARE)
