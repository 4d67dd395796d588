"""What a notebook knows of an experiment before it is run again: how long its trials took, how far its figures scatter."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from statistics import mean, median, variance

from assay.errors import AssayError
from assay.experiment.plan import History
from assay.notebook import read as notebook
from assay.records import Cell, Experiment, Outcome, Results, Run, Value


def history(lab: Path, experiment: Experiment) -> History | None:
    """The history of the newest experiment of a lab that asks for the same trials and has finished some; None without one."""
    if not lab.is_dir():
        return None
    for folder in reversed(notebook.folders(lab)):
        results = stored(folder, experiment)
        if results is not None:
            took = [length_ns(judged.run) for judged in results.runs if judged.run.outcome is Outcome.FINISHED]
            if took:
                return History(trial_ns=round(median(took)), cv=spreads(results.cells))
    return None


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
    bare = replace(experiment, title="", question="", digest="", repeats=None, budget_ns=None, seed=1, matters_share=0.0)
    return replace(
        bare,
        requirements=(),
        targets=tuple(replace(one, knobs=chosen(one.knobs)) for one in experiment.targets),
        workloads=tuple(replace(one, knobs=chosen(one.knobs)) for one in experiment.workloads),
    )


def chosen(knobs: Mapping[str, Value]) -> dict[str, Value]:
    """The knobs that have a value."""
    return {name: value for name, value in knobs.items() if value is not None}


def length_ns(run: Run) -> int:
    """From the start of a run to its end, with set-up and undoing."""
    took = datetime.fromisoformat(run.ended_utc) - datetime.fromisoformat(run.started_utc)
    return round(took.total_seconds() * 1e9)


def spreads(cells: Iterable[Cell]) -> Mapping[str, float]:
    """Measure -> coefficient of variation within a cell (share), pooled over its cells by their degrees of freedom.

    A measure of which no cell has two values above 0, or whose values are all the same, is left out: nothing is known of it.
    """
    squares: dict[str, list[tuple[int, float]]] = defaultdict(list)
    for cell in cells:
        values = list(cell.values.values())
        if len(values) > 1 and min(values) > 0:
            squares[cell.measure].append((len(values) - 1, variance(values) / mean(values) ** 2))
    pooled = {
        name: sum(free * square for free, square in found) / sum(free for free, _ in found) for name, found in squares.items()
    }
    return {name: math.sqrt(square) for name, square in pooled.items() if square > 0}
