"""What a notebook knows of an experiment: how long its trials took, how far its figures scatter, how far a sitting has come."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from itertools import pairwise
from pathlib import Path
from statistics import mean, median, variance

from assay.analysis import cells, compare
from assay.errors import AssayError
from assay.experiment import outlook
from assay.experiment.plan import History, Standing
from assay.notebook import read as notebook
from assay.records import Cell, Change, Comparison, Experiment, Judged, Outcome, Precision, Results, Run, Value
from assay.rulekit.preparations import sample

SECOND_NS = 1_000_000_000
MOST_OTHERS = 5
"""So many experiments of the same kinds correct a guess, the newest."""
MOST_RUNS = 20
"""Of each so many runs are read, without their evidence."""


def history(lab: Path, experiment: Experiment) -> History | None:
    """The history of the newest experiment of a lab that asks for the same trials and has finished some; None without one.

    Where there is none, what other experiments on targets and with workloads of these kinds took against their guess.
    """
    if not lab.is_dir():
        return None
    folders = notebook.folders(lab)[::-1]
    for folder in folders:
        results = stored(folder, experiment)
        if results is not None:
            took = trial_ns([judged.run for judged in results.runs])
            if took is not None:
                return History(trial_ns=took, cv=spreads(results.cells, {judged.id: judged for judged in results.runs}))
    times = [ratio for folder in folders if (ratio := against_guess(folder, experiment)) is not None]
    return History(times=median(times[:MOST_OTHERS])) if times else None


def trial_ns(runs: Sequence[Run]) -> int | None:
    """How long a trial took on average, repeats and the time between included; None where none has finished."""
    finished = {run.trial.id for run in runs if run.outcome is Outcome.FINISHED}
    return worked_ns([run for run in runs if run.trial.id in finished]) // len(finished) if finished else None


def against_guess(folder: Path, experiment: Experiment) -> float | None:
    """How many times as long as guessed the trials of an experiment of the same kinds took; None where it is another kind."""
    with suppress(AssayError):
        other = notebook.read_plan(folder)[0]
        if not kinds(other) & kinds(experiment):
            return None
        runs = [notebook.read_run(path) for path in notebook.attempts(folder)[:MOST_RUNS]]
        guesses = [outlook.trial_s(other, run.trial.levels) for run in runs]
        took = trial_ns(runs)
        return took / SECOND_NS / mean(guesses) / outlook.REPEATED if took else None
    return None


def kinds(experiment: Experiment) -> set[tuple[str, str]]:
    """The kinds of targets with the kinds of workloads on them."""
    return {(target.kind, workload.kind) for target in experiment.targets for workload in experiment.workloads}


def stored(folder: Path, experiment: Experiment) -> Results | None:
    """What is stored of an experiment; None where it asks for other trials (then only its plan is read), or cannot be read."""
    with suppress(AssayError):
        if same_trials(notebook.read_plan(folder)[0]) == same_trials(experiment):
            return notebook.results(folder)
    return None


def same_trials(experiment: Experiment) -> Experiment:
    """The experiment without what decides only how many trials there are, in which order, and how they are judged.

    Knobs that are not set are left out: another version may have others.
    """
    bare = replace(experiment, title="", question="", digest="", repeats=None, budget_ns=None, seed=1)
    bare = replace(bare, matters_share=0.0, bound_factor=None)
    return replace(
        bare,
        requirements=(),
        hosts=tuple(replace(one, address=None, control=None) for one in experiment.hosts),
        targets=tuple(replace(one, knobs=chosen(one.knobs)) for one in experiment.targets),
        workloads=tuple(replace(one, knobs=chosen(one.knobs)) for one in experiment.workloads),
    )


def chosen(knobs: Mapping[str, Value]) -> dict[str, Value]:
    """The knobs that have a value."""
    return {name: value for name, value in knobs.items() if value is not None}


def length_ns(run: Run) -> int:
    """From the start of a run to its end, with set-up and undoing; 0 where the wall clock was set back during it."""
    took = datetime.fromisoformat(run.ended_utc) - datetime.fromisoformat(run.started_utc)
    return max(0, round(took.total_seconds() * SECOND_NS))


def seconds(utc: str) -> float:
    """A stored time as seconds since the epoch."""
    return datetime.fromisoformat(utc).timestamp()


def spreads(cells: Iterable[Cell], runs: Mapping[str, Judged] | None = None) -> Mapping[str, float]:
    """Measure -> coefficient of variation within a cell (share), pooled over its cells by their degrees of freedom.

    With `runs` the slices of a preparation of a duet are one value.
    A measure of which no cell has two values above 0, or whose values are all the same, is left out: nothing is known of it.
    """
    squares: dict[str, list[tuple[int, float]]] = defaultdict(list)
    for cell in cells:
        values = list(cell.values.values()) if runs is None else sample(cell.values, runs)
        if len(values) > 1 and min(values) > 0:
            squares[cell.measure].append((len(values) - 1, variance(values) / mean(values) ** 2))
    pooled = {
        name: sum(free * square for free, square in found) / sum(free for free, _ in found) for name, found in squares.items()
    }
    return {name: math.sqrt(square) for name, square in pooled.items() if square > 0}


def standing(folder: Path, experiment: Experiment, sitting: int) -> Standing:
    """The standing of one sitting; its time is that of its trials and of what lies between them, over all sessions."""
    runs = [run for run in notebook.runs(folder) if run.trial.sitting == sitting]
    blocks: dict[int, list[Run]] = defaultdict(list)
    for run in runs:
        blocks[run.trial.block].append(run)
    ended = [number for number, block in blocks.items() if any(run.outcome is not Outcome.INTERRUPTED for run in block)]
    now, before = widths(folder, sitting, max(ended, default=0)) if isinstance(experiment.repeats, Precision) else (None, None)
    return Standing(
        blocks_done=len(ended),
        elapsed_ns=worked_ns(runs),
        longest_block_ns=max((worked_ns(blocks[number]) for number in ended), default=0),
        half_width_share=now,
        half_width_before_share=before,
    )


def worked_ns(runs: Sequence[Run]) -> int:
    """How long these runs took with the time between them; a gap longer than the longest of them is a break between sessions."""
    spans = sorted((seconds(run.started_utc), seconds(run.ended_utc)) for run in runs)
    longest = max((end - start for start, end in spans), default=0.0)
    gaps = (after[0] - before[1] for before, after in pairwise(spans))
    return int((sum(max(0.0, end - start) for start, end in spans) + sum(gap for gap in gaps if 0 < gap <= longest)) * SECOND_NS)


def widths(folder: Path, sitting: int, last: int) -> tuple[float | None, float | None]:
    """How precisely this sitting has its answers: with its last block, and without it."""
    kept, load = notebook.results(folder), notebook.load(folder)
    runs = [judged for judged in kept.runs if judged.run.trial.sitting == sitting]
    earlier = [judged for judged in runs if judged.run.trial.block < last]
    return half_width(kept, sitting, runs, load), half_width(kept, sitting, earlier, load)


def half_width(kept: Results, sitting: int, runs: Sequence[Judged], load: notebook.Load) -> float | None:
    """The widest relative half width of the 95 % intervals that the answer rests on; None where one is still missing.

    With a comparison these are the ratios of this sitting, otherwise its cells' own figures. Where the arms of a comparison are
    sittings, the cells' widths stand for the ratio of two that are as wide: times the root of two.
    """
    experiment, plan = kept.experiment, kept.plan
    table = cells.cells(experiment, replace(plan, trials=tuple(t for t in plan.trials if t.sitting == sitting)), runs, load)
    apart = [factor.path for factor in experiment.factors if factor.change is Change.MANUAL] == [experiment.compare]
    found: tuple[Comparison, ...] = () if apart else compare.comparisons(experiment, table, runs)
    estimates = [one.ratio for one in found] if found else [cell.estimate for cell in table]
    known = [
        (estimate.high - estimate.low) / 2 / estimate.value
        for estimate in estimates
        if estimate is not None and estimate.low is not None and estimate.high is not None and estimate.value
    ]
    return max(known) * (math.sqrt(2) if apart else 1) if known and len(known) == len(estimates) else None
