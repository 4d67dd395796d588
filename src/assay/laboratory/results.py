"""From the stored runs of an experiment to its results by today's rules."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from assay.analysis import cells, compare, dips, ranking, require, sensitivity, steady_state, time_differences, times
from assay.analysis.scaling import bounds, efficiency, law
from assay.audit import judge, limits
from assay.errors import DamagedError
from assay.notebook import read as notebook
from assay.notebook.store import Store
from assay.records import Experiment, Judged, Observations, Outcome, Results, Run


def current(folder: Path) -> Results:
    """An experiment by today's rules: what is stored is taken, what is not is made in memory; nothing is written."""
    kept = notebook.results(folder, judge.ruleset())
    if not all(judged.verdicts for judged in kept.runs if judged.run.outcome is Outcome.FINISHED):
        return judged_anew(folder)
    if kept.cells or not kept.runs:
        return kept
    try:
        return answered(kept, notebook.remembered(folder))
    except DamagedError:
        return judged_anew(folder)


def judged_anew(folder: Path, bound_factor: float | None = None) -> Results:
    """Verdicts, cells, comparisons, requirements, dips and findings from the raw data; evidence that is damaged is named.

    `bound_factor` takes the place of the one that the experiment's file names.
    """
    kept = notebook.results(folder, judge.ruleset())
    if bound_factor is not None:
        kept = replace(kept, experiment=replace(kept.experiment, bound_factor=bound_factor))
    load = notebook.remembered(folder)
    runs, damaged = [], dict(kept.damaged)
    for old in kept.runs:
        try:
            finished = old.run.outcome is Outcome.FINISHED
            runs.append(judged_run(kept.experiment, old.run, load(old.id)) if finished else Judged(run=old.run, verdicts={}))
        except DamagedError as error:
            damaged[old.id] = str(error)
    return answered(replace(kept, runs=tuple(runs), damaged=damaged, ruleset=judge.ruleset()), load)


def judged_run(experiment: Experiment, run: Run, observations: Observations) -> Judged:
    """A finished run with the audit's verdicts and how its figures went over time."""
    verdicts = judge.judge_run(experiment, run, observations)
    return Judged(
        run=run,
        verdicts={verdict.measure: verdict for verdict in verdicts},
        courses=steady_state.courses(experiment, run, observations),
    )


def answered(bare: Results, load: notebook.Load) -> Results:
    """The results with everything that follows from judged runs."""
    experiment, plan, runs = bare.experiment, bare.plan, bare.runs
    table = cells.cells(experiment, plan, runs, load, limits.bound_factor(experiment))
    comparisons = efficiency.scaled(experiment, compare.comparisons(experiment, table, runs), runs, load)
    comparisons = time_differences.explained(experiment, table, comparisons, runs, load)
    ranked = ranking.rankings(experiment, table, runs)
    verdicts = judge.judge_comparisons(experiment, plan, runs, (*comparisons, *(one.ahead for one in ranked)), load)
    return replace(
        bare,
        cells=table,
        comparisons=comparisons,
        comparison_verdicts=verdicts,
        rankings=ranked,
        requirements=require.requirements(experiment, table, comparisons, runs, lambda one: verdicts[one.id].state),
        dips=dips.dips(experiment, table, runs),
        scaling=law.judged((*law.scaling(experiment, table, comparisons), *bounds.bounded(experiment, runs, table, load)), table),
        sensitivity=sensitivity.sensitivity(experiment, table, runs),
        times=times.spent(experiment, table, runs, load),
        findings=judge.judge_experiment(experiment, plan, runs),
    )


def conclude(store: Store) -> Results:
    """Compute everything that follows from the runs and keep it under `derived/`."""
    results = current(store.folder)
    store.derive(results.ruleset, results)
    return results


def gated(folder: Path, results: Results, bound_factor: float | None) -> Results:
    """The results as a gate sees them that names how far apart bounds may be; nothing of it is kept."""
    return results if bound_factor is None else judged_anew(folder, bound_factor)
