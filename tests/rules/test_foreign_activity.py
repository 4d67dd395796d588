"""N03: how much others took of the processors and of the device, what is spared, and what is not known."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.records import (
    Claim,
    Direction,
    Durability,
    EngineCost,
    Limit,
    Observations,
    OperationTotal,
    Reading,
    Rung,
    Severity,
    State,
    Tier,
    missing_on,
)
from assay.rules.foreign_activity import RULE
from stage import network_cases
from stage.noise_cases import run, series, trial_case
from stage.rows import each
from stage.said import FAIL, NOTES, PASS, QUALIFIES, UNVERIFIED, high, hold
from stage.server_cases import counted

MIB = 1 << 20
DEVICE, MEDIA = Claim(tier=Tier.DEVICE), Claim(durability=Durability.STABLE_MEDIA)


def passed(rung, way, count, subject):
    return Reading(
        phase="write",
        rung=rung,
        source="block:/proc/diskstats" if rung is Rung.LOWEST_DEVICE else "process_io:/proc/PID/io",
        host="local",
        subject=subject,
        direction=way,
        bytes=int(count * MIB),
        operations=1,
        from_ns=0,
        to_ns=10**10,
    )


def judged(
    *,
    cpu=0.0,
    busy=0.5,
    theirs=(0, 0),
    ours=(0, 100),
    below=None,
    claim=DEVICE,
    filesystem="ext4",
    known=True,
    own=None,
    used=1.0,
    limit=None,
):
    """Ten seconds on two processors; bytes in MiB, read and written: of others, of the load, of the device (None: their sum)."""
    below = below or [mine + other for mine, other in zip(ours, theirs, strict=True)]
    whole = 20e9
    rows = [("cpu", "total_ns", whole), ("cpu", "cpus", 2.0), ("cpu", "idle_ns", whole * (1 - busy)), ("cpu", "iowait_ns", 0.0)]
    rows += [("cpu", "user_ns", whole * busy), ("cpu", "system_ns", 0.0)]
    rows += [("other_processes", "own_cpu_ns", whole * max(0.0, busy - cpu if own is None else own))]
    rows += [
        ("other_processes", "cpu_ns", cpu * whole),
        ("other_processes", "sure_cpu_ns", cpu * whole),
        ("other_processes", "kernel_cpu_ns", 0.0),
    ]
    rows += [
        ("other_processes", f"{way}_bytes", amount * MIB) for way, amount in zip(("read", "write"), theirs, strict=True) if known
    ]
    found = [series(layer, metric, [(-1, value if metric == "cpus" else 0.0), (11, value)]) for layer, metric, value in rows]
    found += [series("process", "run_delay_ns", [(-1, 0.0), (11, 0.0)], "pid:4242")]
    found += [series("other_processes", metric, [(-1, 0.0), (11, 5e9)], "command:dd") for metric in ("cpu_ns", "write_bytes")]
    readings = [
        passed(rung, way, amount, subject)
        for rung, subject, amounts in ((Rung.LOWEST_DEVICE, "device:vda", below), (Rung.CLIENT_CACHE, "pid:4242", ours))
        for way, amount in zip((Direction.READ, Direction.WRITE), amounts, strict=True)
    ]
    missing = {} if known else {"other_processes.read_bytes": "storage used by 3 processes of other users is told to root alone"}
    case = trial_case(
        "N03",
        run(devices=("vda",)),
        Observations(series=tuple(found), readings=tuple(readings), missing=missing_on("local", None, missing)),
    )
    declared = Limit(device="vda", direction=Direction.WRITE, bytes_per_s=(limit or 0) * MIB / 10, declared_by="target disk")
    limits = (declared,) if limit else ()
    places = tuple(replace(place, filesystem=filesystem, limits=limits) for place in case.run.places)
    (client,) = case.phase.clients
    cost = EngineCost(cpu_user_ns=int(used * case.phase.end_ns), cpu_system_ns=0)
    total = OperationTotal(operation="write", count=100, bytes=ours[1] * MIB, errors=0, busy_ns=0, first_ns=0, last_ns=10**10)
    phase = replace(case.phase, clients=(replace(client, cost=cost, operations=(total,)),))
    return RULE.check(replace(case, claim=claim, phase=phase, run=replace(case.run, places=places)))


@each(
    "cpu busy state severity",
    (0.009, 0.5, State.PASS, Severity.QUALIFIES),
    (0.03, 0.5, State.FAIL, Severity.NOTES),
    (0.11, 0.6, State.FAIL, Severity.QUALIFIES),
    (0.50, 1.0, State.FAIL, Severity.QUALIFIES),
)
def test_a_busy_neighbour_of_a_load_that_computes_takes_up_to_half(cpu, busy, state, severity):
    """One worker on one of two CPUs all the time: the other CPU is the neighbour's."""
    found = judged(cpu=cpu, busy=busy)
    if cpu == 0.50:
        assert (found.bound.low, found.bound.high) == (50e6, pytest.approx(100e6))
    assert (found.state, found.severity) == (state, severity)
    assert state is State.PASS or "(dd)" in found.statement


