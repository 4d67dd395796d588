"""L02: all processors busy, one thread busy, neither."""

from array import array
from dataclasses import replace
from functools import partial

from assay.records import ABSOLUTE, Claim, Severity, State, Tier
from assay.rules.server_cpu import RULE
from audit.case_builder import SECOND, Made, case_of
from audit.case_builder import gauge as gauge_of
from stage.rows import each
from stage.said import FAIL, NOT_ASKED, NOTES, PASS, QUALIFIES, UNBOUNDED, UNVERIFIED, high, hold, low
from stage.server_cases import gauge, served

DEVICE = Claim(tier=Tier.DEVICE)


def judged(
    ran,
    busiest,
    cpus=4,
    seconds=1.0,
    *,
    unwaited=0,
    missed=0,
    host=None,
    stopped_s=0.0,
    brief=None,
    ready=None,
    at_once=(),
    **made,
):
    gauges = {"run_ns": (0, ran * SECOND), "busiest_thread_ns": (0, busiest * SECOND), "cpus": (cpus, cpus)}
    gauges |= {} if unwaited is None else {"unwaited": (0, unwaited)}
    gauges |= {} if missed is None else {"missed_ns": (0, missed * SECOND)}
    gauges |= {} if brief is None else {"brief_ns": (0, brief * SECOND)}
    gauges |= {} if ready is None else {"brief_ready_ns": (0, ready * SECOND)}
    case = served("L02", gauges=gauges, seconds=seconds, **{"claim": DEVICE, **made})
    both = () if host is None else tuple(gauge(seconds, name, (0, host * SECOND / 2)) for name in ("user_ns", "system_ns"))
    of_host = tuple(replace(one, layer="cpu", subject=ABSOLUTE) for one in both)
    stops = [
        gauge_of("cgroup", "cgroup:/q", metric, (0, rise), seconds)
        for metric, rise in (("nr_throttled", 9 if stopped_s else 0), ("throttled_ns", stopped_s * SECOND))
    ]
    times = [round((at + 0.5) / len(at_once) * seconds * SECOND) for at in range(len(at_once))]
    looks = replace(gauge(seconds, "brief_threads", (0, 0)), at_ns=array("q", times), value=array("d", at_once))
    more = (*case.observations.series, *of_host, *stops, *([looks] if at_once else []))
    return RULE.check(replace(case, observations=replace(case.observations, series=more)))


OWN = {"figure": "@local.server_cpu_share", "claim": Claim()}


def test_processes_that_ended_unwaited_may_have_used_the_rest_of_the_hosts_cpus():
    of_server = partial(judged, 0.5, 0.1, **OWN)
    hold(
        ("all is counted", of_server(host=3), PASS),
        ("its own figure lies between", of_server(unwaited=1, host=3), FAIL, QUALIFIES, low(0.5), high(3)),
        ("an idle host leaves nothing", of_server(unwaited=1, host=0.5), PASS),
        ("the host is unknown", of_server(unwaited=1), UNVERIFIED),
        ("whether some ended is unknown", of_server(unwaited=None, host=3), UNVERIFIED, "server.cgroup"),
        ("its ancestors waited for some", of_server(missed=0.25, host=3), FAIL, low(0.5), high(0.75)),
        ("they waited for more than the host did", of_server(missed=2, host=0.75), FAIL, low(0.5), high(0.75)),
        ("they waited for little", of_server(missed=0.01, host=3), PASS),
        ("what they waited for is unknown", of_server(missed=None), UNVERIFIED, "server.cgroup"),
        ("its CPUs may have been the limit", judged(0.5, 0.1, unwaited=1, host=3.9), UNVERIFIED),
        ("they cannot have been", judged(0.5, 0.1, unwaited=1, host=3), PASS),
    )


def test_a_program_before_the_server_works_for_its_clients_too():
    facts = {"between.p": "haproxy (4711)"}
    hold(
        ("its own figure is a lower bound", judged(0.5, 0.1, **OWN, facts=facts), FAIL, QUALIFIES, low(0.5)),
        ("whether CPUs were the limit", judged(0.5, 0.1, facts=facts), UNVERIFIED, "haproxy (4711)"),
        (
            "a program on its port",
            judged(0.5, 0.1, **OWN, facts={"beside.p": "python3 (7)"}),
            FAIL,
            low(0.5),
            "listens on the server's port",
        ),
        ("a server at its own limit", judged(3.9, 0.1, facts=facts), FAIL),
    )


def test_threads_that_end_with_their_connection_are_the_limit_if_they_come_one_after_the_other():
    one, whole = partial(judged, 6.0, 0.2, seconds=6), (1,) * 6
    hold(
        ("one at a time", one(brief=5.8, at_once=whole), FAIL, QUALIFIES, "limited by one thread at a time of the server"),
        ("one look between two of them", one(brief=5.8, at_once=(1, 1, 0, 1, 1, 1)), FAIL),
        ("two at once", one(brief=5.8, at_once=(2, 1, 3, 2, 2, 1)), PASS),
        ("once two", one(brief=5.8, at_once=(2, 1, 1, 1, 1, 1)), UNVERIFIED, "one at a time"),
        ("mostly none", one(brief=5.8, at_once=(1, 0, 0, 1, 0, 1)), UNVERIFIED),
        ("too few looks", one(brief=5.8, at_once=(1, 1)), UNVERIFIED),
        ("threads of a lock stay", one(brief=0.1, at_once=whole), UNVERIFIED),
        ("nobody looked", one(), UNVERIFIED),
        ("more than one CPU", judged(9.0, 0.2, seconds=6, brief=8.8, at_once=whole), PASS),
        (
            "with its wait for a CPU",
            judged(4.0, 0.2, seconds=6, brief=3.8, ready=1.9, at_once=whole),
            FAIL,
            "one thread at a time",
        ),
        ("less than one CPU", judged(5.0, 0.2, seconds=6, brief=4.8, at_once=whole), PASS),
    )


def test_all_processors_busy_qualify_a_claim_of_the_device():
    found = judged(3.8, 0.94)
    assert (found.state, found.severity) == (State.FAIL, Severity.QUALIFIES)
    assert found.relabel == "limited by the CPUs of the server"
    assert found.bound.low is not None
    assert found.bound.high is None


def test_a_latency_is_bounded_from_above():
    found = judged(1.0, 0.99, figure="latency_mean_ns")
    assert (found.bound.low, found.bound.high is not None) == (None, True)


@each("seconds", 0.1)
def test_short_phases_are_unverified(seconds):
    assert judged(0.05, 0.05, seconds=seconds).state is State.UNVERIFIED


def test_states():
    hold(
        ("one busy thread is enough", judged(1.0, 0.99), "limited by one thread of the server"),
        (
            "a quota is the limit of a server with idle processors",
            judged(0.1, 0.1, stopped_s=0.8),
            FAIL,
            "a CPU quota of the server",
        ),
        ("a quota that hardly stopped it is none", judged(0.1, 0.1, stopped_s=0.001), PASS),
        ("idle processors pass", judged(2.0, 0.5), PASS),
        ("without a claim of the device it is a note without a bound", judged(3.8, 0.99, claim=Claim()), NOTES, UNBOUNDED),
        "unread accounts are unverified",
        (RULE.check(served("L02", claim=DEVICE)), UNVERIFIED),
        (RULE.applies(case_of(Made(), "L02")), NOT_ASKED),
    )
