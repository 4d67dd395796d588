"""From stored runs to the answer: cells, comparisons, requirements, their audit, the report, the table on the terminal."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

from assay.analysis import cells, compare, require
from assay.audit import judge
from assay.notebook import read as notebook
from assay.notebook.store import Store
from assay.plain import to_plain
from assay.records import Results

REPORT = "report.html"


def conclude(store: Store) -> Results:
    """Compute everything that follows from the runs, keep it under `derived/`, write the report."""
    results = answer(store.folder)
    store.derive(results.ruleset, results)
    write_report(store.folder, results)
    return results


def answer(folder: Path) -> Results:
    """The results of an experiment's folder, computed anew from its runs and their verdicts."""
    kept = notebook.results(folder)
    load = notebook.load(folder)
    experiment, plan, runs = kept.experiment, kept.plan, kept.runs
    table = cells.cells(experiment, plan, runs, load)
    comparisons = compare.comparisons(experiment, plan, table, runs)
    return replace(
        kept,
        cells=table,
        comparisons=comparisons,
        comparison_verdicts=judge.judge_comparisons(experiment, plan, runs, comparisons, load),
        requirements=require.requirements(experiment, table, comparisons, runs),
        findings=judge.judge_experiment(experiment, plan, runs, load),
        ruleset=judge.ruleset(),
    )


def write_report(folder: Path, results: Results) -> Path:
    """The HTML page beside the experiment."""
    from assay.report import page

    path = folder / REPORT
    page.write(results, notebook.load(folder), path)
    return path


def show(results: Results, folder: Path, *, as_json: bool) -> None:
    """The answer on standard output."""
    from assay.cli import tables

    if as_json:
        print(json.dumps(to_plain(results), sort_keys=True))
    else:
        print(tables.summary(results))
        print(f"report: {folder / REPORT}")
