"""Cases for the rules of comparison: two arms of runs with values, from a plan in blocks or in sittings."""

from collections.abc import Callable, Sequence
from dataclasses import replace

from assay.analysis.cells import cells
from assay.analysis.compare import comparisons
from assay.audit import judge, limits
from assay.catalogue import ComparisonCase
from assay.records import Change, Claim, Experiment, Judged, Load, Observations, Phase, Plan, Trial
from stage import notebook_records as made


def no_evidence(run: str) -> Observations:
    raise AssertionError(f"the verdict of {run} has the value")


def case(
    rule: str,
    values: Callable[[Trial], float],
    *,
    measure: str = made.RATE,
    change: Change = Change.AUTOMATIC,
    returns: int = 0,
    blocks: int = 6,
    apart: bool = False,
    phases: Callable[[Trial], Phase] | None = None,
    load: Load | None = None,
    compare: str = "target",
) -> ComparisonCase:
    """The case of the first comparison; `apart` starts all runs of one arm before those of the other."""
    asked = made.experiment(measures=(measure,), change=change, returns=returns)
    plan = made.plan(asked, blocks)
    runs = [made.judged(made.run(t, phases=[phases(t)] if phases else ()), {measure: values(t)}) for t in plan.trials]
    if apart:
        order = sorted(runs, key=lambda judged: str(judged.run.trial.levels["target"]))
        runs = [started(judged, place) for place, judged in enumerate(order)]
    (found,) = comparisons(asked, cells(asked, plan, runs, no_evidence), runs)
    arms = {level: [j for j in runs if j.run.trial.levels["target"] == level] for level in ("ext4", "xfs")}
    return ComparisonCase(
        subject="comparison",
        experiment=asked,
        plan=plan,
        comparison=replace(found, factor=compare),
        measure=asked.measures[0],
        claim=Claim(load=load),
        baseline=tuple((j.run, Observations()) for j in arms["ext4"]),
        candidate=tuple((j.run, Observations()) for j in arms["xfs"]),
        verdicts={j.id: j.verdicts[measure] for j in runs},
        thresholds=limits.thresholds(rule),
    )


def started(judged: Judged, place: int) -> Judged:
    return replace(judged, run=replace(judged.run, started_utc=f"2026-01-01T00:00:{place:02d}+00:00"))


def of_runs(rule: str, asked: Experiment, plan: Plan, runs: Sequence[Judged], which: int = 0) -> ComparisonCase:
    """The case of one comparison of these runs, with what it leaves out, as the judge would put it before a rule."""
    one = comparisons(asked, cells(asked, plan, runs, no_evidence), runs)[which]
    baseline, candidate = (judge.arm(one, level, runs) for level in (one.baseline, one.candidate))
    measure = next(measure for measure in asked.measures if measure.name == one.measure)
    return ComparisonCase(
        subject="comparison",
        experiment=asked,
        plan=plan,
        comparison=one,
        measure=measure,
        claim=Claim(),
        baseline=tuple((j.run, Observations()) for j in baseline),
        candidate=tuple((j.run, Observations()) for j in candidate),
        verdicts={j.id: j.verdicts[measure.name] for j in (*baseline, *candidate)},
        thresholds=limits.thresholds(rule),
        left_out=tuple(j for j in runs if j.id in one.excluded),
    )
