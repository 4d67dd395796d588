"""A whole notebook: its experiments and runs (`assay list`), its tables in SQL (`assay sql`) and as files (`assay export`)."""

from __future__ import annotations

import csv
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from assay.cli import tables
from assay.errors import AssayError, DamagedError, UsageError
from assay.laboratory.results import current
from assay.measures import with_unit
from assay.notebook import index
from assay.notebook import read as notebook
from assay.notebook import sql as answers
from assay.notebook.annotations import Annotations, Remark
from assay.notebook.annotations import readable as readable_annotations
from assay.notebook.export import Format
from assay.notebook.export import export as write
from assay.notebook.sql import Kept, QueryResult
from assay.records import Outcome, Results, VerdictState
from assay.terminal.output import Row, deliver, standard_output, table


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
    note: str = ""
    tags: tuple[str, ...] = ()
    deleted_runs: int = 0


def list_experiments(lab: Path, *, json_to: str | None, tag: str | None = None) -> int:
    """Show every experiment of a lab, the newest last; from its index where that is whole, else from its files."""
    entries = [one for one in map(entry, notebook.folders(lab)) if tag is None or tag in one.tags]
    deliver(json_to, "list", lambda: {"experiments": [asdict(one) for one in entries]}, lambda: list_text(lab, entries))
    return 0


@dataclass(frozen=True, kw_only=True)
class RunEntry:
    """One run in the list."""

    experiment: str
    run: str
    outcome: str
    started_utc: str
    levels: str
    figures: tuple[dict[str, object], ...]
    """Measure, value, unit and verdict of each."""
    verdicts: dict[str, int]
    error: str | None
    note: str
    tags: tuple[str, ...]


def list_runs(lab: Path, which: str | None, *, json_to: str | None, tag: str | None = None) -> int:
    """Show the runs of one experiment, or of all, with their figures and verdicts.

    Raises UsageError naming the experiments that there are.
    """
    folders = notebook.folders(lab) if which is None else (notebook.choose(lab, which),)
    found = [(folder, current(folder)) for folder in folders]
    added = {folder: readable_annotations(folder) for folder in folders}
    runs = [one for folder, results in found for one in run_entries(folder, results, added[folder])]
    shown = [one for one in runs if tag is None or tag in one.tags]
    damaged = {f"{folder.name}/{place}": why for folder, results in found for place, why in results.damaged.items()}
    if which is not None:
        damaged = dict(found[0][1].damaged)
    gone = [{"experiment": folder.name, **asdict(one)} for folder in folders for one in added[folder].deleted]
    values = {
        **({} if which is None else {"experiment": folders[0].name}),
        "runs": [asdict(one) for one in shown],
        "damaged": damaged,
        "deleted": gone,
    }
    deliver(json_to, "list", lambda: values, lambda: runs_text(shown, damaged, gone, is_one=which is not None))
    return 0


def run_entries(folder: Path, results: Results, added: Annotations) -> Iterator[RunEntry]:
    """Yield the runs of an experiment."""
    for judged in results.runs:
        figures: tuple[dict[str, object], ...] = tuple(
            {"measure": name, "value": one.value, "unit": one.unit, "verdict": one.state.value}
            for name, one in judged.verdicts.items()
        )
        yield RunEntry(
            experiment=folder.name,
            run=judged.id,
            outcome=judged.run.outcome.value,
            started_utc=judged.run.started_utc,
            levels=tables.levels_text(results.experiment, judged.run.trial.levels),
            figures=figures,
            verdicts=dict(tables.verdict_counts([judged])),
            error=judged.run.error,
            note=added.of(judged.id).text,
            tags=added.of(judged.id).tags,
        )


def runs_text(runs: Sequence[RunEntry], damaged: Mapping[str, str], gone: Sequence[Mapping[str, object]], *, is_one: bool) -> str:
    """Return the runs as a table, then what cannot be read, then what was deleted."""
    rows = [
        Row(
            cells=(
                *(() if is_one else (one.experiment,)),
                one.run,
                one.outcome,
                one.started_utc[:16].replace("T", " "),
                one.levels or "-",
                figures_text(one) or "-",
                tables.counted(one.verdicts) or "no verdicts",
            ),
            note="; ".join(part for part in (one.error, Remark(text=one.note, tags=one.tags).words) if part),
        )
        for one in runs
    ]
    header = (*(() if is_one else ("experiment",)), "run", "outcome", "started (UTC)", "levels", "figures", "verdicts")
    lines = [f"deleted: {one['experiment']} {one['run']} ({one['outcome']}, {one['at_utc']}): {one['why']}" for one in gone]
    parts = (table(header, rows) if rows else "no runs yet", tables.damage(damaged), *lines)
    return "\n".join(part for part in parts if part)


