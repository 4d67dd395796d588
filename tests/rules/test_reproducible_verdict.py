import dataclasses

import pytest

from assay.records import Claim, Measure, Observations, OperationTotal, Printed, Severity, State, WorkloadSpec
from assay.rules.reproducible_verdict import RULE
from noise_cases import phase, run, trial_case

KNOBS = {"argv": ("tool",), "parse": "regex", "pattern": r"rate (\d+)", "unit": "MB/s", "operation": "write"}


def case(printed=None, values=None, *, figure="bytes_per_s", knobs=KNOBS):
    """A run of a command that reported `values`, of which each client printed one of these."""
    bare = phase()
    total = OperationTotal(operation="command", count=1, bytes=0, errors=0, busy_ns=10**9, first_ns=0, last_ns=10**9)
    clients = tuple(
        dataclasses.replace(bare.clients[0], index=index, operations=(total,), printed=one)
        for index, one in enumerate(printed or [None])
    )
    made = trial_case("E06", run(of=dataclasses.replace(bare, values=values or {}, clients=clients)), Observations())
    spec = WorkloadSpec(name="w", kind="command", knobs=knobs)
    measure = Measure(workload="w", operation="write", figure=figure, claim=Claim())
    return dataclasses.replace(made, measure=measure, experiment=dataclasses.replace(made.experiment, workloads=(spec,)))


def said(text, errors="", cut=False):
    return Printed(stdout=text, stderr=errors, cut=cut)


def test_a_figure_is_read_again_and_is_the_same():
    finding = RULE.check(case([said("rate 100\n")], {"write.bytes_per_s": 1e8}))
    assert finding.state is State.PASS
    assert "same figure again" in finding.statement


def test_several_commands_add_up_and_standard_error_is_read_too():
    both = [said("rate 100"), said("", "rate 50")]
    assert RULE.check(case(both, {"write.bytes_per_s": 1.5e8})).state is State.PASS


def test_a_result_that_was_not_kept_is_a_note_with_the_reason():
    finding = RULE.check(case([said("....", cut=True)], {"write.bytes_per_s": 1e8}))
    assert (finding.state, finding.severity) == (State.FAIL, Severity.NOTES)
    assert "Only the end of the output is stored" in finding.statement


def test_another_reading_of_the_same_output_is_told_with_both_figures():
    finding = RULE.check(case([said("rate 100")], {"write.bytes_per_s": 1e6, "write.count": 7.0}))
    assert finding.state is State.FAIL
    assert "write.bytes_per_s was 1e+06, is now 1e+08" in finding.statement
    assert "write.count missing now" in finding.statement


def test_a_knob_that_a_level_set_is_used():
    made = case([said("rate 100 speed 7")], {"write.bytes_per_s": 7e6})
    levels = {"w.pattern": r"speed (\d+)"}
    trial = dataclasses.replace(made.run.trial, levels=levels)
    assert RULE.check(dataclasses.replace(made, run=dataclasses.replace(made.run, trial=trial))).state is State.PASS


def test_output_that_was_not_kept_leaves_it_open_and_our_own_engines_pass():
    assert RULE.check(case(None, {"write.bytes_per_s": 1e8})).state is State.UNVERIFIED
    assert RULE.check(case()).state is State.PASS


@pytest.mark.parametrize("change", [{"value": None}, {"figure": "@local.cpu_share"}, {"target": "stat"}])
def test_what_is_no_figure_of_a_lab_is_not_judged(change):
    made = case(figure=change.get("figure", "bytes_per_s"))
    assert RULE.applies(made) is None or "figure" in change
    if "target" in change:
        places = tuple(dataclasses.replace(place, target="stat") for place in made.run.places)
        made = dataclasses.replace(made, run=dataclasses.replace(made.run, places=places))
    if "value" in change:
        made = dataclasses.replace(made, value=None)
    assert RULE.applies(made) is not None
