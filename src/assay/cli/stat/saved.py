"""`assay stat --save`: runs kept in a notebook, where `assay list`, `show`, `compare`, `report` and `audit` find them.

The same command again is one more run of the same experiment; another command is another arm of it, compared with the first.
What cannot be compared is another experiment: figures of another parser, another claim, another directory.
"""

from __future__ import annotations

import shlex
import time
from collections import Counter
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from assay.audit import judge
from assay.cli.stat.execution import JudgedExecution
from assay.errors import AssayError, BusyError
from assay.laboratory.results import conclude
from assay.notebook import layout
from assay.notebook import read as notebook
from assay.notebook.store import Store
from assay.records import Experiment, Factor, Outcome, Plan, Trial
from assay.watch.claims import WORKLOAD

FACTOR = f"{WORKLOAD}.argv"
QUESTION = "What does its number really measure?"
PATIENCE_S = 30.0
"""How long other calls that keep a run are waited for: a run that took hours is not thrown away for that."""


def save(lab: Path, runs: tuple[JudgedExecution, ...]) -> str:
    """Keep these runs in the order in which they were made; where they are. Raises RefusedError, BusyError, DamagedError."""
    kept: list[str] = []
    for execution in runs:
        wanted = experiment_of(execution)
        with opened(lab, wanted) as store:
            trial = next_trial(store.plan, execution.watched.argv)
            experiment = grown(store.experiment, execution.watched.argv)
            plan = replace(store.plan, trials=(*store.plan.trials, trial), blocks=max(store.plan.blocks, trial.block + 1))
            store.extend(experiment, replace(plan, drawn_blocks=plan.blocks))
            run = replace(execution.external.run, trial=trial)
            name = store.add(run, execution.external.observations)
            if run.outcome is Outcome.FINISHED:
                store.judge(judge.ruleset(), judge.judge_run(experiment, run, execution.external.observations))
            if execution is runs[-1]:
                conclude(store)
            kept.append(f"{name} of {store.folder}")
    return f"kept as run {kept[-1]}" if len(kept) == 1 else f"kept {len(kept)} runs, the last as {kept[-1]}"


def experiment_of(execution: JudgedExecution) -> Experiment:
    """The experiment of one command by itself."""
    experiment, argv = execution.external.experiment, execution.watched.argv
    (load,), (target,) = experiment.workloads, experiment.targets
    knobs = {name: value for name, value in load.knobs.items() if name != "argv"}
    return replace(
        experiment,
        title=shlex.join(argv),
        question=QUESTION,
        targets=(replace(target, knobs={"path": execution.watched.directory}),),
        workloads=(replace(load, knobs=knobs),),
        factors=(Factor(path=FACTOR, levels=(argv,)),),
        compare=FACTOR,
    )


def is_alike(folder: Path, wanted: Experiment) -> bool:
    """Whether such runs can be arms of what a folder holds: all is the same but the command; no, where it cannot be read."""
    with suppress(AssayError):
        return without_command(notebook.read_plan(folder)[0]) == without_command(wanted)
    return False


def without_command(experiment: Experiment) -> Experiment:
    """The experiment but for what names the command."""
    return replace(experiment, title="", digest="", factors=())


def opened(lab: Path, wanted: Experiment) -> Store:
    """The experiment of this lab that such runs belong to, made where there is none.

    Another `assay stat` that keeps its own run there is waited for. Raises BusyError where it takes too long.
    """
    ends = time.monotonic() + PATIENCE_S
    while True:
        try:
            return opened_now(lab, wanted)
        except BusyError:
            if time.monotonic() > ends:
                raise
            time.sleep(0.1)


def opened_now(lab: Path, wanted: Experiment) -> Store:
    """The same, without waiting."""
    for folder in notebook.folders(lab) if lab.is_dir() else ():
        if is_alike(folder, wanted):
            return Store.open(folder)
    fixed = replace(wanted, digest=layout.digest(wanted))
    text = f"# assay stat -- {wanted.title}\n"
    plan = Plan(experiment=fixed.digest, seed=1, trials=(), blocks=0, drawn_blocks=0, sittings=(None,))
    return Store.create(lab, fixed, plan, text)


def grown(experiment: Experiment, argv: tuple[str, ...]) -> Experiment:
    """The experiment with this command among its arms."""
    (factor,) = experiment.factors
    levels = factor.levels if argv in factor.levels else (*factor.levels, argv)
    return replace(experiment, factors=(replace(factor, levels=levels),))


def next_trial(plan: Plan, argv: tuple[str, ...]) -> Trial:
    """The next run of a command; the first runs of all arms are one block, then the second ones."""
    before = Counter(trial.levels[FACTOR] for trial in plan.trials)[argv]
    number = len(plan.trials)
    return Trial(
        id=number + 1,
        experiment=plan.experiment,
        levels={FACTOR: argv},
        replicate=before + 1,
        block=before,
        sitting=0,
        position=number,
        seed=1,
    )
