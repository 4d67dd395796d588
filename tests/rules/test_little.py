"""L07: four workers, all busy, half idle, busier than time allows."""

from array import array
from dataclasses import replace

import pytest

from assay.records import Claim, Direction, EngineCost, Histogram, Load, LoadTotal, QueueTotal, Severity, State
from assay.rules.little import RULE
from audit.case_builder import SECOND, Made, case_of
from stage.rows import each
from stage.said import INVALIDATES, NOT_ASKED, PASS, hold


def judged(count=64_000, **other):
    return RULE.check(case_of(Made(count=count, record_bytes=4096, workers=4, **other), "L07"))


def test_idle_workers_bound_the_rate():
    finding = judged(busy_share=0.5)
    assert (finding.state, finding.severity) == (State.FAIL, Severity.QUALIFIES)
    assert finding.bound.high == pytest.approx(2 * finding.bound.low)


@each("matters severity", (0.05, Severity.QUALIFIES), (0.1, Severity.NOTES))
def test_idleness_that_changes_the_rate_by_less_than_matters_is_a_note(matters, severity):
    case = case_of(Made(count=64_000, record_bytes=4096, workers=4, busy_share=0.93), "L07")
    finding = RULE.check(replace(case, experiment=replace(case.experiment, matters_share=matters)))
    assert (finding.state, finding.severity) == (State.FAIL, severity)
    assert finding.bound.high == pytest.approx(finding.bound.low / 0.93)


@each("turns state", (0, State.FAIL), (10_000, State.PASS))
def test_turns_of_other_threads_between_the_stamps_accuse_nobody(turns, state):
    case = case_of(Made(count=64_000, record_bytes=4096, workers=4, sampled_share=1.5), "L07")
    (client,) = case.phase.clients
    cost = EngineCost(cpu_user_ns=0, cpu_system_ns=0, involuntary_switches=turns)
    phase = replace(case.phase, clients=(replace(client, cost=cost),))
    assert RULE.check(replace(case, phase=phase)).state is state


@each("stamp_ns state", (None, State.FAIL), (10, State.PASS))
def test_the_second_pair_of_stamps_is_no_time_of_an_operation(stamp_ns, state):
    """Empty operations, as measured: latency 11.3 ns (one stamp of 10 ns), sampled 30.8 ns, one every 25 ns."""
    count = SECOND // 25
    made = Made(count=count, record_bytes=0, workers=1, busy_share=11.3 / 25, sampled_share=30.8 / 11.3)
    cost = EngineCost(cpu_user_ns=SECOND, cpu_system_ns=0)
    assert RULE.check(with_client(case_of(made, "L07"), stamp_ns=stamp_ns, cost=cost)).state is state


@each("sampled_ns state", (29.9, State.PASS), (44.0, State.PASS), (90.0, State.FAIL))
def test_a_stamp_that_costs_more_in_place_than_in_a_loop_accuses_nobody(sampled_ns, state):
    """Empty operations on another machine: a stamp of 6 ns in a loop and of 9 in place made 117 % of one worker's time."""
    count = SECOND // 15
    made = Made(count=count, record_bytes=0, workers=1, busy_share=9 / 15, sampled_share=sampled_ns / 9)
    cost = EngineCost(cpu_user_ns=SECOND, cpu_system_ns=0)
    finding = RULE.check(with_client(case_of(made, "L07"), stamp_ns=6, cost=cost))
    assert finding.state is state
    assert ("sum of all latencies" in finding.statement) == (state is State.PASS)


def test_user_time_explains_idleness_but_never_an_excess():
    made = Made(count=64_000, record_bytes=4096, workers=4, busy_share=0.90)
    case = case_of(made, "L07")
    (client,) = case.phase.clients
    for user_ns, state in ((0, State.FAIL), (10**9, State.PASS)):
        phase = replace(case.phase, clients=(replace(client, cost=EngineCost(cpu_user_ns=user_ns, cpu_system_ns=0)),))
        assert RULE.check(replace(case, phase=phase)).state is state


