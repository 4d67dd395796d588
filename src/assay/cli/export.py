"""Write the notebook's tables for other programs: one folder, of files that are ours."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from assay.errors import DamagedError
from assay.laboratory.results import current
from assay.notebook import read as notebook
from assay.notebook.export import Format
from assay.notebook.export import export as write
from assay.notebook.sql import Kept


def export(lab: Path, which: str | None, form: str, to: Path, names: tuple[str, ...], *, as_json: bool) -> int:
    """Export one experiment of a lab, or all, by today's rules; what is damaged is told on standard error. Gives 0."""
    folders = notebook.folders(lab) if which is None else (notebook.choose(lab, which),)
    done = write(readable(folders), Format(form), to, names)
    if as_json:
        print(json.dumps({"folder": str(done.folder), "rows": dict(done.rows)}, sort_keys=True))
    else:
        print(f"{done.folder}: {', '.join(f'{count} {name}' for name, count in done.rows.items())}")
    return 0


def readable(folders: tuple[Path, ...]) -> list[Kept]:
    """The experiments with their results; those of which nothing can be read, and damaged runs, are told and left out."""
    found: list[Kept] = []
    for folder in folders:
        try:
            results = current(folder)
        except DamagedError as error:
            print(f"assay: left out {folder.name}: {error}", file=sys.stderr)
            continue
        for place, why in results.damaged.items():
            print(f"assay: left out {folder.name}/{place}: {why}", file=sys.stderr)
        found.append((folder, results))
    return found
