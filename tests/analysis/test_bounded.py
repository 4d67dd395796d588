"""The two things of a BOUNDED cell: the interval of what was measured, and the range of what is true; and what is no sample."""

from dataclasses import replace

import numpy as np
import pytest

from assay.analysis.cells import cells
from assay.analysis.compare import comparisons
from assay.analysis.require import requirements
from assay.laboratory.gate import BAD_VERDICT, Gate, status
from assay.records import (
    Bound,
    Conclusion,
    Observations,
    Outcome,
    Requirement,
    RequirementKind,
    RequirementState,
    Results,
    Severity,
    State,
    VerdictState,
)
from assay.statistics.partial_identification import identified
from stage import notebook_records as made
from stage.rows import each

SOUND, BOUNDED, TAINTED, UNVERIFIED, INVALID = (
    *(VerdictState.SOUND, VerdictState.BOUNDED, VerdictState.TAINTED, VerdictState.UNVERIFIED, VerdictState.INVALID),
)
FACTOR = 2.0


def no_evidence(run: str) -> Observations:
    raise AssertionError(f"the verdict of {run} has the value")


def noisy(one, lost):
    """The run with a bound: it lost at most this share of its time to a neighbour."""
    (verdict,) = one.verdicts.values()
    bound = Bound(low=verdict.value, high=verdict.value / (1 - lost), unit="1/s")
    noise = replace(verdict.findings[0], rule="N03", name="foreign-activity", part="noise", state=State.FAIL)
    noise = replace(noise, severity=Severity.QUALIFIES, bound=bound)
    return replace(one, verdicts={verdict.measure: replace(verdict, state=BOUNDED, bound=bound, findings=(noise,))})


def runs_of(asked, value, lost):
    """Runs of 5 blocks; `lost(trial)` is what noise took at most, None where nothing did."""
    plan = made.plan(asked)
    every = [made.judged(made.run(t), {made.RATE: value(t) * (1 + t.block / 1000)}) for t in plan.trials]
    return plan, [noisy(one, share) if (share := lost(one.run.trial)) is not None else one for one in every]


def of_one(lost, value=lambda _: 100.0, factor=FACTOR):
    asked = made.experiment(levels=("ext4",))
    plan, runs = runs_of(asked, value, lost)
    (cell,) = cells(asked, plan, runs, no_evidence, factor)
    return cell


@each(
    "lost low high verdict",
    (lambda _: 0.2, 99.9, 125.6, BOUNDED),
    (lambda t: 0.2 if t.block < 3 else None, 99.9, 129.2, BOUNDED),  # too few quiet runs: all count, each with its bound
    (lambda _: 0.6, 99.9, 251.0, TAINTED),
)
def test_a_cell_has_the_interval_of_what_was_measured_and_the_range_of_what_is_true(lost, low, high, verdict):
    cell = of_one(lost)
    one = cell.estimate
    assert one.low == pytest.approx(100.0, abs=0.2)
    assert one.high == pytest.approx(100.4, abs=0.2)
    assert (one.range.low, one.range.high) == (pytest.approx(low, abs=0.3), pytest.approx(high, rel=0.02))
    assert cell.verdict is verdict


def test_a_wider_factor_is_the_files_or_the_gates_to_name():
    assert of_one(lambda _: 0.6, factor=3.0).verdict is BOUNDED
    assert of_one(lambda _: 0.2, factor=1.1).verdict is TAINTED


def test_without_bounds_there_is_no_range():
    assert of_one(lambda _: None).estimate.range is None
    assert of_one(lambda _: None).verdict is SOUND


@each(
    "candidate lost conclusion",
    (1.5, (None, None), Conclusion.MATTERS),
    (1.5, (0.2, 0.2), Conclusion.MATTERS),  # at worst 1.5 x 0.8 = 1.2
    (1.2, (0.2, 0.2), Conclusion.UNDECIDED),  # at worst 0.96
    (1.0, (0.2, 0.2), Conclusion.UNDECIDED),  # not equivalent: 0.8 to 1.25
    (1.2, (None, 0.2), Conclusion.MATTERS),  # the candidate alone was held back: at least 1.2
    (1.2, (0.2, None), Conclusion.UNDECIDED),
)
def test_a_comparison_is_decided_by_the_worst_case_of_both_arms(candidate, lost, conclusion):
    asked = made.experiment()
    plan, runs = runs_of(
        asked,
        lambda t: 100.0 * (candidate if t.levels["target"] == "xfs" else 1),
        lambda t: lost[t.levels["target"] == "xfs"],
    )
    (one,) = comparisons(asked, cells(asked, plan, runs, no_evidence), runs)
    assert one.conclusion is conclusion
    assert one.ratio.value == pytest.approx(candidate)
    assert (one.ratio.range is None) == (lost == (None, None))
    if one.ratio.range is not None:
        assert one.ratio.range.low == pytest.approx(candidate * (1 - (lost[0] or 0.0)), rel=0.01)
        assert one.ratio.range.high == pytest.approx(candidate / (1 - (lost[1] or 0.0)), rel=0.01)


