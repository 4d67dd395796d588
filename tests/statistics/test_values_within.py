"""How many values a t interval of a wanted width takes."""

import math

from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import t

from assay.statistics.intervals import LEAST, values_within


def half_width(number: int, spread: float) -> float:
    return float(t.ppf(0.975, number - 1)) * spread / math.sqrt(number)


@given(st.floats(0.001, 0.2), st.floats(0.0, 2.0))
def test_it_is_the_smallest_number_that_is_enough(wanted: float, spread: float) -> None:
    number = values_within(wanted, spread)
    assert half_width(number, spread) <= wanted * (1 + 1e-9)
    assert number == LEAST or half_width(number - 1, spread) > wanted * (1 - 1e-9)
