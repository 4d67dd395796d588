"""Requirements are decided by intervals; relative ones know which way is better."""

from assay.analysis.cells import cells
from assay.analysis.compare import comparisons
from assay.analysis.require import decide, requirements
from assay.records import Change, Estimate, Method, Requirement, RequirementKind, RequirementState, VerdictState
from stage import notebook_records as made
from stage.rows import each

MET, NOT_MET, UNDECIDED = RequirementState.MET, RequirementState.NOT_MET, RequirementState.UNDECIDED


def estimate(low, high):
    return Estimate(value=1.0, low=low, high=high, confidence=0.95, unit="", n=5, method=Method.MEAN)


@each(
    "low high at_most expected",
    (1.0, 2.0, True, MET),
    (1.0, 2.1, True, UNDECIDED),
    (2.1, 3.0, True, NOT_MET),
    (2.0, 3.0, False, MET),
    (1.9, 3.0, False, UNDECIDED),
    (1.0, 1.9, False, NOT_MET),
    (None, None, True, UNDECIDED),
)
def test_the_whole_interval_decides(low, high, at_most, expected):
    assert decide(estimate(low, high), 2.0, at_most=at_most) is expected
    assert decide(None, 2.0, at_most=at_most) is UNDECIDED


def results_of(measure, kind, bound, candidate, state=VerdictState.SOUND, **changes):
    wanted = Requirement(measure=measure, kind=kind, bound=bound, text=f"{kind.value} {bound}")
    asked = made.experiment(measures=(measure,), requirements=(wanted,), **changes)
    plan = made.plan(asked)
    runs = [
        made.judged(
            made.run(t), {measure: 100.0 * (candidate if t.levels["target"] == "xfs" else 1) * (1 + t.block / 1000)}, state
        )
        for t in plan.trials
    ]

    def no_evidence(run):
        raise AssertionError(run)

    table = cells(asked, plan, runs, no_evidence)
    return requirements(asked, table, comparisons(asked, table, runs), runs)


@each(
    "measure candidate expected",
    (made.RATE, 0.96, MET),
    (made.RATE, 0.9, NOT_MET),
    (made.LATENCY, 1.04, MET),
    (made.LATENCY, 1.1, NOT_MET),
)
def test_not_worse_than_follows_the_better_side(measure, candidate, expected):
    (result,) = results_of(measure, RequirementKind.NOT_WORSE_THAN, 0.05, candidate)
    assert result.state is expected
    assert result.levels == {"target": "xfs"}
    assert result.verdict is VerdictState.SOUND


def test_a_bound_is_asked_of_every_cell_and_without_a_baseline_not_forgotten():
    ext4, xfs = results_of(made.RATE, RequirementKind.AT_LEAST, 110.0, 1.5)
    assert (ext4.levels, ext4.state) == ({"target": "ext4"}, NOT_MET)
    assert (xfs.levels, xfs.state) == ({"target": "xfs"}, MET)
    (result,) = results_of(made.RATE, RequirementKind.NOT_WORSE_THAN, 0.05, 1.0, change=Change.MANUAL)
    assert (result.state, result.verdict) == (MET, VerdictState.BOUNDED)
    for result in results_of(made.RATE, RequirementKind.AT_LEAST, 110.0, 1.5, VerdictState.INVALID):
        assert (result.state, result.verdict) == (UNDECIDED, VerdictState.INVALID)
    (result,) = results_of(made.RATE, RequirementKind.NOT_WORSE_THAN, 0.05, 1.0, levels=("ext4",))
    assert (result.state, result.verdict, result.estimate) == (UNDECIDED, VerdictState.UNVERIFIED, None)
