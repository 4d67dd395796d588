"""From findings to a bound and a state: bounds that exclude each other are an error, and wide ones bound nothing."""

from dataclasses import replace

import pytest

from assay.audit import judge
from assay.audit.verdicts import common_bound, exclusive, state_of
from assay.records import Bound, Meaning, Severity, State, VerdictState
from audit.case_builder import Made, case_of
from stage import notebook_records as made
from stage.rows import each

VALUE = 100.0


def failed(rule, low, high, part="tier", severity=Severity.QUALIFIES):
    one = replace(made.finding("run:0001/1:m", State.FAIL), rule=rule, part=part, severity=severity)
    return replace(one, bound=Bound(low=low, high=high, unit="1/s"))


def noise(rule, most):
    return failed(rule, VALUE, most, part="noise")


@each(
    "findings low high",
    ((failed("T06", None, 80.0), failed("D01", 20.0, 90.0)), 20.0, 80.0),
    ((noise("N02", 110.0), noise("N03", 120.0)), VALUE, 132.0),  # their effects multiply
    ((failed("L01", VALUE, None), failed("T02", None, 24.2)), None, 24.2),  # what is reckoned from a false value says nothing
    ((failed("L03", VALUE, None), failed("T02", None, 0.0)), None, 0.0),
    ((noise("N03", 120.0), failed("T06", None, 24.2)), None, 24.2),
    ((failed("T06", None, 24.2), failed("D03", 74.2, None)), None, None),
)
def test_bounds_are_never_a_range_that_they_exclude(findings, low, high):
    bound = common_bound(findings, VALUE)
    assert (bound and bound.low, bound and bound.high) == (low, high)
    assert (exclusive(findings, VALUE) is not None) == (low is None and high is None)


def test_no_bound_ends_above_what_the_path_of_the_lab_lets_through():
    found = [noise("N02", 220.0)]
    ranges = [most and Bound(low=None, high=most, unit="") for most in (None, 150.0, 90.0)]
    assert [common_bound(found, VALUE, one).high for one in ranges] == [pytest.approx(220.0), 150.0, VALUE]
    states = [state_of(found, (), VALUE, 2.0, one) for one in ranges[:2]]
    assert states == [VerdictState.TAINTED, VerdictState.BOUNDED]


def test_of_a_figure_of_0_the_farthest_end_is_its_bound():
    both = (failed("W12", 0.0, 0.25), failed("N02", 0.0, 0.0, part="noise"))
    assert common_bound(both, 0.0) == Bound(low=0.0, high=0.25, unit="1/s")


def test_bounds_that_exclude_each_other_are_an_error_of_the_evidence():
    case = case_of(Made(), "E05")
    passed = replace(made.finding("run:0001/1:m"), rule="E05")
    both = (failed("T06", None, 24.2), failed("D03", 74.2, None), passed)
    (error,) = (one for one in judge.without_contradiction(case, both) if one.rule == "E05")
    assert (error.state, error.severity) == (State.FAIL, Severity.INVALIDATES)
    assert "T06" in error.statement
    assert "D03" in error.statement
    assert judge.without_contradiction(case, (both[0], passed)) == (both[0], passed)


@each(
    "bound factor state",
    ((100.0, 190.0), 2.0, VerdictState.BOUNDED),
    ((100.0, 210.0), 2.0, VerdictState.TAINTED),
    ((100.0, 210.0), 3.0, VerdictState.BOUNDED),
    ((0.0, 100.0), 2.0, VerdictState.TAINTED),
    ((None, 100.0), 2.0, VerdictState.BOUNDED),  # a limit is a bound
)
def test_bounds_further_apart_than_a_factor_bound_nothing(bound, factor, state):
    assert state_of([failed("N03", *bound)], (), VALUE, factor) is state


@each(
    "bound factor state",
    ((None, 60.0), 2.0, VerdictState.BOUNDED),
    ((None, 40.0), 2.0, VerdictState.TAINTED),  # 100 was printed, and 40 is the most that is true
    ((None, 40.0), 3.0, VerdictState.BOUNDED),
    ((190.0, None), 2.0, VerdictState.BOUNDED),
    ((210.0, None), 2.0, VerdictState.TAINTED),
    ((210.0, 220.0), 2.0, VerdictState.TAINTED),
)
def test_a_figure_that_is_far_from_its_own_bound_is_no_bounded_one(bound, factor, state):
    assert state_of([failed("T07", *bound)], (), 100.0, factor) is state


@each(
    "low high state",
    (VALUE, None, VerdictState.TAINTED),  # what the disk would do without the limit is not known
    (VALUE, 130.0, VerdictState.BOUNDED),  # a quota that stopped it for less than a quarter of the time
)
def test_a_figure_of_a_limit_is_bounded_on_both_sides_or_not_at_all(low, high, state):
    held = replace(failed("L06", low, high, part="load"), meaning=Meaning.QUOTA)
    assert state_of([held], (), VALUE, 2.0) is state
