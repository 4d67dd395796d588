"""L01: busy and idle threads, threads kept from running by others, a full host, pressure, short phases, external commands."""

from dataclasses import replace

import pytest

from assay.records import Claim, Direction, Durability, EngineCost, Fact, FactClass, LoadTotal, Rung, Severity, State, Tier, When
from assay.rules.client_bottleneck import RULE
from audit.case_builder import MIB, SECOND, Made, but, case_of, gauge, reading
from stage.rows import each
from stage.said import FAIL, NOTES, PASS, QUALIFIES, UNVERIFIED, hold
from stage.time_cases import counted, course, series

DEVICE = Made(claim=Claim(tier=Tier.DEVICE), seconds=10.0)


def case(made=DEVICE, *, cpu_s=0.0, busiest_s=None, ready_s=None, host=None, some_s=None, cpus=2, allowed=None):
    """A load whose clients each used so many seconds of processor; `host` is its busy seconds on so many processors."""
    found = case_of(made, "L01")
    clients = tuple(
        replace(one, cost=EngineCost(cpu_user_ns=0, cpu_system_ns=round(cpu_s * SECOND))) for one in found.phase.clients
    )
    counters = [
        ("process", "pid:100", "busiest_thread_ns", busiest_s),
        ("process", "pid:100", "run_delay_ns", ready_s),
        ("cpu", "", "user_ns", host),
        ("cpu", "", "system_ns", None if host is None else 0.0),
        ("cpu", "", "total_ns", None if host is None else cpus * made.seconds),
        ("pressure", "", "cpu_some_ns", some_s),
    ]
    series = [
        gauge(layer, subject, metric, (0.0, value * SECOND), made.seconds)
        for layer, subject, metric, value in counters
        if value is not None
    ]
    series.append(gauge("cpu", "", "cpus", (cpus, cpus), made.seconds))
    if allowed is not None:
        series.append(gauge("process", "pid:7", "cpus_allowed", (allowed, allowed), made.seconds))
    return replace(
        found,
        phase=replace(found.phase, clients=clients),
        observations=replace(found.observations, series=(*found.observations.series, *series)),
    )


@each("seconds state", (8.9, State.PASS), (9.0, State.FAIL))
def test_a_busy_thread_bounds_the_rate_from_below(seconds, state):
    one = case(cpu_s=seconds)
    found = RULE.check(one)
    assert found.state is state
    if state is State.FAIL:
        assert (found.severity, found.bound.low, found.bound.high) == (Severity.QUALIFIES, one.value, None)


def test_a_latency_is_bounded_from_above():
    one = case(but(DEVICE, figure="latency_mean_ns"), cpu_s=9.5)
    assert (RULE.check(one).bound.low, RULE.check(one).bound.high) == (None, one.value)


def external(idle_s, cpu_s, *, direct=True, calls=20, claim=DEVICE.claim, operation="read", ticks=True, waited_s=0.0, host=None):
    """A command that ran for 10 s, on a device that had no request for so many of them; it waited for a CPU for `waited_s`."""
    made = but(DEVICE, operation=operation, values={f"{operation}.bytes_per_s": 1e8}, knobs={"asks_direct": direct}, claim=claim)
    found = case(but(made, lower_bytes=256 * MIB), cpu_s=cpu_s, host=host)
    way = Direction.READ if operation == "read" else Direction.WRITE
    made_calls = reading(Rung.SYSCALL, "pid:100", way, (256 * MIB, calls), seconds=10.0)
    rises = dict.fromkeys(("io_ticks", "read_ticks", "write_ticks", "flush_ticks"), (10 - idle_s) * 1000)
    busy = [gauge("block", "device:vda", name, (0, rise), 10.0) for name, rise in rises.items()] if ticks else []
    seen = found.observations
    busy.append(gauge("process", "", "cpu_wait_ns", (waited_s * SECOND,), 10.0))
    seen = replace(seen, series=(*seen.series, *busy), readings=(*seen.readings, made_calls))
    return RULE.check(replace(found, value=1e8, observations=seen))


def test_a_device_that_waits_for_the_command_could_do_more():
    finding = external(idle_s=5.0, cpu_s=4.0)
    assert (finding.state, finding.severity) == (State.FAIL, Severity.QUALIFIES)
    assert finding.bound.low == 1e8
    assert finding.bound.high == pytest.approx(1e8 / 0.6, rel=1e-3)  # 4 s of CPU time, less 20 calls of 50 us


def test_a_wait_for_cpus_that_others_had_is_noise():
    """N02 and N03 bound it: here it is a note."""
    noise, own = (external(9.0, 0.5, waited_s=5.0, host=host) for host in (19.0, 0.9))
    assert [(one.state, one.severity) for one in (noise, own)] == [(State.FAIL, Severity.NOTES), (State.FAIL, Severity.QUALIFIES)]


