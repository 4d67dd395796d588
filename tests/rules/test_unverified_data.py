"""G06: reads that looked, writes that were read back, nobody who looked, and data that were not there any more."""

from dataclasses import replace

from assay.records import Direction, EngineError, Severity, State, WorkloadSpec
from assay.rules.unverified_data import RULE
from audit.case_builder import DIRECTIONS, Made, case_of, run_of
from stage.rows import each


def phase(name, operation, wrong=0):
    made = run_of(Made(operation=operation, count=640)).phases[0]
    error = EngineError(operation=operation, code=84, count=wrong, path="/f", what="verify")
    (client,) = made.clients
    return replace(made, name=name, clients=(replace(client, errors=(error,) if wrong else ()),))


def case(*phases, verify="all", kind="bulk_io", **knobs):
    """The first phase is the measure's."""
    found = case_of(Made(operation=phases[0].operations[0], count=640), "G06")
    spec = WorkloadSpec(name="w", kind=kind, knobs={"verify": verify, **knobs})
    return replace(
        found, phase=phases[0], run=replace(found.run, phases=phases), experiment=replace(found.experiment, workloads=(spec,))
    )


def test_what_nobody_can_know_is_not_judged():
    write = phase("w.write", "write")
    assert "content of command data is unknown" in (RULE.applies(case(write, kind="command")) or "")
    assert "existing file" in (RULE.applies(case(write, file="/data")) or "")
    assert "no data" in (RULE.applies(case(phase("w.write", "flush"))) or "")
    assert RULE.applies(case(write)) is None


@each("operation", "read", "write", "random_write")
def test_without_verification_it_is_unverified_and_says_how(operation):
    found = RULE.check(case(phase("p", operation), verify=None))
    assert (found.state, "verify =" in found.statement) == (State.UNVERIFIED, True)


@each("verify looked", ("all", 640), ("sample", 10))
def test_a_read_looks_for_itself(verify, looked):
    found = RULE.check(case(phase("p", "random_read"), verify=verify))
    assert (found.state, found.observed["looked_at"]) == (State.PASS, looked)


def test_a_write_is_looked_at_by_the_reads_after_it():
    write, read = phase("w.write", "write"), phase("w.read", "read")
    assert RULE.check(case(write, read)).state is State.PASS
    assert RULE.check(case(write, replace(read, workload="other"))).state is State.UNVERIFIED


def test_a_write_whose_data_are_not_there_is_refused_and_so_is_the_read():
    write, read = phase("w.write", "write"), phase("w.read", "read", wrong=3)
    found = RULE.check(case(write, read))
    assert (found.state, found.severity, found.observed["wrong"]) == (State.FAIL, Severity.INVALIDATES, 3)
    assert "3 records" in found.statement
    assert RULE.check(case(read)).state is State.FAIL


def test_what_a_later_write_left_says_nothing_of_an_earlier_one():
    write, rewrite, read = phase("w.write", "write"), phase("w.rewrite", "random_write"), phase("w.read", "read", wrong=1)
    assert RULE.check(case(write, rewrite, read)).state is State.UNVERIFIED
    assert RULE.check(case(write, phase("w.reread", "read"), rewrite, read)).state is State.PASS


def test_the_reads_of_a_mix_look_at_its_writes():
    mix = phase("w.random_mix", "random_write")
    (client,) = mix.clients
    reads = replace(client.operations[0], operation="random_read")
    both = replace(mix, clients=(replace(client, operations=(*client.operations, reads)),), directions=DIRECTIONS)
    assert both.directions["random_read"] is Direction.READ
    assert RULE.check(case(both)).state is State.PASS
