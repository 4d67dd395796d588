"""G01: an open load, a closed one that is called open, tools that pace themselves and tools of which nothing is known."""

from dataclasses import replace

from assay.records import Claim, Load, LoadTotal, Severity, State
from assay.rules.coordinated_omission import RULE
from audit.case_builder import Made, case_of
from stage.rows import each
from stage.said import FAIL, PASS, UNVERIFIED, hold

OPEN = Claim(load=Load.OPEN)
MS = 1_000_000


def case(*, rated=False, argv=None, **made):
    knobs = {"argv": argv} if argv else {}
    described = {"claim": OPEN, "figure": "latency_p99_ns", "record_bytes": 4096, "knobs": knobs, **made}
    found = case_of(Made(**described), "G01")
    load = LoadTotal(late=0, unstarted=0, backlog_max_ns=0) if rated else None
    return replace(found, phase=replace(found.phase, clients=tuple(replace(one, load=load) for one in found.phase.clients)))


@each("claim", Claim(), Claim(load=Load.CLOSED))
def test_users_who_wait_are_no_fault(claim):
    assert RULE.applies(case(claim=claim)).startswith("load = open is not claimed")
    assert RULE.applies(case()) is None


@each(
    "figure severity",
    ("latency_p99_ns", Severity.INVALIDATES),
    ("ops_per_s", Severity.INVALIDATES),
    ("cpu_ns_per_op", Severity.NOTES),
)
def test_a_closed_loop_is_not_open(figure, severity):
    one = case(figure=figure)
    found = RULE.check(one)
    assert (found.state, found.severity) == (State.FAIL, severity)
    if figure.startswith("latency"):
        assert (found.bound.low, found.bound.high) == (one.value, None)
    else:
        assert found.bound is None


def test_workers_that_each_take_as_long_as_their_interval_left_nothing_out():
    found = RULE.check(case(count=1000, workers=4, latencies_ns=(4 * MS,) * 1000))
    assert found.observed == {"interval_ns": 4 * MS, "missing_share": 0.0}
    assert found.state is State.FAIL, "the load was closed nevertheless"


def test_nothing_done_has_no_interval():
    assert RULE.check(case(count=0, timed=0)).observed["interval_ns"] is None


def told(longest_ms, *, count=1000.0, **more):
    values = {"read.latency_p99_ns": 2.0 * MS, "read.latency_max_ns": longest_ms * MS, "read.count": count}
    return case(values=values, **{"argv": ("/usr/bin/fio", "--rate_iops=100", "--rw=read"), **more})


@each("longest state", (60.0, State.UNVERIFIED), (110.0, State.UNVERIFIED), (130.0, State.FAIL))
def test_the_longest_latency_alone_may_leave_out_more_than_lie_beyond_the_percentile(longest, state):
    assert RULE.check(told(longest)).state is state


def test_where_no_load_is_claimed_a_paced_tool_gets_a_note():
    one = told(130.0, claim=Claim())
    assert RULE.applies(one) is None
    found = RULE.check(one)
    assert (found.state, found.severity, found.relabel, found.bound) == (State.FAIL, Severity.NOTES, None, None)
    assert RULE.applies(told(130.0, claim=Claim(load=Load.CLOSED))) is not None


@each("argv", ("fio", "--rw=read"), ("/usr/bin/fio", "--rate_iops=100,200"), ("dd",))
def test_tools_that_wait_for_their_answers(argv):
    found = RULE.check(case(values={"read.latency_p99_ns": 2.0 * MS}, argv=argv))
    assert (found.state, found.severity) == (State.FAIL, Severity.INVALIDATES)


@each("argv", ("wrk2", "-R100"), ("sh", "-c", "fio --rw=read"), None)
def test_of_other_tools_it_is_not_known(argv):
    assert RULE.check(case(values={"read.latency_p99_ns": 2.0 * MS}, argv=argv)).state is State.UNVERIFIED


def test_states():
    hold(
        ("what was due at times of its own passes", RULE.check(case(rated=True)), PASS),
        # 999 operations of 0.5 ms and one of 500.5 ms in a second: one a millisecond, so 499 more would have waited.
        "what a stall left out is counted",
        (
            RULE.check(case(count=1000, seconds=1.0, latencies_ns=(MS // 2,) * 999 + (500 * MS + MS // 2,))),
            {"interval_ns": MS},
            {"missing_share": 0.499},
            "1 ms",
        ),
        "a paced tool whose longest latency is below its interval left nothing out",
        (RULE.check(told(9.0)), PASS, {"interval_ns": 10 * MS}),
        ("of a mean and of the longest nothing may be missing", RULE.check(told(30.0, figure="latency_max_ns")), FAIL),
        "a tool that does not tell its longest latency is unverified",
        (RULE.check(case(values={"read.latency_p99_ns": 2.0 * MS}, argv=("fio", "--rate_iops=100"))), UNVERIFIED),
    )
