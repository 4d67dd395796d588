"""From stored runs to the answer: cells, comparisons, requirements, their audit, the table on the terminal, the report."""

from __future__ import annotations

import json
from pathlib import Path

from assay.answer.plainly import plainly
from assay.notebook import read as notebook
from assay.records import Results
from assay.terminal.fold import say

REPORT = "report.html"


def write_report(folder: Path, results: Results) -> Path:
    """The HTML page beside the experiment."""
    from assay.cli.report import pictures
    from assay.report import page

    path = folder / REPORT
    load = notebook.remembered(folder)
    page.write(results, load, path, pictures(folder, results, load))
    return path


def show(results: Results, folder: Path, *, as_json: bool) -> None:
    """The answer on standard output, then the report: where that cannot be written, the answer is there all the same."""
    from assay.cli.terminal.summary import summary

    if as_json:
        print(json.dumps(plainly(results), sort_keys=True), flush=True)
    else:
        say(summary(results))
    path = write_report(folder, results)
    if not as_json:
        print(f"report: {path}")
