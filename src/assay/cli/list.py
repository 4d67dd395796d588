"""List the experiments of a notebook with their runs and verdicts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from assay.cli.terminal import tables
from assay.errors import AssayError
from assay.notebook import index
from assay.notebook import read as notebook
from assay.records import Outcome, VerdictState
from assay.terminal.output import deliver
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


def list_experiments(lab: Path, *, json_to: str | None) -> int:
    """Show every experiment of a lab, the newest last; from its index where that is whole, else from its files."""
    entries = [entry(folder) for folder in notebook.folders(lab)]
    deliver(json_to, "list", lambda: {"experiments": [asdict(one) for one in entries]}, lambda: text(lab, entries))
    return 0


def text(lab: Path, entries: Sequence[Entry]) -> str:
    """Return the list as a table."""
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
    header = ("verdict", "experiment", "runs/trials", "last run (UTC)", "verdicts")
    return table(header, rows) if rows else f"no experiments in {lab}"


def entry(folder: Path) -> Entry:
    """Return the entry of one experiment; name a damaged plan."""
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
        seen = overview_of_files(folder)
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


def overview_of_files(folder: Path) -> index.Overview:
    """Return the overview from the files themselves."""
    results = notebook.results(folder)
    outcomes = [judged.run.outcome.value for judged in results.runs]
    return index.Overview(
        outcomes={outcome: outcomes.count(outcome) for outcome in outcomes},
        verdicts=tables.verdict_counts(results.runs),
        ended_utc=max((judged.run.ended_utc for judged in results.runs), default=None),
    )