def figures_text(one: RunEntry) -> str:
    """`w.write 1.20 GB/s, 300/s; w.write.@local.cpu_share 80 %`: those of one operation together, observed ones by their name."""
    found: dict[str, list[str]] = {}
    for figure in one.figures:
        value = figure["value"]
        if isinstance(value, int | float):
            name = str(figure["measure"])
            found.setdefault(name if "@" in name else name.rpartition(".")[0], []).append(with_unit(value, str(figure["unit"])))
    return "; ".join(f"{operation} {', '.join(values)}" for operation, values in found.items())


def list_text(lab: Path, entries: Sequence[Entry]) -> str:
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
            note="; ".join(added_text(one)),
        )
        for one in entries
    ]
    header = ("verdict", "experiment", "runs/trials", "last run (UTC)", "verdicts")
    return table(header, rows) if rows else f"no experiments in {lab}"


def added_text(one: Entry) -> Iterator[str]:
    """Yield what stands below an experiment: damage, tags and note, runs that were deleted."""
    if one.damaged:
        yield f"DAMAGED: {one.damaged}"
    if words := Remark(text=one.note, tags=one.tags).words:
        yield words
    if one.deleted_runs:
        yield f"{one.deleted_runs} {'run was' if one.deleted_runs == 1 else 'runs were'} deleted"


def entry(folder: Path) -> Entry:
    """Return the entry of one experiment; name a damaged plan."""
    try:
        experiment, plan = notebook.read_plan(folder)
    except AssayError as error:
        return Entry(
            experiment=folder.name, title="", runs=0, finished=0, trials=0, verdicts={}, last_run_utc=None, damaged=str(error)
        )
    known, added = notebook.rulesets(folder), readable_annotations(folder)
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
        note=added.experiment.text,
        tags=added.experiment.tags,
        deleted_runs=len(added.deleted),
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


def export(lab: Path, which: str | None, form: str, to: Path, names: tuple[str, ...], *, json_to: str | None) -> int:
    """Export one experiment of a lab, or all, by the current rules; report damaged runs on standard error. Gives 0."""
    folders = notebook.folders(lab) if which is None else (notebook.choose(lab, which),)
    done = write(readable(folders), Format(form), to, names)
    deliver(
        json_to,
        "export",
        lambda: {"folder": str(done.folder), "rows": dict(done.rows)},
        lambda: f"{done.folder}: {', '.join(f'{count} {name}' for name, count in done.rows.items())}",
    )
    return 0


def readable(folders: tuple[Path, ...]) -> list[Kept]:
    """Return the experiments with their results; report and skip what is damaged."""
    found: list[Kept] = []
    for folder in folders:
        try:
            results = current(folder)
        except DamagedError as error:
            print(f"assay: {folder.name} skipped: {error}", file=sys.stderr)
            continue
        tables.warn_of_damage(folder, results.damaged)
        found.append((folder, results))
    return found


def sql(lab: Path, query: str, *, json_to: str | None, as_csv: bool) -> int:
    """Print the answer to a query over all experiments of a lab. Raises UsageError."""
    if json_to is not None and as_csv:
        raise UsageError("found --json and --csv; expected one of them")
    found = answers.query(lab, query)
    for folder in notebook.folders(lab) if lab.is_dir() else ():
        tables.warn_of_damage(folder, notebook.broken(folder))
    if as_csv:
        with standard_output() as stream:
            csv.writer(stream, lineterminator="\n").writerows((found.columns, *found.rows))
        return 0
    rows = [dict(zip(found.columns, row, strict=True)) for row in found.rows]
    deliver(json_to, "sql", lambda: {"rows": rows}, lambda: answer_text(found))
    return 0


def answer_text(found: QueryResult) -> str:
    """Return the rows as a table, then their number."""
    rows = [Row(cells=tuple(cell(value) for value in row)) for row in found.rows]
    numbers = [n for n in range(len(found.columns)) if all(isinstance(row[n], int | float | None) for row in found.rows)]
    return f"{table(found.columns, rows, numbers)}\n{len(found.rows)} rows"


def cell(value: object) -> str:
    """Return a value as the text of a cell."""
    if value is None:
        return "-"
    return f"{value:.6g}" if isinstance(value, float) else str(value)
