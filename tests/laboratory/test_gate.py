"""The gate: which results end with which status."""

from assay.laboratory.gate import BAD_VERDICT, UNMET, Gate, is_worse, status
from assay.records import (
    Claim,
    Experiment,
    Judged,
    Label,
    Nature,
    Outcome,
    Plan,
    RequirementKind,
    RequirementResult,
    RequirementState,
    Results,
    Run,
    Trial,
    Verdict,
    VerdictState,
)
from stage.rows import each


def results(verdict: VerdictState, requirement: RequirementState = RequirementState.MET) -> Results:
    trial = Trial(id=1, experiment="x", levels={}, replicate=0, block=0, sitting=0, position=0, seed=1)
    run = Run(
        trial=trial,
        attempt=1,
        outcome=Outcome.FINISHED,
        started_utc="",
        ended_utc="",
        hosts=(),
        places=(),
        phases=(),
        versions={},
    )
    said = Verdict(
        subject="run:0001/1:m",
        run="0001/1",
        measure="m",
        claim=Claim(),
        value=1.0,
        unit="",
        corrected=None,
        state=verdict,
        label=Label(nature=Nature.AS_SEEN),
        bound=None,
        findings=(),
    )
    kind = RequirementKind.AT_MOST
    met = RequirementResult(measure="m", kind=kind, text="<= 1", levels={}, estimate=None, state=requirement, verdict=verdict)
    experiment = Experiment(title="t", question="", targets=(), workloads=(), factors=(), measures=())
    plan = Plan(experiment="x", seed=1, trials=(trial,), blocks=1, drawn_blocks=1, sittings=(None,))
    return Results(experiment=experiment, plan=plan, runs=(Judged(run=run, verdicts={"m": said}),), requirements=(met,))


@each("state", *list(VerdictState))
def test_without_a_gate_every_verdict_ends_well(state):
    assert status(results(state, RequirementState.NOT_MET), Gate.OFF) == 0


@each(
    "state on strict",
    (VerdictState.SOUND, 0, 0),
    (VerdictState.BOUNDED, 0, 0),
    (VerdictState.UNVERIFIED, 0, BAD_VERDICT),
    (VerdictState.TAINTED, BAD_VERDICT, BAD_VERDICT),
    (VerdictState.INVALID, BAD_VERDICT, BAD_VERDICT),
)
def test_bad_verdicts_end_with_three(state, on, strict):
    assert status(results(state), Gate.ON) == on
    assert status(results(state), Gate.STRICT) == strict


@each(
    "state on strict",
    (RequirementState.MET, 0, 0),
    (RequirementState.NOT_MET, UNMET, UNMET),
    (RequirementState.UNDECIDED, 0, UNMET),
)
def test_unmet_requirements_end_with_four(state, on, strict):
    assert status(results(VerdictState.SOUND, state), Gate.ON) == on
    assert status(results(VerdictState.SOUND, state), Gate.STRICT) == strict


@each(
    "verdict requirement ends",
    (VerdictState.TAINTED, RequirementState.UNDECIDED, 0),
    (VerdictState.UNVERIFIED, RequirementState.MET, 0),
    (VerdictState.INVALID, RequirementState.NOT_MET, BAD_VERDICT),
    (VerdictState.TAINTED, RequirementState.NOT_MET, UNMET),
)
def test_the_gate_for_changes_lets_noise_through_and_no_invalid_number(verdict, requirement, ends):
    assert status(results(verdict, requirement), Gate.WORSE) == ends


@each(
    "value ends lower_better worse",
    (1.10, (1.02, 1.18), True, True),
    (1.10, (0.99, 1.21), True, False),
    (1.04, (1.01, 1.07), True, False),
    (0.80, (0.70, 0.90), True, False),
    (0.90, (0.85, 0.95), False, True),
    (0.90, (0.80, 1.01), False, False),
    (1.20, (1.10, 1.30), False, False),
    (1.10, (None, None), True, False),
)
def test_worse_is_decided_by_the_interval_and_by_what_matters(value, ends, lower_better, worse):
    assert is_worse(value, ends, 0.05, lower_better=lower_better) is worse
