"""The load of a run in words: its cost, queue and errors."""

import errno
from dataclasses import replace

import notebook_records as made
from assay.answer.wording.load import UNCOUNTED, account, own_cost
from assay.records import EngineCost, EngineError, LoadTotal, QueueTotal, SteadyState

SPENT = EngineCost(
    cpu_user_ns=2_000_000, cpu_system_ns=1_000_000, voluntary_switches=12, involuntary_switches=3, minor_faults=40, major_faults=2
)
COUNTED = {"user_instructions": 142_000, "kernel_instructions": 3_500_000, "user_cycles": 90_000, "kernel_cycles": 5_000_000}


def client(**changes):
    return replace(made.client(count=1000), **changes)


def phase(*clients):
    return made.phase(list(clients))


def cost_text(cost):
    return own_cost([phase(client(cost=cost))])


def test_one_line_a_phase():
    text = cost_text(SPENT)
    assert text.splitlines()[0] == "cost of the load:"
    (line,) = text.splitlines()[1:]
    assert line.startswith("    fill: 3 µs of CPU time per operation; ")
    assert line.endswith("; 12 voluntary switches, 3 involuntary switches, 42 page faults")
    assert UNCOUNTED in line


def test_counters_are_told_where_the_machine_has_them():
    line = cost_text(replace(SPENT, **COUNTED))
    assert "142 user and 3,500 kernel instructions, 90 user and 5,000 kernel cycles" in line
    assert UNCOUNTED not in line


def test_what_is_not_known_is_said_to_be_so():
    assert cost_text(None).endswith("    fill: unknown")
    assert own_cost([]) == ""


def test_a_closed_loop_without_a_queue_and_errors_says_nothing():
    assert account([phase(client())]) == ""


def test_an_open_loop_says_how_far_it_fell_behind():
    late = LoadTotal(late=12, unstarted=3, backlog_max_ns=2_500_000)
    text = account([phase(client(load=late), client(load=late))])
    assert "open loop: 24 of 2,000 operations started late, 6 due operations never started" in text
    assert "longest backlog 2.50 ms" in text


def test_a_queue_says_how_it_was_used():
    plain = QueueTotal(depth=32, registered=True, punted=False, punted_threads=0, submissions=100)
    text = account([phase(client(queue=plain))])
    assert "io_uring: up to 32 requests in flight, 10 requests per call; files and buffers registered" in text
    assert "punted" not in text
    punted = replace(plain, punted=True, punted_threads=4, registered=False)
    text = account([phase(client(queue=plain), client(queue=punted))])
    assert "up to 64 requests in flight" in text
    assert "not registered" in text
    assert "4 kernel worker threads" in text


def test_errors_are_told_each_kind_once():
    broken = EngineError(operation="read", code=errno.EIO, count=2, path="/x")
    stale = EngineError(operation="read", code=errno.EILSEQ, what="verify", count=1, path="/x")
    text = account([phase(client(errors=(broken, stale)), client(errors=(broken,)))])
    assert "4 times Input/output error: read /x" in text
    assert "1 time a record differs from the written data: read /x" in text


def test_a_phase_that_ran_until_it_was_steady_says_from_when_on_it_was():
    second = 10**9
    reached = SteadyState(reached=True, round_ns=5 * second, rounds=7, from_ns=10 * second, to_ns=35 * second)
    text = account([replace(phase(client()), steady=reached)])
    assert "steady after 7 rounds of 5 s; figures count from 10 s on" in text
    never = SteadyState(reached=False, round_ns=5 * second, rounds=12)
    assert "not steady in 12 rounds of 5 s" in account([replace(phase(client()), steady=never)])
