import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.statistics.multiple_comparisons import holm


def test_a_worked_example():
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx((0.03, 0.06, 0.06, 0.02))
    assert holm([]) == ()


@given(st.lists(st.floats(0, 1), min_size=1, max_size=12))
def test_never_below_the_p_value_and_in_its_order(values):
    adjusted = holm(values)
    assert all(value <= new <= 1 for value, new in zip(values, adjusted, strict=True))
    assert min(adjusted) == pytest.approx(min(1, len(values) * min(values)))
    order = sorted(range(len(values)), key=values.__getitem__)
    assert [adjusted[i] for i in order] == sorted(adjusted)
