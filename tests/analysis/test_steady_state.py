"""Steady states within a trial: the sentence and the numbers of courses whose truth is known."""

import math
import random
import re
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.analysis.steady_state import courses
from assay.answer.wording.steady import statement as said
from assay.plain import from_plain, to_plain
from assay.records import Course, CourseKind, CourseState, SteadyState
from stage import notebook_records as made
from stage.course_cases import LATENCY, noise, of, scene
from stage.rows import each


def test_a_steady_rate_says_its_mean_with_an_interval_and_its_batches():
    found = of(noise("steady"))
    assert found.state is CourseState.STEADY
    assert (found.changes, found.before, found.drift_share) == ((), None, None)
    assert found.steady_from_ns == found.from_ns == 0
    assert found.mean.low < 1000 < found.mean.high
    assert found.mean.high - found.mean.low < 30
    assert 5 <= found.mean.n <= 20
    assert said(found).startswith(f"steady from the beginning; {found.mean.n} batches; mean ")
    assert re.search(r"; no change point of [234](\.\d)? % or more$", said(found))
    assert found.false_alarm_share == 0.05


def test_a_warm_up_is_cut_off_and_said():
    values = [value * (0.4 if at < 12 else 1.0) for at, value in enumerate(noise("warm"))]
    found = of(values, start_ns=5_000_000_000)
    assert found.state is CourseState.STEADY
    assert 6.0e9 <= found.steady_from_ns <= 8.5e9, "1.2 s after the phase began, or a little later"
    assert found.before < 900 < found.mean.low < 1000 < found.mean.high
    assert "steady from 1." in said(found) or "steady from 2." in said(found)
    assert "less; " in said(found)
    assert said(found).endswith(" % or more after that")


def test_a_fall_is_named_with_its_time_and_size():
    values = [value * (0.88 if at >= 34 else 1.0) for at, value in enumerate(noise("fall", spread=0.01))]
    found = of(values, start_ns=2_000_000_000)
    (point,) = found.changes
    assert found.state is CourseState.NOT_STEADY
    assert point.at_ns == pytest.approx(5.4e9, abs=0.1e9)
    assert point.change_share == pytest.approx(-0.12, abs=0.01)
    assert re.fullmatch(
        r"not steady: falls by 1[12](\.\d)? % at 3\.40 s; 1 change point; levels between 8[78]\d/s and (99\d|1,00\d)/s",
        said(found),
    )
    assert found.steady_from_ns is None


def test_a_better_beginning_is_credit_and_no_warm_up():
    rates = [value * (1.5 if at < 12 else 1.0) for at, value in enumerate(noise("credit", spread=0.01))]
    assert said(of(rates)).startswith("not steady: falls by 33")
    slow = of(rates, LATENCY)
    assert said(slow).startswith("not steady: rises by 49"), "latencies that begin low"
    assert of([2000 - rate for rate in rates], LATENCY).state is CourseState.STEADY, "and those that begin high warm up"


def test_a_dip_has_two_change_points_and_a_drift_is_no_row_of_them():
    found = of([value * (0.7 if 48 <= at < 72 else 1.0) for at, value in enumerate(noise("dip"))])
    assert [round(point.at_ns / 1e9, 1) for point in found.changes] == [4.8, 7.2]
    assert "2 change points, at 4.80 s and 7.20 s" in said(found)
    found = of([value * (1.3 - 0.6 * at / 120) for at, value in enumerate(noise("drift", spread=0.01))])
    assert found.state is CourseState.NOT_STEADY
    assert found.drift_share == pytest.approx(-0.6, abs=0.05)
    assert said(found).startswith("not steady: falls throughout, by ")
    assert "change point" not in said(found)


def test_a_change_of_less_than_matters_is_none():
    values = [value * (0.97 if at >= 60 else 1.0) for at, value in enumerate(noise("small", spread=0.002))]
    asked, run, seen = scene(values)
    assert courses(asked, run, seen)[made.RATE].state is CourseState.STEADY
    strict = courses(replace(asked, matters_share=0.01), run, seen)[made.RATE]
    assert (strict.state, len(strict.changes)) == (CourseState.NOT_STEADY, 1)


def test_a_percentile_is_told_by_its_mean_latency():
    found = of([value * (0.5 if at >= 60 else 1.0) for at, value in enumerate(noise("latency", spread=0.01))], LATENCY)
    assert (found.kind, found.unit) == (CourseKind.LATENCY, "ns")
    assert found.state is CourseState.NOT_STEADY
    assert said(found).startswith("not steady: rises by ")
    assert " at 6 s; 1 change point; levels between " in said(found)
    steady = of(noise("level"), LATENCY)
    assert "; mean latency " in said(steady)


def test_where_there_is_no_course_it_is_said():
    assert said(of(noise("few", 12))) == "unknown: 12 samples, 20 needed"
    external = of(noise("external"), values={"create.ops_per_s": 1000.0})
    assert (external.state, said(external)) == (CourseState.UNKNOWN, "unknown: no samples within the phase")
    asked, run, seen = scene(noise("apart"), clients=2)
    (phase,) = run.phases
    first, second = phase.clients
    (total,) = second.operations
    late = replace(second, operations=(replace(total, first_ns=13 * 10**9, last_ns=25 * 10**9),))
    apart = replace(run, phases=(replace(phase, clients=(first, late)),))
    found = courses(asked, apart, seen)[made.RATE]
    assert said(found) == "unknown: at no moment all 2 clients ran"
    together = courses(asked, run, seen)[made.RATE]
    assert (together.clients, together.state) == (2, CourseState.STEADY)
    asked, run, seen = scene(noise("none"))
    (measure, _) = asked.measures
    others = replace(asked, measures=(replace(measure, figure="@local.cpu_share"), replace(measure, operation="list")))
    assert courses(others, run, seen) == {}


@each(
    "state text",
    (
        SteadyState(reached=True, round_ns=10**9, rounds=12, from_ns=7 * 10**9, to_ns=12 * 10**9),
        "steady from 7 s on, five rounds of 1 s alike; ",
    ),
    (SteadyState(reached=False, round_ns=10**9, rounds=12), "not steady: no five consecutive rounds alike in 12 rounds of 1 s"),
)
def test_rounds_are_said_where_there_are_some(state, text):
    found = of(noise("rounds", spread=0.01), steady=state)
    assert said(found).startswith(text)
    assert (found.rounds.number, found.rounds.alike) == (12, state.reached)


def test_of_a_rate_that_remembers_itself_for_long_nothing_is_said():
    draw, state, values = random.Random("memory"), 0.0, []
    for _ in range(120):
        state = 0.9 * state + math.sqrt(1 - 0.81) * draw.gauss(0, 1)
        values.append(1000 * (1 + 0.15 * state))
    found = of(values)
    assert (found.mean.low, found.mean.n) == (None, 0)
    assert (found.state, found.changes) == (CourseState.UNKNOWN, ())
    assert re.match(r"unknown: noise hides level changes below \d\d", said(found))
    assert "/s, no confidence interval: autocorrelation time " in said(found)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(0, 10_000), min_size=1, max_size=150))
def test_whatever_went_on_a_sentence_comes_out_and_the_record_survives_json(rates):
    for found in courses(*scene([float(rate) for rate in rates])).values():
        assert said(found)
        assert said(found).startswith(found.state.value)
        assert from_plain(Course, to_plain(found)) == found
        inside = [point.at_ns for point in found.changes]
        assert inside == sorted(inside)
        assert all(found.from_ns < at < found.to_ns for at in inside)
        assert (found.steady_from_ns is None) is (found.state is not CourseState.STEADY)
