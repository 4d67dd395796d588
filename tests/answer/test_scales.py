"""Figures as people read them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.answer import scales

THIN = scales.NARROW


def test_show(subtests):
    for value, unit, text in [
        (4.1e9, "bytes/s", f"4.10{THIN}GB/s"),
        (12345.6, "1/s", "12,346/s"),
        (1.9e6, "ns", f"1.90{THIN}ms"),
        (0.3412, "share", f"34.1{THIN}%"),
        (0.0, "bytes/s", f"0{THIN}B/s"),
        (1.38, "", "1.38"),
        (None, "ns", "–"),
        (1_234_567.0, "1/s", "1,234,567/s"),
        (2.5e4, "ns", f"25{THIN}µs"),
        (0.058, "share", f"5.8{THIN}%"),
    ]:
        with subtests.test(value=value):
            assert scales.show(value, unit) == text


def test_ranges_share_a_scale_and_may_be_open():
    assert scales.show_range(9.8e8, 1.1e9, "bytes/s") == f"0.980 to 1.10{THIN}GB/s"
    assert scales.show_range(None, 8.2e7, "bytes/s") == f"at most 82.0{THIN}MB/s"
    assert scales.show_range(8.2e7, None, "bytes/s") == f"at least 82.0{THIN}MB/s"
    assert scales.show_range(4813.0, 7390.0, "1/s") == "4,813 to 7,390/s"
    assert scales.show_range(None, None, "bytes/s") == ""


def test_a_tiny_share_is_not_nothing():
    assert scales.share(0.0004) == f"<{THIN}0.1{THIN}%"
    assert scales.share(0.0) == f"0{THIN}%"


@given(st.floats(min_value=0.001, max_value=1e14))
def test_three_figures_are_kept(value):
    assert float(scales.number(value).replace(",", "")) == pytest.approx(value, rel=0.0051)
