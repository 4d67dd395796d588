"""W05: arms that end alike, by time against by work, mixed within an arm, until steady, with a tail."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

import notebook_records as made
from assay import catalogue
from assay.records import Severity, State, StopRule
from comparison_cases import case

RULE = catalogue.find("rules", "stop_rules")
SECOND = 10**9


def phases(stopped, stop=StopRule.WORK, lasts=(1.0, 1.0)):
    """Two clients of each run, `stopped(trial)` by this; `lasts` are their times in s."""

    def made_of(t):
        clients = [made.client(index, 0, round(seconds * SECOND)) for index, seconds in enumerate(lasts)]
        ended = [replace(one, stopped_by=how) for one, how in zip(clients, stopped(t), strict=True)]
        return replace(made.phase(ended), stop=stop)

    return made_of


def judged(stopped, measure=made.RATE, **given):
    return RULE.check(case("W05", lambda t: 1.0, measure=measure, phases=phases(stopped, **given)))


@pytest.mark.parametrize("how", ["time", "work", "exit"])
def test_arms_that_end_alike_pass(how):
    assert judged(lambda t: (how, how)).state is State.PASS


@pytest.mark.parametrize(("measure", "severity"), [(made.RATE, Severity.INVALIDATES), (made.LATENCY, Severity.QUALIFIES)])
def test_time_against_work_is_no_comparison(measure, severity):
    found = judged(lambda t: ("time", "time") if t.levels["target"] == "xfs" else ("work", "work"), measure)
    assert (found.state, found.severity) == (State.FAIL, severity)
    assert "ext4: 12 by work; xfs: 12 by time" in found.statement
    assert found.observed["candidate_time"] == 12


@given(st.integers(1, 12))
def test_one_run_that_ended_otherwise_is_enough(odd):
    found = judged(lambda t: ("time", "work") if t.id == odd else ("work", "work"))
    assert found.state is State.FAIL


def test_phases_that_were_to_be_steady_end_alike_however_long_it_took():
    stopped = lambda t: ("stop", "time") if t.id % 2 else ("time", "stop")  # noqa: E731
    found = judged(stopped, stop=StopRule.STEADY)
    assert (found.state, "by steady state" in found.statement) == (State.PASS, True)


def test_a_long_tail_is_told():
    assert "40 % of a run" in judged(lambda t: ("work", "work"), lasts=(0.6, 1.0)).statement
    assert "had ended already" not in judged(lambda t: ("work", "work"), lasts=(0.97, 1.0)).statement


def test_where_the_end_is_the_factor_there_is_nothing_to_judge():
    found = case("W05", lambda t: 1.0, phases=phases(lambda t: ("work", "work")), compare="spool.duration")
    assert "is the factor" in (RULE.applies(found) or "")


def test_an_arm_without_runs_is_unverified():
    one = case("W05", lambda t: 1.0, phases=phases(lambda t: ("work", "work")))
    assert RULE.check(replace(one, candidate=())).state is State.UNVERIFIED
