"""List the experiments of a notebook with their runs and verdicts."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path

from assay.cli.terminal import tables
from assay.errors import AssayError
from assay.notebook import index
from assay.notebook import read as notebook
from assay.records import Outcome, VerdictState
from assay.terminal.fold import say
from assay.terminal.table import Row, table


@dataclass(frozen=True, kw_only=True)
class Entry:
    """One experiment in the list."""

    experiment: str
    title: str
    runs: int
    finished: int
    trials: int
    verdicts: dict[str, int]
    last_run_utc: str | None
    damaged: str | None = None


def list_experiments(lab: Path, *, as_json: bool) -> int:
    """Show every experiment of a lab, the newest last; from its index where that is whole, else from its files."""
    entries = [entry(folder) for folder in notebook.folders(lab)]
    if as_json:
        print(json.dumps([asdict(one) for one in entries], sort_keys=True))
        return 0
    rows = [
        Row(
            cells=(
                next(iter(one.verdicts), "-"),
                one.experiment,
                f"{one.finished}/{one.trials}",
                (one.last_run_utc or "-")[:16].replace("T", " "),
                tables.counted(one.verdicts) or "no verdicts",
            ),
            note=f"DAMAGED: {one.damaged}" if one.damaged else "",
        )
        for one in entries
    ]
    say(
        table(("verdict", "experiment", "runs/trials", "last run (UTC)", "verdicts"), rows)
        if rows
        else f"no experiments in {lab}"
    )
    return 0


def entry(folder: Path) -> Entry:
    """What the list says of one experiment; a damaged plan is named."""
    try:
        experiment, plan = notebook.read_plan(folder)
    except AssayError as error:
        return Entry(
            experiment=folder.name, title="", runs=0, finished=0, trials=0, verdicts={}, last_run_utc=None, damaged=str(error)
        )
    known = notebook.rulesets(folder)
    seen = index.overview(folder, known[-1] if known else "")
    cut = notebook.cut(folder)
    if cut or seen is None or sum(seen.outcomes.values()) != len(notebook.attempts(folder)):
        seen = looked_at(folder)
    return Entry(
        experiment=folder.name,
        title=experiment.title,
        runs=sum(seen.outcomes.values()),
        finished=seen.outcomes.get(Outcome.FINISHED.value, 0),
        trials=sum(trial.block < plan.blocks for trial in plan.trials),
        verdicts={state.value: seen.verdicts[state.value] for state in VerdictState if state.value in seen.verdicts},
        last_run_utc=seen.ended_utc,
        damaged="; ".join(f"{name}: {why}" for name, why in cut.items()) or None,
    )


def looked_at(folder: Path) -> index.Overview:
    """The overview from the files themselves."""
    results = notebook.results(folder)
    outcomes = [judged.run.outcome.value for judged in results.runs]
    return index.Overview(
        outcomes={outcome: outcomes.count(outcome) for outcome in outcomes},
        verdicts=tables.verdict_counts(results.runs),
        ended_utc=max((judged.run.ended_utc for judged in results.runs), default=None),
    )