@each(
    "written claim state severity",
    (0.9, DEVICE, State.PASS, Severity.QUALIFIES),
    (4.5, DEVICE, State.FAIL, Severity.NOTES),
    (50, DEVICE, State.FAIL, Severity.QUALIFIES),
    (50, MEDIA, State.FAIL, Severity.QUALIFIES),
    (50, Claim(), State.FAIL, Severity.QUALIFIES),
)
def test_bytes_of_others_on_the_device(written, claim, state, severity):
    found = judged(theirs=(0, written), claim=claim, used=0.0)
    assert (found.state, found.severity) == (state, severity)
    if written == 50:
        assert (found.bound.low, found.bound.high) == (50e6, pytest.approx(50e6 * 1.5, rel=0.01))


@each("limit state", (100, State.PASS), (125, State.FAIL), (None, State.FAIL))
def test_a_load_at_the_declared_limit_of_its_device_loses_what_is_left_of_it(limit, state):
    """100 MiB in ten seconds, beside twice as much of another program."""
    found = judged(theirs=(0, 200), used=0.0, limit=limit)
    assert found.state is state
    if limit == 125:
        assert found.observed["effect_share"] == pytest.approx(0.25)


def test_a_load_that_asked_the_device_for_nothing_did_not_wait_for_it():
    assert judged(theirs=(0, 200), ours=(0, 0), used=0.0).state is State.PASS
    assert judged(theirs=(0, 200), ours=(0, 1), used=0.0).state is State.FAIL


@given(st.floats(0, 1), st.floats(0, 1))
def test_more_of_others_is_never_better(one, other):
    less, more = sorted((one, other))
    order = [State.FAIL, State.PASS]
    first, second = judged(cpu=less, busy=1.0), judged(cpu=more, busy=1.0)
    assert order.index(second.state) <= order.index(first.state)


def test_states():
    hold(
        ("a quiet machine passes", judged(cpu=0.01, theirs=(0, 0)), PASS, {"cpu_share": 0.01}),
        "a load that never waits for the device loses nothing to it",
        (judged(theirs=(0, 50), used=1.0), PASS),
        (judged(theirs=(0, 50), used=0.5), high(pytest.approx(50e6 / (1 - 0.5 / 3), rel=0.01))),
        ("bytes that the device did not move went elsewhere", judged(theirs=(500, 500), ours=(0, 100), below=(0, 100)), PASS),
        ("a few bytes of a small phase are a services own", judged(theirs=(0, 2), ours=(0, 4)), PASS),
        ("a server on this machine may be what answers", judged(cpu=0.5, busy=1.0, filesystem="fuse.sshfs"), FAIL, NOTES),
        "bytes that only root is told are not known",
        (judged(known=False), UNVERIFIED),
        (judged(known=False, cpu=0.5, busy=1.0), FAIL),
        (judged(known=False, ours=(0, 0), below=(0, 0)), PASS),
        "time that no account explains may be others whom nobody sees",
        (judged(busy=0.9, own=0.4), UNVERIFIED, {"unseen_share": 0.5}, "another container"),
        (judged(busy=0.9, own=0.85), PASS),
        (judged(busy=0.9, own=0.4, cpu=0.3), FAIL),
        ("others cannot have had more than the load left them", judged(cpu=4.0, busy=0.9, own=0.6), {"cpu_share": 0.3}),
        "without processor time nothing is passed",
        (
            RULE.check(
                trial_case("N03", run(), Observations(series=(series("other_processes", "sure_cpu_ns", [(-1, 0.0), (11, 0.0)]),)))
            ),
            UNVERIFIED,
        ),
    )


def over(passed, *, space="own", link=None, moved=6_000_000):
    """A stream of two ends of the lab over eth0, which carried so many bytes in all."""
    facts = [
        ("target.server.inside.p", "eth0"),
        ("target.server.inside.p.kind", "virtual"),
        ("target.server.inside.p.space", space),
    ]
    if link:
        facts += [("target.server.limit_bytes_per_s", str(link)), ("target.server.route", "eth0")]
    case = network_cases.between("N03", facts=facts)
    ways = {Direction.READ: passed // 20, Direction.WRITE: passed - passed // 20}
    readings = tuple(
        replace(counted(network_cases.SECONDS, "L3", way.value, amount, "interface:eth0"), bytes=amount)
        for way, amount in ways.items()
    )
    total = replace(case.phase.clients[0].operations[0], bytes=moved, count=46)
    clients = (replace(case.phase.clients[0], operations=(total,)),)
    phase = replace(case.phase, clients=clients)
    return RULE.check(replace(case, phase=phase, observations=replace(case.observations, readings=readings)))


def test_what_else_passed_the_interface_of_the_load():
    hold(
        (
            "a neighbour on the link",
            over(57_204_516),
            FAIL,
            QUALIFIES,
            "that passed eth0",
            {"interface_share": 1 - (6_000_000 * 1.1 + 46 * 330) / 57_204_516},
        ),
        "the load's own headers and acknowledgements are its own",
        (over(6_400_000), {"interface_share": 0.0}),
        ("a link with room for both", over(57_204_516, link=10**9), {"effect_share": 0.0}),
        ("a namespace whose interfaces nobody counts", over(57_204_516, space="apart"), {"interface_share": None}),
    )
