"""E09: an importer that agrees with the clock, one that leaves time out, and one that reports too much."""

import pytest

from assay.records import Direction, Severity, State
from assay.rules.importer_clock import RULE
from directory_cases import reported


def case(own_s, clock_s, own=20_002, entries=20_002):
    values = {
        "import.elapsed_ns": clock_s * 1e9,
        "importer.elapsed_ns": own_s * 1e9,
        "importer.count": float(own),
    }
    return reported("E09", "import", entries, direction=Direction.WRITE, **values)


@pytest.mark.parametrize(("own_s", "clock_s"), [(7, 7.3), (8, 7.3), (63, 66.5), (2, 3.0)])
def test_whole_seconds_agree_with_the_clock(own_s, clock_s):
    assert RULE.check(case(own_s, clock_s)).state is State.PASS


def test_time_that_the_importer_leaves_out_is_a_note():
    found = RULE.check(case(2, 8.0))
    assert (found.state, found.severity) == (State.FAIL, Severity.NOTES)
    assert "leaves out at least 62.5 % of the time" in found.statement


def test_more_time_than_the_clock_is_a_contradiction():
    found = RULE.check(case(10, 7.3))
    assert (found.state, found.severity) == (State.FAIL, Severity.INVALIDATES)


def test_other_entries_than_those_of_the_file_are_one_too():
    found = RULE.check(case(7, 7.3, own=20_001))
    assert (found.state, found.severity) == (State.FAIL, Severity.INVALIDATES)


def test_a_tool_without_a_figure_of_its_own_is_not_judged():
    assert RULE.applies(reported("E09", "import", 5)) == "the importer prints no time of its own"
    assert RULE.applies(reported("E09", "search", 5)) == "no import"
    assert RULE.applies(case(7, 7.3)) is None