def test_records_inside_a_file_are_in_the_files_time_already():
    case = case_of(Made(count=64_000, record_bytes=4096, workers=4), "L07")
    (client,) = case.phase.clients
    (reads,) = client.operations
    both = (reads, replace(reads, operation="file"))
    twice = replace(case.phase, clients=(replace(client, operations=both),))
    assert RULE.check(replace(case, phase=twice)).state is State.FAIL
    assert RULE.check(replace(case, phase=replace(twice, within={"read": "file"}))).state is State.PASS
    unfinished = replace(client, operations=(reads, replace(reads, operation="file", count=1, busy_ns=1, sampled_count=0)))
    inside = replace(case.phase, clients=(unfinished,), within={"read": "file"})
    assert RULE.check(replace(case, phase=inside)).state is State.PASS


@each("started_s state", (0.0, State.FAIL), (-0.15, State.PASS))
def test_a_directory_that_is_listed_in_pieces_is_walked_from_the_start_of_its_client(started_s, state):
    """Files take 73 % of the time between the first and the last of them, and the walk 37 %, most of it before the first."""
    made = Made(operation="file", count=20_000, record_bytes=0, busy_share=0.73, figure="ops_per_s")
    case = case_of(made, "L07")
    (client,) = case.phase.clients
    walk = replace(client.operations[0], operation="walk", count=1, busy_ns=int(0.37 * SECOND), sampled_count=0, sampled_ns=0)
    operations = (replace(client.operations[0], sampled_count=0, sampled_ns=0), walk)
    case = with_client(case, operations=operations, started_ns=client.first_ns + round(started_s * SECOND))
    assert RULE.check(case).state is state


def test_samples_that_miss_the_long_waits_of_a_throttle_accuse_nobody():
    """One operation in a hundred waits 94 ms for the next slice of the throttle, and no stamped one is among them."""
    case = case_of(Made(count=3_000, record_bytes=4096, workers=1, sampled_share=0.05), "L07")
    (client,) = case.phase.clients
    (total,) = client.operations
    mean = total.busy_ns / total.count
    slices = Histogram(
        phase=case.phase.name,
        host="local",
        subject="client:0",
        operation="read",
        upper_ns=array("q", [round(mean / 20), round(95 * mean)]),
        count=array("q", [2_970, 30]),
    )
    finding = RULE.check(replace(case, observations=replace(case.observations, histograms=(slices,))))
    assert finding.state is State.PASS


def test_one_stamped_operation_that_lost_its_processor_accuses_nobody():
    """10,000 fast operations, one of which waited a hundredth of the whole time and was stamped: it stands for 64."""
    case = case_of(Made(count=10_000, record_bytes=4096, workers=1, sampled_share=1.6), "L07")
    (client,) = case.phase.clients
    (total,) = client.operations
    mean = total.busy_ns / total.count
    preempted = Histogram(
        phase=case.phase.name,
        host="local",
        subject="client:0",
        operation="read",
        upper_ns=array("q", [round(mean), round(100 * mean)]),
        count=array("q", [9_999, 1]),
    )
    found = RULE.check(replace(case, observations=replace(case.observations, histograms=(preempted,))))
    assert found.state is State.PASS
    quiet = replace(preempted, upper_ns=array("q", [round(mean)]), count=array("q", [10_000]))
    lie = RULE.check(replace(case, observations=replace(case.observations, histograms=(quiet,))))
    assert lie.severity is Severity.INVALIDATES


def with_client(case, **changes):
    """The case with its one client changed."""
    (client,) = case.phase.clients
    return replace(case, phase=replace(case.phase, clients=(replace(client, **changes),)))


def queue(depth, submissions=1):
    return QueueTotal(depth=depth, registered=False, punted=False, punted_threads=0, submissions=submissions)


