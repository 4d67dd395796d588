"""L09: idle and busy threads and devices, rates that were flat and not, limits that are known, what nobody watched."""

from dataclasses import replace

from assay.records import Direction, EngineCost, Limit, LoadTotal, Severity, State
from assay.rules.no_limiter import RULE
from audit.case_builder import SECOND, Made, case_of, gauge, progress
from stage import time_cases
from stage.rows import each
from stage.said import ASKED, FAIL, NOT_ASKED, PASS, UNVERIFIED, hold
from stage.server_cases import counted, fact
from stage.server_cases import gauge as server_gauge

SECONDS = 10.0


def case(*, cpu_s=0.5, ready_s=0.0, device_s=1.0, parts=(100,) * 10, rules=None, **made):
    found = case_of(Made(count=sum(parts), seconds=SECONDS, **made), "L09")
    cost = EngineCost(cpu_user_ns=0, cpu_system_ns=round(cpu_s * SECOND))
    clients = tuple(replace(one, cost=cost) for one in found.phase.clients)
    series = [
        progress("read.count", parts, SECONDS / len(parts)),
        gauge("process", "pid:100", "run_delay_ns", (0.0, ready_s * SECOND), SECONDS),
    ]
    if device_s is not None:
        series.append(gauge("block", "device:vda", "io_ticks", (0.0, device_s * 1000), SECONDS))
    if rules:
        series.append(gauge("cgroup", "device:vda", rules, (400.0, 400.0), SECONDS))
    observations = replace(found.observations, series=(*found.observations.series, *series))
    return replace(found, phase=replace(found.phase, clients=clients), observations=observations)


def test_where_nothing_was_busy_it_is_noted():
    found = RULE.check(case())
    assert (found.state, found.severity, found.bound, found.relabel) == (State.FAIL, Severity.NOTES, None, None)
    assert "5 %" in found.statement


@each(
    "seen state",
    ({"device_s": 6.5}, State.PASS),
    ({"device_s": 6.4}, State.FAIL),
    ({"cpu_s": 6.0}, State.PASS),
    ({"cpu_s": 1.0, "ready_s": 5.0}, State.PASS),
    ({"cpu_s": 3.6, "device_s": 3.5}, State.PASS),
)
def test_the_thread_and_the_device_may_fill_the_time_one_after_the_other(seen, state):
    assert RULE.check(case(**seen)).state is state


def behind(*, line_bytes_per_s=None, thread_s=0.0):
    """A load whose thread and device rest, and a server of which its busiest thread and the way to it were seen."""
    one = case()
    seen, thread = one.observations, server_gauge(SECONDS, "busiest_thread_ns", (0.0, thread_s * SECOND))
    facts = () if line_bytes_per_s is None else (fact("limit_bytes_per_s", str(line_bytes_per_s)),)
    sent = counted(SECONDS, "L4", "write", 90_000_000)
    there = replace(seen, readings=(*seen.readings, sent), series=(*seen.series, thread), facts=(*seen.facts, *facts))
    return RULE.check(replace(one, observations=there))


@each(
    "seen state",
    ({"line_bytes_per_s": 10_000_000}, State.PASS),
    ({"line_bytes_per_s": 20_000_000}, State.FAIL),
    ({}, State.FAIL),
    ({"thread_s": 9.0}, State.PASS),
    ({"thread_s": 2.0}, State.FAIL),
)
def test_a_server_and_the_way_to_it_are_watched_too(seen, state):
    found = behind(**seen)
    assert found.state is state
    assert ("the way to the server for" in found.statement) == ("line_bytes_per_s" in seen)


def test_paced_loads_and_external_tools_ask_for_what_they_get():
    one = case()
    load = LoadTotal(late=0, unstarted=0, backlog_max_ns=0)
    clients = tuple(replace(client, load=load) for client in one.phase.clients)
    assert RULE.applies(replace(one, phase=replace(one.phase, clients=clients))) is not None
    assert RULE.applies(case(knobs={"think": 1000})) is not None
    assert RULE.applies(case(values={"read.bytes_per_s": 1e6})) is not None


def test_states():
    hold(
        "threads share the time",
        (RULE.check(case(cpu_s=11.9, workers=2)), FAIL),
        (RULE.check(case(cpu_s=12.1, workers=2)), PASS),
        "a rate that changed was held back by what changed",
        (RULE.check(case(parts=(140,) * 5 + (60,) * 5)), PASS),
        (RULE.check(case(parts=(105,) * 5 + (95,) * 5)), FAIL),
        ("what nobody watched is unverified", RULE.check(case(device_s=None)), UNVERIFIED),
        "a known limit is told by others",
        (
            RULE.applies(case(limits=(Limit(device="vda", direction=Direction.READ, ops_per_s=400, declared_by="target disk"),))),
            NOT_ASKED,
        ),
        (RULE.applies(case(rules="limit_read_ops_per_s")), NOT_ASKED),
        (RULE.applies(case()), ASKED),
    )


def tool(**shares):
    """An external tool of which looks at its threads tell what they did."""
    one = case(values={"read.bytes_per_s": 1e6})
    looks = time_cases.series(
        SECONDS, load=time_cases.counted(time_cases.course({("tool", state): share for state, share in shares.items()}))
    )
    return replace(one, observations=replace(one.observations, series=(*one.observations.series, *looks)))


def test_of_an_external_tool_looks_at_its_threads_tell():
    hold(
        (RULE.applies(tool(sleep=1.0)), ASKED),
        (RULE.check(tool(sleep=0.9, running=0.1)), FAIL, "it slept (90 %)"),
        (RULE.check(tool(read_file=1.0)), FAIL, "no device here was busy"),
        (RULE.check(tool(running=0.9, sleep=0.1)), PASS),
        (RULE.check(tool(running=0.5, sleep=0.5)), PASS),
    )
