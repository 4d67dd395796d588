"""The rows of the report's tables."""

from dataclasses import replace

import notebook_records as made
from assay.analysis.cells import cells
from assay.records import (
    Bound,
    Cell,
    Estimate,
    Exclusion,
    ExclusionReason,
    Judged,
    Method,
    Observations,
    Results,
    Severity,
    State,
    VerdictState,
)
from assay.report import listing


def test_figures_stand_in_brackets_beside_their_bound_and_tainted_ones_have_their_reason():
    asked = made.experiment()
    plan = made.plan(asked)
    run = made.run(plan.trials[0])
    bound = Bound(low=None, high=900.0, unit="1/s")
    one = Judged(
        run=run, verdicts={made.RATE: replace(made.verdict(run, made.RATE, 5000.0), state=VerdictState.INVALID, bound=bound)}
    )
    mean = Estimate(value=5000.0, low=None, high=None, confidence=0.95, unit="1/s", n=1, method=Method.MEAN)
    cell = Cell(
        measure=made.RATE,
        levels={},
        estimate=None,
        values={},
        excluded={one.id: Exclusion(reason=ExclusionReason.INVALID)},
        unfiltered=mean,
    )
    (row,) = listing.figures(Results(experiment=asked, plan=plan, runs=(one,), cells=(cell,)))
    assert (row.value, row.interval, row.state) == ("(5,000/s)", "n = 0; at most 900/s", VerdictState.INVALID)
    counting = replace(cell, estimate=mean, values={one.id: 5000.0}, excluded={}, unfiltered=None)
    (row,) = listing.figures(Results(experiment=asked, plan=plan, runs=(one,), cells=(counting,)))
    assert (row.value, row.interval) == ("5,000/s", "n = 1")
    asked = made.experiment()
    plan = made.plan(asked)
    run = made.run(plan.trials[0])
    noise = replace(made.finding("run:0001/1", State.FAIL), rule="N03", severity=Severity.QUALIFIES)
    found = made.verdict(run, made.RATE, 5000.0)
    disturbed = replace(found, findings=(noise,), label=replace(found.label, disturbed_by="N03"))
    mean = Estimate(value=5000.0, low=None, high=None, confidence=0.95, unit="1/s", n=1, method=Method.MEAN)
    cell = Cell(measure=made.RATE, levels={}, estimate=mean, values={run.id: 5000.0}, excluded={})
    for state, reason in ((VerdictState.TAINTED, True), (VerdictState.BOUNDED, False)):
        judged = Judged(run=run, verdicts={made.RATE: replace(disturbed, state=state)})
        (row,) = listing.figures(Results(experiment=asked, plan=plan, runs=(judged,), cells=(cell,)))
        assert row.state is state
        assert ("(N03)" in row.label) == reason


def test_a_measure_of_many_combinations_opens_with_one_line_of_them_all():
    asked = made.experiment(("a", "b", "c"), clients=(1, 2, 4))
    plan = made.plan(asked, 1)
    runs = tuple(made.judged(made.run(trial), {made.RATE: 100.0 * trial.id}) for trial in plan.trials)
    told = Results(experiment=asked, plan=plan, runs=runs, cells=cells(asked, plan, runs, lambda _: Observations()))
    (row,) = listing.opening(told)
    assert (row.value, row.levels) == ("100 to 900/s", "9 combinations of target and clients")
    assert "9 SOUND" in row.label
    few = Results(experiment=asked, plan=plan, runs=runs[:4], cells=told.cells[:4])
    assert len(listing.opening(few)) == 4


def test_knobs_that_are_empty_are_not_told():
    asked = made.experiment()
    empty = replace(asked.targets[0], knobs={"size": 4096, "mount_options": (), "scratch": None})
    told = dict(listing.again(Results(experiment=replace(asked, targets=(empty,)), plan=made.plan(asked), runs=()), None))
    assert "size = 4,096" in told["Targets"]
    assert "mount_options" not in told["Targets"]