@each(
    "idle_s cpu_s more state",
    (5.0, 1.9, {}, State.PASS),
    (9.0, 0.5, {"waited_s": 5.0}, State.FAIL),  # ready without a CPU
    (1.9, 0.5, {"waited_s": 8.6, "host": 19.0}, State.PASS),  # others had the CPUs: noise (N02)
    (1.9, 0.5, {"waited_s": 8.6}, State.UNVERIFIED),  # ready nearly always, whatever the device did
    (1.9, 5.0, {}, State.PASS),
    (5.0, 4.0, {"direct": False}, State.PASS),  # copying into memory is a part of a buffered write
    (6.0, 5.5, {"direct": False}, State.FAIL),
    (5.0, 4.0, {"calls": 80_000}, State.PASS),  # 4 s are 80,000 calls of 50 us
    (5.0, 4.0, {"ticks": False}, State.UNVERIFIED),
    (5.0, 4.0, {"operation": "write", "claim": Claim(durability=Durability.STABLE_MEDIA)}, State.FAIL),
)
def test_the_device_waits_only_where_it_is_idle_while_the_command_computes(idle_s, cpu_s, more, state):
    assert external(idle_s, cpu_s, **more).state is state


def test_requests_that_are_added_up_bound_the_time_of_a_device_too():
    """io_ticks count each short request as a whole tick: 10 s; the requests themselves lasted 2 s."""
    found = case(but(DEVICE, values={"read.bytes_per_s": 1e8}, knobs={"asks_direct": True}, lower_bytes=256 * MIB), cpu_s=6.0)
    rises = {"io_ticks": 10_000, "read_ticks": 2_000, "write_ticks": 0, "flush_ticks": 0}
    series = [gauge("block", "device:vda", name, (0, rise), 10.0) for name, rise in rises.items()]
    seen = replace(found.observations, series=(*found.observations.series, *series))
    assert RULE.check(replace(found, value=1e8, observations=seen)).observed["idle_share"] == pytest.approx(0.8)


def test_two_workers_share_the_time_and_one_of_them_may_be_busy():
    two = but(DEVICE, workers=2)
    assert RULE.check(case(two, cpu_s=8.9)).state is State.PASS
    assert RULE.check(case(two, cpu_s=9.5)).state is State.UNVERIFIED, "all of it may be one thread's"
    assert RULE.check(case(two, cpu_s=18.5)).state is State.FAIL
    assert RULE.check(case(two, cpu_s=10.5, busiest_s=9.2)).state is State.FAIL
    assert RULE.check(case(two, cpu_s=10.5, busiest_s=9.0)).state is State.PASS, "a tick is uncertain"


def test_the_drain_that_is_charged_is_time_in_which_the_client_waited():
    written = but(DEVICE, operation="write", claim=Claim(durability=Durability.STABLE_MEDIA, tier=Tier.DEVICE), drain_s=5.0)
    assert RULE.check(case(written, cpu_s=9.9)).state is State.PASS
    assert RULE.check(case(but(written, drain_s=0.1), cpu_s=9.9)).state is State.FAIL


def test_pressure_counts_where_the_load_has_more_workers_than_processors():
    crowded = but(DEVICE, workers=4)
    assert RULE.check(case(crowded, cpu_s=8.0, host=10.0, some_s=2.0)).state is State.FAIL
    assert RULE.check(case(crowded, cpu_s=8.0, host=10.0, some_s=0.5)).state is State.PASS
    assert RULE.check(case(but(DEVICE, workers=2), cpu_s=8.0, host=10.0, some_s=2.0, allowed=2)).state is State.PASS
    assert RULE.check(case(but(DEVICE, workers=2), cpu_s=8.0, host=10.0, some_s=2.0)).state is State.UNVERIFIED, (
        "bound to one CPU"
    )


@each("allowed cpu_s state", (1, 9.5, State.FAIL), (1, 4.0, State.PASS), (2, 9.5, State.UNVERIFIED), (2, 19.0, State.FAIL))
def test_a_command_that_may_use_a_part_of_the_cpus_is_held_to_that_part(allowed, cpu_s, state):
    command = but(DEVICE, values={"read.bytes_per_s": 1e8, "read.bytes": 1e9})
    assert RULE.check(case(command, cpu_s=cpu_s, cpus=16, allowed=allowed)).state is state


def test_workers_crowd_the_cpus_that_they_may_run_on():
    assert RULE.check(case(but(DEVICE, workers=4), cpu_s=8.0, host=10.0, some_s=2.0, cpus=16, allowed=2)).state is State.FAIL


def test_under_no_claim_it_is_a_note():
    found = RULE.check(case(but(DEVICE, claim=Claim()), cpu_s=9.9))
    assert (found.state, found.severity, found.relabel, found.bound) == (State.FAIL, Severity.NOTES, None, None)


def test_reads_from_memory_are_the_processors_work():
    assert RULE.applies(case(but(DEVICE, claim=Claim(tier=Tier.CLIENT_CACHE)))).startswith("reads from memory")
    assert RULE.applies(case()) is None


