"""What bulk_io asks for is really done: paths, queues, rates, shared layouts, mixtures and verification, through the fleet."""

from dataclasses import replace

import pytest

from assay import measures
from assay.audit import judge
from assay.records import Claim, Direction, Event, Load, Measure, Outcome, Regime, Rung, State, VerdictState
from assay.trial.harvest import judge as outcome_of
from stage.trial_stage import MIB, Laboratory, bulk, trial

KIB = 1 << 10


@pytest.fixture
def laboratory(tmp_path):
    made = Laboratory(tmp_path)
    yield made
    assert made.left() == ([], ()), "the trial left something behind"
    made.ledger.close()


class Ran:
    """A finished run and what was seen of it."""

    def __init__(self, laboratory, *, events=(), clients=1, observers=("process_io",), **knobs):
        spec = replace(bulk(**{"flush": "none", "cache": "unchanged", **knobs}), events=events)
        lab = laboratory.lab(spec, observers=observers)
        lab.install()
        try:
            self.run, self.seen = lab.run(trial(clients=clients), 1)
        finally:
            lab.remove()
        if "io_uring_setup" in (self.run.error or ""):
            pytest.skip(f"no io_uring here: {self.run.error}")
        assert self.run.outcome is Outcome.FINISHED, self.run.error
        self.experiment = lab.experiment

    def phase(self, name):
        return next(phase for phase in self.run.phases if phase.name == f"w.{name}")

    def totals(self, name):
        return {total.operation: total for total in self.phase(name).clients[0].operations}

    def verdict(self, operation, **claim):
        measure = Measure(workload="w", operation=operation, figure="bytes_per_s", claim=Claim(**claim))
        (verdict,) = judge.judge_run(replace(self.experiment, measures=(measure,)), self.run, self.seen)
        return verdict, {finding.rule: finding for finding in verdict.findings}


def test_32_requests_in_flight(subtests, laboratory):
    for direct in [False, True]:
        with subtests.test(direct=direct):
            knobs = {"operations": ("random_read",), "ioengine": "io_uring", "depth": 32, "record_size": 4 * KIB, "ops": 2000}
            ran = Ran(laboratory, direct=direct, **knobs)
            (client,) = ran.phase("random_read").clients
            assert (client.queue.depth, client.operations[0].count) == (32, 2000)
            assert 2000 / 32 <= client.queue.submissions <= 2000 / 16 + 2, "half of the queue at a time"
            verdict, found = ran.verdict("random_read", load=Load.CLOSED)
            assert found["E05"].state is State.PASS, "no counter of calls has what goes through io_uring"
            assert found["L07"].observed["workers"] == 32
            assert verdict.state is not VerdictState.INVALID


def test_reads_through_a_mapping_are_not_denied_by_calls_that_were_not_made(laboratory):
    ran = Ran(laboratory, operations=("write", "read"), ioengine="mmap", cache="cold", record_size=64 * KIB)
    assert ran.totals("read")["read"].bytes == 8 * MIB
    calls = sum(one.bytes for one in ran.seen.rung("w.read", Rung.SYSCALL, Direction.READ) if one.source.startswith("engine"))
    assert calls < MIB
    _, found = ran.verdict("read", regime=Regime.COLD)
    assert found["E05"].state is State.PASS


def test_a_rate_that_cannot_be_kept_says_what_was_late_and_what_never_began(laboratory):
    knobs = {"operations": ("random_read",), "duration": 300_000_000, "rate": 200_000, "arrivals": "poisson", "workers": 2}
    ran = Ran(laboratory, record_size=MIB, clients=2, **knobs)
    clients = ran.phase("random_read").clients
    due = sum(client.load.unstarted + client.operations[0].count for client in clients)
    assert due == pytest.approx(200_000 * 0.3, rel=0.03), "of all clients together"
    assert all(client.load.late > 0 for client in clients)
    assert all(client.load.backlog_max_ns > 10_000_000 for client in clients)
    _, found = ran.verdict("random_read", load=Load.CLOSED)
    assert found["L07"].state is State.NOT_APPLICABLE


def test_a_few_operations_of_a_schedule_make_its_rate(subtests, laboratory):
    for clients in [1, 2]:
        with subtests.test(clients=clients):
            knobs = {"operations": ("random_read",), "record_size": 4 * KIB, "rate": 20, "duration": 10**9}
            ran = Ran(laboratory, clients=clients, **knobs)
            phase = ran.phase("random_read")
            assert phase.due_ns == phase.start_ns + 10**9
            assert sum(client.operations[0].count for client in phase.clients) == 20
            rate = measures.value(ran.run, ran.seen, Measure(workload="w", operation="random_read", figure="ops_per_s"))
            assert rate.value == pytest.approx(20, rel=0.02), "n operations have n - 1 gaps between them"


