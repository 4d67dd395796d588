"""D08: acknowledged records that are not there after an event disprove a claim of stable media."""

from dataclasses import replace

import pytest

from assay.records import Action, Claim, DrillEnd, Durability, Event, State, WorkloadSpec
from assay.rules.acknowledged_lost import RULE
from audit.case_builder import SECOND, Made, case_of

POWER = Event(phase="append", at_ns=3 * SECOND, on="", action=Action.POWER, for_ns=SECOND)
KILL = replace(POWER, action=Action.KILL)


def judged(end, *events, kind="drill"):
    case = case_of(Made(operation="write", claim=Claim(durability=Durability.STABLE_MEDIA)), "D08")
    (phase,) = case.run.phases
    append = replace(phase, name="w.append", workload="w")
    (client, *_) = phase.clients
    checks = () if end is None else (replace(phase, name="w.check", workload="w", clients=(replace(client, drill=end),)),)
    spec = WorkloadSpec(name="w", kind=kind, knobs={}, events=events)
    case = replace(
        case,
        experiment=replace(case.experiment, workloads=(spec,)),
        run=replace(case.run, phases=(append, *checks)),
        phase=append,
        measure=replace(case.measure, workload="w"),
    )
    return RULE.applies(case) or RULE.check(case)


def test_all_records_after_a_cut_of_the_power_pass():
    finding = judged(DrillEnd(acknowledged=2000, intact=2000), POWER)
    assert finding.state is State.PASS
    assert "All 2,000 acknowledged records are intact; the power was cut once" in finding.statement


@pytest.mark.parametrize("event", [POWER, KILL])
@pytest.mark.parametrize("field", ["lost", "changed", "unreadable"])
def test_one_record_that_is_not_there_fails_whatever_the_event_was(event, field):
    end = DrillEnd(acknowledged=2000, intact=1999, first_bad=7, last_bad=7, **{field: 1})
    finding = judged(end, event)
    assert finding.state is State.FAIL
    assert f"of 2,000 acknowledged records 1 {field} (numbers 7 to 7)" in finding.statement


def test_without_a_cut_of_the_power_nothing_is_proved():
    finding = judged(DrillEnd(acknowledged=2000, intact=2000), KILL)
    assert finding.state is State.UNVERIFIED
    assert "no power was cut" in finding.statement
    assert judged(DrillEnd(acknowledged=5, intact=5), POWER).state is State.UNVERIFIED, "too few"
    assert judged(None, POWER).state is State.UNVERIFIED


def test_other_workloads_have_no_acknowledged_records():
    assert "no drill" in judged(None, kind="bulk_io")
