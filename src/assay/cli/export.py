"""The tables of a notebook for other programs: files of all of them, or the answer to a query in SQL."""

from __future__ import annotations

import csv
import sys
from pathlib import Path

from assay.errors import DamagedError, UsageError
from assay.laboratory.results import current
from assay.notebook import read as notebook
from assay.notebook import sql as answers
from assay.notebook.export import Format
from assay.notebook.export import export as write
from assay.notebook.sql import Kept, QueryResult
from assay.terminal.output import deliver
from assay.terminal.table import Row, table


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
        for place, why in results.damaged.items():
            print(f"assay: {folder.name}/{place} skipped: {why}", file=sys.stderr)
        found.append((folder, results))
    return found


def sql(lab: Path, query: str, *, json_to: str | None, as_csv: bool) -> int:
    """Print the answer to a query over all experiments of a lab. Raises UsageError."""
    if json_to is not None and as_csv:
        raise UsageError("found --json and --csv; expected one of them")
    found = answers.query(lab, query)
    if as_csv:
        writer = csv.writer(sys.stdout, lineterminator="\n")
        writer.writerow(found.columns)
        writer.writerows(found.rows)
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
