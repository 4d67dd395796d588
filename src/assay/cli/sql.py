"""Ask the notebook in SQL: a table for people, JSON or CSV for programs."""

from __future__ import annotations

import csv
import json
import sys
from pathlib import Path

from assay.errors import UsageError
from assay.notebook import sql as notebook
from assay.terminal.table import Row, table


def sql(lab: Path, query: str, *, as_json: bool, as_csv: bool) -> int:
    """Answer a query over all experiments of a lab. Raises UsageError."""
    if as_json and as_csv:
        raise UsageError("found --json and --csv; expected one of them")
    found = notebook.query(lab, query)
    if as_json:
        print(json.dumps([dict(zip(found.columns, row, strict=True)) for row in found.rows], default=str))
    elif as_csv:
        writer = csv.writer(sys.stdout, lineterminator="\n")
        writer.writerow(found.columns)
        writer.writerows(found.rows)
    else:
        rows = [Row(cells=tuple(text(value) for value in row)) for row in found.rows]
        numbers = [n for n in range(len(found.columns)) if all(isinstance(row[n], int | float | None) for row in found.rows)]
        print(table(found.columns, rows, numbers))
        print(f"{len(found.rows)} rows")
    return 0


def text(value: object) -> str:
    """A value in a table."""
    if value is None:
        return "-"
    return f"{value:.6g}" if isinstance(value, float) else str(value)
