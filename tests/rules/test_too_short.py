"""W01: three seconds, half a minute, a minute and a half."""

from dataclasses import replace

from assay.records import Claim, Regime, State, SteadyState
from assay.rules.too_short import RULE
from audit.case_builder import Made, case_of
from stage.rows import each
from stage.said import FAIL, INVALIDATES, PASS, QUALIFIES, UNVERIFIED, hold


def judged(seconds, count=20_000, figure="ops_per_s"):
    made = Made(seconds=seconds, count=count, record_bytes=4096, figure=figure, claim=Claim(regime=Regime.STEADY))
    return RULE.check(case_of(made, "W01"))


@each("round_s state", (5, State.FAIL), (12, State.PASS))
def test_of_a_phase_that_ran_until_it_was_steady_its_steady_rounds_count(round_s, state):
    made = Made(seconds=90, count=20_000, record_bytes=4096, figure="ops_per_s", claim=Claim(regime=Regime.STEADY))
    case, end, each = case_of(made, "W01"), 80 * 10**9, round_s * 10**9
    steady = SteadyState(reached=True, round_ns=each, rounds=9, from_ns=end - 5 * each, to_ns=end)
    found = RULE.check(replace(case, phase=replace(case.phase, steady=steady)))
    assert found.state is state
    assert found.observed["seconds"] == 5 * round_s
    assert (found.detail == "25.0 s") is (state is State.FAIL)
    never = replace(steady, reached=False, from_ns=None, to_ns=None)
    assert RULE.check(replace(case, phase=replace(case.phase, steady=never))).state is State.PASS


def test_states():
    hold(
        "three seconds are invalid and half a minute qualifies",
        (judged(3), INVALIDATES),
        (judged(30), FAIL, QUALIFIES),
        ("a minute and a half passes", judged(90), PASS),
        "percentile needs a hundred beyond it",
        (judged(90, count=9_000, figure="latency_p99_ns"), FAIL),
        (judged(90, count=10_100, figure="latency_p99_ns"), PASS),
        ("nothing done is unverified", judged(90, count=0), UNVERIFIED),
    )
