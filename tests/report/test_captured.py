"""The page of a capture: self-contained, three pictures, every text escaped."""

import re

import pytest

from assay.dissect import levels
from assay.report import captured
from assay.report.charts import over_time
from assay.report.charts.over_time import OverTime, TimeLine
from ldap_results import found, used


def page(made, link=None):
    return captured.render(captured.CapturePage(found=made, levels=levels.judged([], made), link=link))


def test_the_page_needs_no_network_has_three_pictures_and_escapes_texts_of_the_wire():
    text = page(found(), ("1GbE", 1.2e8))
    assert text.count("<svg") == 3
    assert "1GbE" in text
    assert not re.findall(r"(?:src|href)=\"(?!#|data:)", text)
    assert "default-src 'none'" in text
    assert "<script" not in page(found(filters=[used("(a<script>alert(1)</script>=?)", 3)]))
    made = found(search=0, frames=0, messages=0)
    empty = {
        **made.values["timeline"],
        **{name: [] for name in ("bytes", "frames", "answered", "response_sum_ns", "response_max_ns")},
    }
    text = page(found(search=0, frames=0, messages=0, timeline={**empty, "requests": {}}))
    assert "No frames." in text
    assert "<svg" not in text


def test_lines_have_steps_end_where_there_is_nothing_and_go_by_powers_of_ten_where_far_apart():
    chart = OverTime(title="t", sentence="s", interval_s=2.0, lines=(TimeLine(name="a", values=(1.0, None, 3.0)),), shown=str)
    inside = over_time.drawn(chart).inside
    (path,) = re.findall(r'<path d="([^"]+)"', inside)
    assert path.count("M") == 2
    assert path.count("H") == 2
    assert [over_time.nice(value) for value in (0.3, 1, 1.1, 4, 70)] == [0.5, 1, 2, 5, 100]
    lines = (TimeLine(name="mean", values=(2e5, 3e5)), TimeLine(name="longest", values=(4e6, 2e9)))
    near = OverTime(title="t", sentence="s", interval_s=1.0, lines=lines[:1], shown=str, by_tens=True)
    far = OverTime(title="t", sentence="s", interval_s=1.0, lines=lines, shown=str, by_tens=True)
    assert over_time.scale_of(near).marks[0] == 0
    scale = over_time.scale_of(far)
    assert scale.marks == (1e5, 1e6, 1e7, 1e8, 1e9, 1e10)
    heights = [scale.height(mark) for mark in scale.marks]
    assert heights == sorted(heights, reverse=True)
    assert heights[0] - heights[1] == pytest.approx(heights[-2] - heights[-1])
    assert "NaN" not in over_time.drawn(far).inside


def test_the_names_of_many_lines_are_below_the_title_and_their_colours_tell_them_apart():
    kinds = ("search", "bind", "compare", "modify", "add", "delete", "rename", "extended", "abandon", "unbind")
    lines = tuple(TimeLine(name=name, values=(1.0,)) for name in kinds)
    for count, height in ((2, 18), (10, 34)):
        chart = OverTime(title="Operations by kind", sentence="s", interval_s=1.0, lines=lines[:count], shown=str)
        inside = over_time.drawn(chart).inside
        assert re.findall(r'y="([\d.]+)"[^>]*>search<', inside) == [f"{height:.1f}"]
        strokes = re.findall(r'<path [^>]*?(stroke="var[^/]+)/>', inside)
        assert len(set(strokes)) == count