def planted(at_byte):
    """Overwrites a few bytes of the workload's file while it is read."""
    where = "of={directory}/w-0-0.data"
    return ("sh", "-c", f"printf wrong | dd {where} bs=1 seek={at_byte} conv=notrunc status=none")


def test_a_planted_corruption_is_found(subtests, laboratory):
    for operations in [("read",), ("write", "read")]:
        with subtests.test(operations=operations):
            event = Event(phase="read", at_ns=50_000_000, argv=planted(8 * MIB - 1000))
            knobs = {"operations": operations, "verify": "all", "record_size": 64 * KIB, "rate": 160, "ops": 128}
            ran = Ran(laboratory, events=(event,), **knobs)
            total = ran.totals("read")["read"]
            (error,) = ran.phase("read").clients[0].errors
            assert (total.count, total.errors) == (128, 1)
            assert (error.operation, error.what, error.count) == ("read", "verify", 1)
            assert error.path.endswith("w-0-0.data")
            verdict, found = ran.verdict("read")
            assert verdict.state is VerdictState.INVALID
            assert "Records with wrong data" in found["E05"].statement


def test_errors_that_end_a_phase_say_what_they_are():
    result = {"stopped_by": "error", "errors": [{"operation": "read", "errno": 84, "what": "verify", "count": 9, "path": "/x"}]}
    assert "read /x: a record differs from the written data (9 times)" in outcome_of({0: result}, {}, frozenset())[1]


def test_workers_of_two_clients_share_a_file_and_all_of_it_is_written(subtests, laboratory):
    """What is read is held against the generation of the write: a record that nobody wrote would be told."""
    for layout in ["segments", "interleaved", "random"]:
        with subtests.test(layout=layout):
            knobs = {
                "operations": ("write", "read", "reread"),
                "sharing": "one-file",
                "layout": layout,
                "workers": 2,
                "verify": "all",
            }
            ran = Ran(laboratory, clients=2, size=101 * 4 * KIB, record_size=4 * KIB, overwrite=True, **knobs)
            for name in ("write", "read", "reread"):
                phase = ran.phase(name)
                counts = [client.operations[0].count for client in phase.clients]
                assert sum(counts) == 101
                assert max(counts) - min(counts) <= 2
                assert [client.errors for client in phase.clients] == [(), ()]
                assert len(phase.data_files) == 1


def test_a_mix_has_its_share_of_reads(laboratory):
    knobs = {"operations": ("random_mix",), "read_share": 0.67, "record_size": 4 * KIB, "ops": 20_000, "verify": "all"}
    ran = Ran(laboratory, flush_every=5000, **knobs)
    totals = ran.totals("random_mix")
    reads, writes = totals["random_read"].count, totals["random_write"].count
    assert reads + writes == 20_000
    assert reads / 20_000 == pytest.approx(0.67, abs=0.017), "five standard deviations"
    assert totals["flush"].count == 2
    assert ran.phase("random_mix").clients[0].errors == ()
    directions = {one.direction: one.operations for one in ran.seen.readings if one.rung is Rung.APPLICATION}
    assert (directions[Direction.READ], directions[Direction.WRITE]) == (reads, writes)


def test_writing_back_leaves_no_flush_in_the_clock(laboratory):
    ran = Ran(laboratory, operations=("write",), flush_every=2, flush_call="sync_file_range")
    phase = ran.phase("write")
    assert (ran.totals("write")["writeback"].count, phase.flush_in_clock) == (4, False)
    assert phase.drain_ns is not None


def test_iozones_operations_in_one_workload(laboratory):
    patterns = (
        "write",
        "rewrite",
        "read",
        "reread",
        "random_read",
        "random_write",
        "backward_read",
        "record_rewrite",
        "stride_read",
    )
    names = (*patterns, "stdio_write", "stdio_rewrite", "stdio_read", "stdio_reread")
    ran = Ran(laboratory, operations=names, size=256 * KIB, record_size=4 * KIB)
    assert [phase.name for phase in ran.run.phases] == [f"w.{name}" for name in names]
    assert {ran.totals(name)[name].bytes for name in names} == {256 * KIB}
