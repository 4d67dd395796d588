"""W01: three seconds, half a minute, a minute and a half."""

from dataclasses import replace

from assay.records import Claim, Regime, Severity, State, SteadyState
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


def tool(figure="ops_per_s", claim=None, **values):
    """A figure of an external tool, with what else it told."""
    told = {f"read.{name}": float(value) for name, value in values.items()}
    found = case_of(Made(figure=figure, values=told, claim=claim or Claim()), "W01")
    return replace(found, value=told.get(f"read.{figure}"))


def test_a_time_of_a_few_steps_of_the_tools_clock():
    """4 ms by a clock of 1 ms: half a step is an eighth of it."""
    coarse = {"ops_per_s": 25_000, "count": 100, "elapsed_ns": 4e6, "elapsed_ns_half": 5e5}
    found = RULE.check(tool(**coarse))
    assert (found.state, found.severity, found.bound) == (State.FAIL, Severity.QUALIFIES, None)
    assert "12.5 %" in found.statement
    timed = RULE.check(tool("elapsed_ns", **coarse))
    assert (timed.bound.low, timed.bound.high) == (3.5e6, 4.5e6)
    assert RULE.check(tool("elapsed_ns", elapsed_ns=0, elapsed_ns_half=5e5)).severity is Severity.INVALIDATES
    assert RULE.applies(tool(ops_per_s=1e4, count=1e5, elapsed_ns=1e10, elapsed_ns_half=5e5)) is not None


@each(
    "values is_asked",
    ({"count": 100, "elapsed_ns": 2e7}, True),
    ({"count": 100}, True),  # 100 at 25,000/s are 4 ms
    ({"count": 1000, "elapsed_ns": 2e7}, False),
    ({"count": 100, "elapsed_ns": 1e9}, False),
    ({}, False),
)
def test_a_rate_of_a_few_operations_is_that_of_beginning(values, is_asked):
    one = tool(ops_per_s=25_000, **values)
    assert (RULE.applies(one) is None) is is_asked
    if is_asked:
        assert (RULE.check(one).state, RULE.check(one).relabel) == (State.FAIL, "too few operations")
        burst = replace(one, claim=Claim(regime=Regime.BURST))
        assert RULE.applies(burst) is not None


@each(
    "argv elapsed_s is_asked",
    (("fio", "--runtime=60", "--size=1g"), 2, True),
    (("fio", "--runtime=1m"), 2, True),
    (("sh", "-c", "cd /x && ab -k -t 60 -n 100 http://h/"), 2, True),
    (("fio", "--runtime=60"), 59, False),
    (("fio", "--size=1g"), 2, False),
    (("sh", "-c", "fio --runtime=60 a; fio --runtime=9 b"), 2, False),
)
def test_a_tool_that_ended_before_its_time(argv, elapsed_s, is_asked):
    made = Made(figure="ops_per_s", values={"read.ops_per_s": 1e4, "read.elapsed_ns": elapsed_s * 1e9}, knobs={"argv": argv})
    assert (RULE.applies(case_of(made, "W01")) is None) is is_asked
    if is_asked:
        assert RULE.check(case_of(made, "W01")).detail == "2 s of 60 s"


def test_the_operations_of_a_tool_are_those_that_it_tells():
    """A command is one operation of the lab, and a minute of fio is many."""
    steady = Claim(regime=Regime.STEADY)
    made = Made(seconds=61, figure="ops_per_s", claim=steady, values={"read.ops_per_s": 500.0, "read.elapsed_ns": 6.1e10})
    assert RULE.check(case_of(made, "W01")).state is State.PASS
    few = replace(made, values={"read.ops_per_s": 5.0, "read.elapsed_ns": 6.1e10})
    assert "305 operations" in RULE.check(case_of(few, "W01")).statement
    bytes_alone = replace(made, figure="bytes_per_s", values={"read.bytes_per_s": 5e8})
    assert RULE.check(case_of(bytes_alone, "W01")).state is State.PASS


def test_a_report_that_names_the_time_of_its_job():
    values = {"read.ops_per_s": 1e4, "read.elapsed_ns": 2e9, "read.asked_ns": 3e11}
    made = Made(figure="ops_per_s", values=values)
    assert RULE.check(case_of(made, "W01")).detail == "2 s of 300 s"


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
