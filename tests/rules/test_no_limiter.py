"""L09: loads whose time neither a CPU, a device nor another end explains; known limits, paced loads, too few looks."""

from dataclasses import replace

from assay.records import Direction, Limit, LoadTotal, Rung, Severity, State
from assay.rules.no_limiter import RULE
from audit.case_builder import Made, case_of, gauge, reading
from stage import time_cases
from stage.said import ASKED, FAIL, NOT_ASKED, PASS, UNVERIFIED, hold
from stage.server_cases import counted, fact

SECONDS = 10.0
ENGINE = "assay-engine"


def case(*, device_s=1.0, rules=None, server=None, process=ENGINE, looks=time_cases.LOOKS, made=None, **shares):
    """A load whose threads were found in these states, above a device that had requests for so long."""
    found = case_of(Made(seconds=SECONDS, **(made or {})), "L09")
    groups = {"load": time_cases.counted(time_cases.course({(process, state): share for state, share in shares.items()}, looks))}
    if server is not None:
        groups["server"] = time_cases.counted(time_cases.course({("served", state): share for state, share in server.items()}))
    moved = reading(Rung.LOWEST_DEVICE, "device:vda", Direction.READ, (10**6, 1000), seconds=SECONDS)
    passed = () if device_s is None else (moved,)
    series = list(time_cases.series(SECONDS, **groups)) if shares else []
    if device_s is not None:
        series.append(gauge("block", "device:vda", "io_ticks", (0.0, device_s * 1000), SECONDS))
    if rules:
        series.append(gauge("cgroup", "device:vda", rules, (400.0, 400.0), SECONDS))
    seen = found.observations
    return replace(found, observations=replace(seen, series=(*seen.series, *series), readings=(*seen.readings, *passed)))


def test_a_wait_that_nothing_explains_is_noted():
    found = RULE.check(case(read_file=1.0))
    assert (found.state, found.severity, found.bound, found.relabel) == (State.FAIL, Severity.NOTES, None, None)
    assert found.statement.startswith("No CPU and no device was the limit: the load waited for files, and no device here")


def test_what_explains_the_time():
    hold(
        ("the device was busy", RULE.check(case(read_file=1.0, device_s=4.0)), PASS),
        ("the CPU was", RULE.check(case(running=0.9, read_file=0.1)), PASS),
        ("nothing had most of it", RULE.check(case(running=0.5, read_file=0.5)), PASS),
        ("nobody saw a device", RULE.check(case(read_file=1.0, device_s=None)), UNVERIFIED),
        ("too few looks", RULE.check(case(read_file=1.0, looks=8)), UNVERIFIED),
        ("no looks", RULE.check(case()), UNVERIFIED),
    )


def behind(*, line_bytes_per_s=None, server=None):
    """A load that waits for files of a mount, and a server with the way to it."""
    one = case(read_file=1.0, server=server)
    facts = () if line_bytes_per_s is None else (fact("limit_bytes_per_s", str(line_bytes_per_s)),)
    sent = counted(SECONDS, "L4", "write", 95_000_000)
    seen = replace(one.observations, readings=(*one.observations.readings, sent), facts=(*one.observations.facts, *facts))
    return RULE.check(replace(one, observations=seen))


def test_a_server_and_the_way_to_it_are_watched_too():
    hold(
        ("the way was full", behind(line_bytes_per_s=10_000_000), PASS),
        ("the way had room", behind(line_bytes_per_s=12_000_000), FAIL),
        ("nothing is known of it", behind(), FAIL),
        ("the server computed", behind(server={"running": 0.9, "events": 0.1}), PASS),
        ("idle threads of the server slept", behind(server={"sleep": 0.9, "events": 0.1}), FAIL, "the load waited for files"),
    )


def test_paced_loads_and_known_limits_are_not_asked():
    one = case(read_file=1.0)
    load = LoadTotal(late=0, unstarted=0, backlog_max_ns=0)
    clients = tuple(replace(client, load=load) for client in one.phase.clients)
    declared = (Limit(device="vda", direction=Direction.READ, ops_per_s=400, declared_by="target disk"),)
    hold(
        (RULE.applies(one), ASKED),
        (RULE.applies(replace(one, phase=replace(one.phase, clients=clients))), NOT_ASKED),
        (RULE.applies(case(made={"knobs": {"think": 1000}})), NOT_ASKED),
        (RULE.applies(case(made={"limits": declared})), NOT_ASKED),
        (RULE.applies(case(rules="limit_read_ops_per_s")), NOT_ASKED),
        (RULE.applies(case(made={"values": {"read.bytes_per_s": 1e6}})), NOT_ASKED),
    )


def tool(**shares):
    """An external tool of which looks at its threads tell what they did."""
    return case(process="tool", made={"values": {"read.bytes_per_s": 1e6}}, **shares)


def test_of_an_external_tool_looks_at_its_threads_tell():
    hold(
        (RULE.applies(tool(sleep=1.0)), ASKED),
        (RULE.check(tool(sleep=0.9, running=0.1)), FAIL, "tool slept (90 %)"),
        (RULE.check(tool(read_file=1.0)), FAIL, "no device here was busy"),
        (RULE.check(tool(running=0.9, sleep=0.1)), PASS),
        (RULE.check(tool(running=0.5, sleep=0.5)), PASS),
    )
