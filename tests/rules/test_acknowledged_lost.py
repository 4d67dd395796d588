"""D08: acknowledged records that are not there after an event disprove a claim of stable media."""

from dataclasses import replace

from assay.records import Action, Claim, DrillEnd, Durability, Event, State, WorkloadSpec
from assay.rules.acknowledged_lost import RULE
from audit.case_builder import SECOND, Made, case_of, progress
from stage.rows import each
from stage.said import FAIL, PASS, UNVERIFIED, hold

POWER = Event(phase="append", at_ns=3 * SECOND, on="", action=Action.POWER, for_ns=SECOND)
KILL = replace(POWER, action=Action.KILL)


def judged(end, *events, kind="drill", other=None, noted=None):
    made = Made(operation="write", count=2000, seconds=16.0, claim=Claim(durability=Durability.STABLE_MEDIA))
    case = case_of(made, "D08")
    (phase,) = case.run.phases
    (client, *_) = phase.clients
    appended = (replace(client, drill=noted),) if noted else phase.clients
    append = replace(phase, name="w.append", workload="w", clients=appended)
    looks = {"w.check": end, "w.check_other": other}
    checks = tuple(
        replace(phase, name=name, workload="w", clients=(replace(client, drill=one),)) for name, one in looks.items() if one
    )
    spec = WorkloadSpec(name="w", kind=kind, knobs={}, events=events)
    case = replace(
        case,
        experiment=replace(case.experiment, workloads=(spec,)),
        run=replace(case.run, phases=(append, *checks)),
        phase=append,
        observations=replace(case.observations, series=(replace(progress("write.count", [125.0] * 16, 1.0), phase="w.append"),)),
        measure=replace(case.measure, workload="w"),
    )
    return RULE.applies(case) or RULE.check(case)


@each("event", POWER, KILL)
@each("field", "lost", "changed")
def test_one_record_that_is_not_there_fails_whatever_the_event_was(event, field):
    end = DrillEnd(acknowledged=2000, intact=1999, first_bad=7, last_bad=7, **{field: 1})
    finding = judged(end, event)
    assert finding.state is State.FAIL
    assert f"of 2,000 acknowledged records 1 {field} (numbers 7 to 7)" in finding.statement


@each("event", POWER, KILL)
def test_records_that_nobody_could_read_are_not_lost(event):
    """The server was not back when they were looked for: nothing shows that they are gone."""
    finding = judged(DrillEnd(acknowledged=2000, intact=500, unreadable=1500, first_bad=500, last_bad=1999), event)
    assert finding.state is State.UNVERIFIED
    assert finding.relabel is None
    assert "1,500 of 2,000" in finding.statement


def test_other_workloads_have_no_acknowledged_records():
    assert "no drill" in judged(None, kind="bulk_io")


def test_states():
    hold(
        ("all records after a cut of the power pass", judged(DrillEnd(acknowledged=2000, intact=2000), POWER), PASS, "2,000"),
        "without a cut of the power nothing is proved",
        (judged(DrillEnd(acknowledged=2000, intact=2000), KILL), UNVERIFIED),
        (judged(DrillEnd(acknowledged=5, intact=5), POWER), UNVERIFIED),
        (judged(None, POWER), UNVERIFIED),
        "a lost record is named also where another client could read none",
        (
            judged(
                DrillEnd(acknowledged=2000, intact=1999, lost=1, first_bad=7, last_bad=7),
                POWER,
                other=DrillEnd(acknowledged=2000, unreadable=2000, first_bad=0, last_bad=1999),
            ),
            FAIL,
            "2,000",
        ),
        "a record that two clients look for counts once",
        (judged(DrillEnd(acknowledged=2000, intact=2000), POWER, other=DrillEnd(acknowledged=2000, intact=2000)), "2,000"),
        (judged(DrillEnd(acknowledged=60, intact=60), POWER, other=DrillEnd(acknowledged=60, intact=60)), UNVERIFIED),
        "a check that looked for a part proves nothing",
        (judged(DrillEnd(acknowledged=500, intact=500), POWER, noted=DrillEnd(acknowledged=2000)), UNVERIFIED, "1,500 of 2,000"),
        # 2,000 records in 16 s: 25 of them before a cut at 0.2 s.
        "records that were acknowledged after the cut were never at risk",
        (judged(DrillEnd(acknowledged=2000, intact=2000), replace(POWER, at_ns=SECOND // 5)), UNVERIFIED),
    )