@each(
    "kind bound state",
    (RequirementKind.AT_LEAST, 99.0, RequirementState.MET),
    (RequirementKind.AT_MOST, 110.0, RequirementState.UNDECIDED),  # what was measured is below, what is true need not be
    (RequirementKind.AT_MOST, 130.0, RequirementState.MET),
    (RequirementKind.AT_LEAST, 110.0, RequirementState.UNDECIDED),
)
def test_a_requirement_is_decided_by_what_is_true(kind, bound, state):
    wanted = Requirement(measure=made.RATE, kind=kind, bound=bound, text="-")
    asked = made.experiment(levels=("ext4",), requirements=(wanted,))
    plan, runs = runs_of(asked, lambda _: 100.0, lambda _: 0.2)
    table = cells(asked, plan, runs, no_evidence, FACTOR)
    (found,) = requirements(asked, table, (), runs)
    assert (found.state, found.verdict) == (state, BOUNDED)
    assert found.estimate.range is not None


# ------------------------------------------------------------------------------------------- survivors are no sample


def results_of(states, attempts=1):
    """A run for each state, in blocks of their own; of None one that failed."""
    asked = made.experiment(levels=("ext4",))
    plan = made.plan(asked, len(states))
    runs = [
        made.judged(made.run(trial, attempt=attempts), {made.RATE: 100.0 + trial.block}, state)
        if state is not None
        else made.judged(made.run(trial, outcome=Outcome.FAILED), {})
        for trial, state in zip(plan.trials, states, strict=True)
    ]
    table = cells(asked, plan, runs, no_evidence, FACTOR)
    return Results(experiment=asked, plan=plan, runs=tuple(runs), cells=table)


@each(
    "states verdict gate",
    ((SOUND, SOUND, SOUND), SOUND, 0),
    ((SOUND, INVALID, INVALID), UNVERIFIED, BAD_VERDICT),
    ((SOUND, SOUND, INVALID), UNVERIFIED, BAD_VERDICT),
    ((SOUND, SOUND, None), UNVERIFIED, 0),
    ((INVALID, INVALID, INVALID), INVALID, BAD_VERDICT),
)
def test_what_others_left_is_no_sample(states, verdict, gate):
    found = results_of(states)
    assert found.cells[0].verdict is verdict
    assert status(found, Gate.ON) == gate


def test_noise_alone_may_be_set_aside():
    found = results_of((SOUND, SOUND, SOUND, SOUND, SOUND))
    first, *others = found.runs
    (cell,) = cells(found.experiment, found.plan, [made.disturbed(first), *others], no_evidence, FACTOR)
    assert (len(cell.values), cell.verdict) == (4, SOUND)


def test_a_gate_does_not_count_an_attempt_that_was_repeated():
    found = results_of((SOUND, SOUND, SOUND), attempts=2)
    spoiled = made.disturbed(made.judged(made.run(found.plan.trials[0]), {made.RATE: 50.0}))
    runs = (spoiled, *found.runs)
    table = cells(found.experiment, found.plan, runs, no_evidence, FACTOR)
    assert status(replace(found, runs=runs, cells=table), Gate.STRICT) == 0
    assert status(replace(found, runs=runs, cells=()), Gate.STRICT) == BAD_VERDICT


# ------------------------------------------------------------------------------------------------- what the range holds


@each("n distance", (3, 0.0), (3, 0.3), (5, 0.05), (5, 1.0), (10, 0.1))
def test_the_range_holds_the_truth_as_often_as_it_says(n, distance):
    """Noise of known size that took all that its bound allows: the truth is at the end of the range, its worst place."""
    draw, held, sets = np.random.default_rng(n * 100 + round(100 * distance)), 0, 2000
    for _ in range(sets):
        true = draw.normal(0.0, 0.05, n)
        lost = draw.uniform(0.5, 1.5, n) * distance
        low, high = identified(list(true - lost), list(true))
        held += low <= 0.0 <= high
    assert 0.935 <= held / sets <= 0.99, held / sets