def test_paced_loads_spin_before_an_operation_is_due():
    open_load = case()
    load = LoadTotal(late=0, unstarted=0, backlog_max_ns=0)
    clients = tuple(replace(one, load=load) for one in open_load.phase.clients)
    assert RULE.applies(replace(open_load, phase=replace(open_load.phase, clients=clients))).startswith("a paced load")
    assert RULE.applies(case(but(DEVICE, knobs={"think": 1000}))).startswith("a paced load")


def in_guest(made, order, *, system_s):
    """A reader that was busy all the time, on a guest that reports free blocks of this order or none."""
    found = case(made, cpu_s=system_s)
    fact = Fact(host="local", when=When.BEFORE, key="memory.page_reporting_order", value=order, fact_class=FactClass.PERFORMANCE)
    return replace(found, observations=replace(found.observations, facts=(*found.observations.facts, fact)))


NEW_MEMORY = but(DEVICE, count=4096, seconds=10.0)
"""4 GiB of system time 9.5 s: 9 us for each page."""


@each(
    "made order system_s",
    (NEW_MEMORY, "4294967295", 9.5),
    (but(NEW_MEMORY, knobs={"direct": True}), "9", 9.5),
    (but(NEW_MEMORY, count=40960), "9", 9.5),
    (but(NEW_MEMORY, count=1 << 20, record_bytes=4096), "9", 9.5),
)
def test_a_slow_client_is_no_new_memory(made, order, system_s):
    """No page reporting, direct I/O, a copy of 0.9 us a page, and small records whose calls cost as much."""
    found = RULE.check(in_guest(made, order, system_s=system_s))
    assert (found.state, found.relabel) == (State.FAIL, "limited by the client's CPUs")


def test_a_command_may_have_any_number_of_threads():
    told = but(DEVICE, values={"read.bytes_per_s": 1e8})
    assert RULE.check(case(told, cpu_s=4.0)).state is State.PASS
    assert RULE.check(case(told, cpu_s=9.5)).state is State.UNVERIFIED
    assert RULE.check(case(told, cpu_s=17.5, host=18.0)).state is State.FAIL


def test_states():
    hold(
        ("a thread that waits for its target passes", RULE.check(case(cpu_s=3.0, busiest_s=3.0, ready_s=0.5)), PASS, "30 %"),
        "time that others took is taken off",
        (RULE.check(case(cpu_s=6.0, ready_s=3.5)), FAIL, "92.3 %"),
        (RULE.check(case(cpu_s=6.0, ready_s=3.2)), PASS),
        "a thread that others kept from running is theirs to explain",
        (RULE.check(case(cpu_s=1.9, ready_s=8.1)), PASS),
        (RULE.check(case(cpu_s=2.1, ready_s=7.8)), FAIL),
        "a host full of the load is a limit and one full of others is not",
        (RULE.check(case(but(DEVICE, workers=4), cpu_s=15.0, host=18.0)), FAIL),
        (RULE.check(case(but(DEVICE, workers=4), cpu_s=8.0, host=18.0)), PASS),
        ("a figure of the cost itself is only noted", RULE.check(case(but(DEVICE, figure="cpu_ns_per_op"), cpu_s=9.9)), NOTES),
        "copying into new memory is no slow client",
        (RULE.check(in_guest(NEW_MEMORY, "9", system_s=9.5)), FAIL, QUALIFIES, "8.86 µs"),
        ("too short to tell is unverified", RULE.check(case(but(DEVICE, seconds=0.1), cpu_s=0.1)), UNVERIFIED),
    )


def looked_at(cpu_s=9.8, ready_s=0.0, **shares):
    """A command of which looks at its threads tell what they did, beside its CPU time."""
    one = case(but(DEVICE, values={"read.bytes_per_s": 1e8}), cpu_s=cpu_s)
    times = {"dd": {"run_ns": (10 - ready_s) * SECOND, "ready_ns": ready_s * SECOND}}
    looks = counted(course({("dd", state): share for state, share in shares.items()}), times=times)
    seen = replace(one.observations, series=(*one.observations.series, *series(10.0, load=looks)))
    return RULE.check(replace(one, value=1e8, observations=seen))


def test_looks_at_the_threads_of_a_command_tell_whether_it_computed_all_the_time():
    hold(
        "CPU time alone does not: two threads may have used it",
        (RULE.check(case(but(DEVICE, values={"read.bytes_per_s": 1e8}), cpu_s=9.8)), UNVERIFIED),
        (looked_at(running=0.95, read_file=0.05), FAIL, QUALIFIES, "computed for 95 %"),
        (looked_at(running=0.5, read_file=0.5), PASS),
        ("what others left of the time counts", looked_at(ready_s=5.0, running=0.98, read_file=0.02), FAIL),
        ("of a thread that hardly ran nothing is told", looked_at(ready_s=9.0, running=1.0), UNVERIFIED),
    )
