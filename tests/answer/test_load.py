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


def test_the_cost_is_one_line_a_phase_and_what_is_not_known_is_said_to_be_so():
    head, line = cost_text(SPENT).splitlines()
    assert (head, line.split(":")[0].strip()) == ("cost of the load:", "fill")
    assert [int(word) for word in line.split() if word.isdecimal()] == [3, 12, 3, 42], "µs, switches of both kinds, faults"
    assert UNCOUNTED in line
    line = cost_text(replace(SPENT, **COUNTED))
    assert [number in line for number in ("142 ", "3,500 ", "90 ", "5,000 ")] == [True] * 4
    assert UNCOUNTED not in line
    assert cost_text(None).endswith("fill: unknown")
    assert own_cost([]) == ""


def test_the_account_has_what_was_late_queued_and_went_wrong():
    assert account([phase(client())]) == "", "a closed loop without a queue and errors"
    late = LoadTotal(late=12, unstarted=3, backlog_max_ns=2_500_000)
    text = account([phase(client(load=late), client(load=late))])
    assert [part in text for part in ("24 of 2,000", "6 due", "2.50 ms")] == [True] * 3
    plain = QueueTotal(depth=32, registered=True, punted=False, punted_threads=0, submissions=100)
    text = account([phase(client(queue=plain))])
    assert [part in text for part in ("32 requests", "10 requests", "not registered", "punted")] == [True, True, False, False]
    punted = replace(plain, punted=True, punted_threads=4, registered=False)
    text = account([phase(client(queue=plain), client(queue=punted))])
    assert [part in text for part in ("64 requests", "not registered", "4 kernel worker")] == [True] * 3
    broken = EngineError(operation="read", code=errno.EIO, count=2, path="/x")
    stale = EngineError(operation="read", code=errno.EILSEQ, what="verify", count=1, path="/x")
    text = account([phase(client(errors=(broken, stale)), client(errors=(broken,)))])
    assert ("4 times Input/output error: read /x" in text, "1 time a record" in text) == (True, True), "each kind once"
    second = 10**9
    reached = SteadyState(reached=True, round_ns=5 * second, rounds=7, from_ns=10 * second, to_ns=35 * second)
    text = account([replace(phase(client()), steady=reached)])
    assert [part in text for part in ("7 rounds of 5 s", "from 10 s")] == [True] * 2
    never = SteadyState(reached=False, round_ns=5 * second, rounds=12)
    assert "not steady in 12 rounds of 5 s" in account([replace(phase(client()), steady=never)])
