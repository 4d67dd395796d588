"""From stored runs to the answer: cells, comparisons, requirements, their audit, the report, the table on the terminal."""

from __future__ import annotations

import json
from pathlib import Path

from assay.cli.judging import current
from assay.cli.readable import readable
from assay.notebook import read as notebook
from assay.notebook.store import Store
from assay.plain import to_plain
from assay.records import Results

REPORT = "report.html"


def conclude(store: Store) -> Results:
    """Compute everything that follows from the runs, keep it under `derived/`, write the report."""
    results = current(store.folder)
    store.derive(results.ruleset, results)
    write_report(store.folder, results)
    return results


def write_report(folder: Path, results: Results) -> Path:
    """The HTML page beside the experiment."""
    from assay.cli.report import pictures
    from assay.report import page

    path, results = folder / REPORT, readable(results)
    page.write(results, notebook.load(folder), path, pictures(folder, results))
    return path


def show(results: Results, folder: Path, *, as_json: bool) -> None:
    """The answer on standard output."""
    from assay.cli.summary import summary

    if as_json:
        print(json.dumps(to_plain(results), sort_keys=True))
    else:
        print(summary(readable(results)))
        print(f"report: {folder / REPORT}")
