"""The order of the runs as a picture: a row for each combination of levels, a column for each place in the order."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from assay.records import Judged, Outcome, Results, Trial, Value, VerdictState
from assay.report import words

WIDE = 15
NARROW = 8
"""Pixels a column; narrow above 90 trials."""
ROW = 24
LABEL = 150


@dataclass(frozen=True, kw_only=True)
class Mark:
    """One trial in the picture."""

    x: float
    y: float
    state: VerdictState | None
    """The verdict of its last attempt on the first measure; None where it was not run or gave no figure."""
    outcome: str
    title: str


@dataclass(frozen=True, kw_only=True)
class Schedule:
    """The picture: rows with their names, marks, the edges of the blocks."""

    rows: tuple[tuple[float, str], ...]
    marks: tuple[Mark, ...]
    blocks: tuple[float, ...]
    width: float
    height: float
    radius: float
    measure: str
    """What the marks are verdicts on; empty where nothing is measured."""


def schedule(results: Results) -> Schedule:
    """All planned trials in their order; repeated attempts show in the title of their mark."""
    trials = sorted(results.plan.trials, key=lambda trial: (trial.sitting, trial.position))
    runs: dict[int, list[Judged]] = {}
    for judged in results.runs:
        runs.setdefault(judged.run.trial.id, []).append(judged)
    done = max((index for index, trial in enumerate(trials) if trial.id in runs), default=-1)
    trials = trials[: max(done + 1, min(len(trials), 60))]
    pitch = NARROW if len(trials) > 90 else WIDE
    keys = sorted(dict.fromkeys(tuple(trial.levels.items()) for trial in trials), key=lambda key: _order(results, dict(key)))
    row = {key: ROW * (index + 0.5) + 4 for index, key in enumerate(keys)}
    first = next((one.name for one in results.experiment.measures), "")
    marks = tuple(
        _mark(trial, first, runs.get(trial.id, []), LABEL + pitch * (index + 0.5), row[tuple(trial.levels.items())])
        for index, trial in enumerate(trials)
    )
    edges = [
        LABEL + pitch * index
        for index in range(1, len(trials))
        if (trials[index].block, trials[index].sitting) != (trials[index - 1].block, trials[index - 1].sitting)
    ]
    return Schedule(
        rows=tuple((at, words.levels(dict(key)) or "all the same") for key, at in row.items()),
        marks=marks,
        blocks=tuple(edges),
        width=LABEL + pitch * len(trials) + 8,
        height=ROW * len(keys) + 26,
        radius=3.1 if pitch == NARROW else 4.6,
        measure=first,
    )


def _order(results: Results, levels: Mapping[str, Value]) -> tuple[int, ...]:
    return tuple(
        factor.levels.index(levels[factor.path]) if levels.get(factor.path) in factor.levels else 0
        for factor in results.experiment.factors
    )


def _mark(trial: Trial, measure: str, attempts: list[Judged], x: float, y: float) -> Mark:
    here = words.levels(trial.levels)
    if not attempts:
        return Mark(x=x, y=y, state=None, outcome="not run", title=f"trial {trial.id:04d} · {here} · not run")
    last = max(attempts, key=lambda judged: judged.run.attempt)
    verdict = last.verdicts.get(measure)
    state = verdict.state if verdict else None
    counts = last.run.outcome is Outcome.FINISHED
    said = f"run {last.id} · {here} · block {trial.block + 1} · {last.run.outcome.value}"
    return Mark(
        x=x,
        y=y,
        state=state,
        outcome="finished" if counts else last.run.outcome.value,
        title=said + (f" · {state.value}" if state else "") + (f" · {last.run.error}" if last.run.error else ""),
    )
