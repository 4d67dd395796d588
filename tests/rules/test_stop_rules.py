"""W05: arms that end alike, by time against by work, mixed within an arm, until steady, with a tail."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from assay import catalogue
from assay.records import Severity, State, StopRule
from stage import notebook_records as made
from stage.comparison_cases import case
from stage.rows import each
from stage.said import PASS, UNVERIFIED, hold

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


@each("how", "time", "work", "exit")
def test_arms_that_end_alike_pass(how):
    assert judged(lambda t: (how, how)).state is State.PASS


@each("measure severity", (made.RATE, Severity.INVALIDATES), (made.LATENCY, Severity.QUALIFIES))
def test_time_against_work_is_no_comparison(measure, severity):
    found = judged(lambda t: ("time", "time") if t.levels["target"] == "xfs" else ("work", "work"), measure)
    assert (found.state, found.severity) == (State.FAIL, severity)
    assert found.observed["candidate_time"] == 12


@given(st.integers(1, 12))
def test_one_run_that_ended_otherwise_is_enough(odd):
    found = judged(lambda t: ("time", "work") if t.id == odd else ("work", "work"))
    assert found.state is State.FAIL


def test_a_long_tail_is_told():
    assert "40 % of a run" in judged(lambda t: ("work", "work"), lasts=(0.6, 1.0)).statement
    assert "had ended already" not in judged(lambda t: ("work", "work"), lasts=(0.97, 1.0)).statement


def test_where_the_end_is_the_factor_there_is_nothing_to_judge():
    found = case("W05", lambda t: 1.0, phases=phases(lambda t: ("work", "work")), compare="spool.duration")
    assert "is the factor" in (RULE.applies(found) or "")


def test_states():
    hold(
        "phases that were to be steady end alike however long it took",
        (judged(lambda t: ("stop", "time") if t.id % 2 else ("time", "stop"), stop=StopRule.STEADY), PASS),
        "an arm without runs is unverified",
        (RULE.check(replace(case("W05", lambda t: 1.0, phases=phases(lambda t: ("work", "work"))), candidate=())), UNVERIFIED),
    )