def in_flight(mean, depth, count=64_000, **knobs):
    """One worker with a queue, and so many requests in it on average."""
    made = Made(count=count, record_bytes=4096, workers=1, busy_share=mean, knobs=knobs)
    return with_client(case_of(made, "L07"), queue=queue(depth, submissions=count // 16))


def test_a_queue_that_is_not_kept_full_is_told():
    finding = RULE.check(in_flight(16, 32))
    assert (finding.state, finding.severity) == (State.FAIL, Severity.QUALIFIES)
    assert (finding.relabel, finding.detail) == ("queue not full", "50 % of the time")
    assert finding.bound.high == pytest.approx(2 * finding.bound.low)


def test_what_the_generator_does_between_two_calls_holds_up_a_whole_batch():
    for user_ns, state in ((0, State.FAIL), (SECOND // 4, State.PASS)):
        cost = EngineCost(cpu_user_ns=user_ns, cpu_system_ns=0)
        assert RULE.check(with_client(in_flight(28, 32), cost=cost)).state is state


@each("flush state", ("end", State.PASS), ("each", State.FAIL))
def test_the_flush_at_the_end_is_waited_for_with_nothing_else_in_flight(flush, state):
    """Half of the time the queue is full of writes, half of it one worker flushes."""
    made = Made(operation="write", count=64_000, record_bytes=4096, busy_share=16, knobs={"flush": flush})
    case = case_of(made, "L07")
    (client,) = case.phase.clients
    (total,) = client.operations
    last = replace(total, operation="flush", count=1, bytes=0, busy_ns=SECOND // 2, sampled_count=0, sampled_ns=0)
    case = with_client(case, queue=queue(32), operations=(total, last))
    phase = replace(case.phase, directions={**case.phase.directions, "flush": Direction.FLUSH})
    assert RULE.check(replace(case, phase=phase)).state is state


@each("think_ns state", (None, State.FAIL), (200, State.FAIL), (2_000, State.PASS))
def test_think_time_is_no_gap(think_ns, state):
    case = case_of(Made(count=320_000, record_bytes=4096, busy_share=0.4, knobs={"think": think_ns}), "L07")
    assert RULE.check(case).state is state


def test_a_loop_that_was_open_is_not_its_business_whatever_is_claimed():
    case = case_of(Made(claim=Claim(load=Load.CLOSED)), "L07")
    assert RULE.applies(case) is None
    behind = LoadTotal(late=0, unstarted=0, backlog_max_ns=0)
    assert "open load" in RULE.applies(with_client(case, load=behind))


def test_states():
    hold(
        ("busy workers pass", judged(busy_share=0.98), PASS),
        ("too long latencies contradict", judged(sampled_share=1.5), INVALIDATES),
        # 5 µs more an operation than all of them took are no stamps.
        "operations that are longer than stamps explain still contradict",
        (
            RULE.check(
                with_client(case_of(Made(count=64_000, record_bytes=4096, workers=1, sampled_share=1.33), "L07"), stamp_ns=20)
            ),
            INVALIDATES,
        ),
        ("few samples fall back to the sum of latencies", judged(count=500, sampled_share=1.5), PASS),
        "open loads and external tools are not its business",
        (RULE.applies(case_of(Made(claim=Claim(load=Load.OPEN)), "L07")), NOT_ASKED),
        (RULE.applies(case_of(Made(values={"read.bytes_per_s": 1.0}), "L07")), NOT_ASKED),
        ("a queue that is kept full passes", RULE.check(in_flight(31.5, 32)), PASS, "31.5 of 32"),
        ("more in flight than the queue has is a contradiction", RULE.check(in_flight(40, 32)), INVALIDATES),
    )


def test_workers_that_wait_for_the_last_operation_of_another_one_are_not_idle_by_themselves():
    """Eight streams, one of which ends its last send 0.78 s after the time: seven wait for it, as in 0.79 of 8 workers."""
    case = case_of(Made(seconds=6.78, workers=8, busy_share=7.21 / 8), "L07")
    (client,) = case.phase.clients
    timed = replace(client, stopped_by="time", ends_ns=6 * SECOND)
    found = RULE.check(replace(case, phase=replace(case.phase, clients=(timed,))))
    assert (found.relabel, found.detail) == ("workers waited for the last operation", "it ended 780 ms late")
    assert RULE.check(case).relabel == "workers idle or load generator busy"
