"""L09: waits that nothing here explains and those that something does, limits that are known, what nobody watched."""

from dataclasses import replace

from assay.records import Direction, Limit, LoadTotal, Rung, Severity, State
from assay.rules.no_limiter import RULE
from audit.case_builder import Made, case_of, gauge, reading
from stage import time_cases
from stage.said import ASKED, FAIL, NOT_ASKED, PASS, UNVERIFIED, hold

SECONDS = 10.0


def states(process, shares):
    return time_cases.counted(time_cases.course({(process, state): share for state, share in shares.items()}))


def case(*, busy=0.0, in_flight=1.0, server=None, rules=None, load=None, **made):
    """A load whose threads were looked at, with a disk that had requests for a share of the time."""
    found = case_of(Made(count=1000, seconds=SECONDS, **made), "L09")
    groups = {"load": states("tool", load)} if load else {}
    groups |= {"server": states("slapd", server)} if server else {}
    more = [*time_cases.series(SECONDS, **groups)] if groups else []
    if busy is not None:
        rises = {"io_ticks": busy, "read_ticks": busy * in_flight, "write_ticks": 0.0, "flush_ticks": 0.0}
        more += [gauge("block", "device:vda", name, (0.0, one * SECONDS * 1000), SECONDS) for name, one in rises.items()]
    if rules:
        more.append(gauge("cgroup", "device:vda", rules, (400.0, 400.0), SECONDS))
        more.append(gauge("block", "device:vda", "read_operations", (0.0, 400 * SECONDS), SECONDS))
    passed = reading(Rung.LOWEST_DEVICE, "device:vda", Direction.READ, (10**6, 1000), seconds=SECONDS)
    seen = found.observations
    there = replace(seen, series=(*seen.series, *more), readings=(*seen.readings, passed))
    return replace(found, observations=there)


def test_a_sleep_is_noted_and_says_for_how_long():
    found = RULE.check(case(load={"sleep": 0.9, "running": 0.1}))
    assert (found.state, found.severity, found.bound, found.relabel) == (State.FAIL, Severity.NOTES, None, None)
    assert "it slept (90 %)" in found.statement


def test_waits_that_something_explains_are_named_and_those_that_nothing_does_are_noted():
    reads, asks = {"read_file": 1.0}, {"read_socket": 1.0}
    hold(
        (RULE.check(case(load={"running": 0.9, "sleep": 0.1})), PASS, "cpu"),
        (RULE.check(case(load={"running": 0.5, "sleep": 0.5})), PASS, "No wait"),
        (RULE.check(case(load=reads, busy=0.9)), PASS, "one request"),
        (RULE.check(case(load=reads, busy=0.9, in_flight=8)), PASS, "device"),
        (RULE.check(case(load=reads, busy=0.1)), FAIL, "no device here was busy"),
        (RULE.check(case(load=reads, rules="limit_read_ops_per_s")), PASS, "throttle"),
        (RULE.check(case(load={"read_pipe": 1.0})), FAIL, "another program"),
        "of a load that waits for its server it is what the server did",
        (RULE.check(case(load=asks, server={"running": 0.9, "events": 0.1})), PASS, "server's threads tell the limit: cpu"),
        (RULE.check(case(load=asks, server={"flush": 0.9, "events": 0.1})), PASS, "flush"),
        (RULE.check(case(load={"sleep": 1.0}, server={"running": 1.0})), FAIL, "it slept"),
    )


def test_what_nobody_watched_is_unverified():
    hold(
        (RULE.check(case()), UNVERIFIED, "its threads were not observed"),
        (RULE.check(case(load={"read_file": 1.0}, busy=None)), UNVERIFIED, "no device was observed"),
    )


def test_short_and_paced_loads_and_declared_limits_are_told_by_others():
    one = case(load={"sleep": 1.0})
    load = LoadTotal(late=0, unstarted=0, backlog_max_ns=0)
    clients = tuple(replace(client, load=load) for client in one.phase.clients)
    declared = (Limit(device="vda", direction=Direction.READ, ops_per_s=400, declared_by="target disk"),)
    hold(
        (RULE.applies(one), ASKED),
        (RULE.applies(case(values={"read.bytes_per_s": 1e6})), ASKED),
        (RULE.applies(replace(one, phase=replace(one.phase, clients=clients))), NOT_ASKED),
        (RULE.applies(replace(one, phase=replace(one.phase, end_ns=one.phase.start_ns + 10**8))), NOT_ASKED),
        (RULE.applies(case(knobs={"think": 1000})), NOT_ASKED),
        (RULE.applies(case(limits=declared)), NOT_ASKED),
    )
