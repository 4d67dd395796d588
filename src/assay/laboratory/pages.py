"""The report of an experiment as a file: analysis, evidence and page brought together."""

from __future__ import annotations

from pathlib import Path

from assay.analysis import curves as analysis
from assay.analysis.scaling.picture import pictured
from assay.notebook import read as notebook
from assay.prediction.demand_groups import groups, tables
from assay.records import Direction, Results, Run
from assay.report import galleries
from assay.report.charts.curves import Curve
from assay.report.charts.figure import Table
from assay.report.galleries import Pictures


def pictures(folder: Path, results: Results, load: notebook.Load) -> Pictures:
    """Make the pictures that need the analysis: curves over the number of objects, resource use of operations.

    If there are very many runs, only those are read whose latencies are merged. They are read last: the page needs what `load`
    remembers of them again.
    """
    scaled = pictured(results.experiment, results.runs, results.cells, load)
    runs = {judged.id: judged.run for judged in results.runs}
    chosen = [judged for group in galleries.merged(galleries.groups(results)) for judged in group if _changes_names(judged.run)]
    found = analysis.curves(sorted(chosen, key=lambda judged: judged.id), load)
    return Pictures(
        curves=tuple(curve for one in found if (curve := _curve(runs[one.run], one))),
        tables=tuple((title, Table(head=head, rows=rows)) for title, head, rows in tables(groups(results, load))),
        scaled=scaled,
        command=f"assay run {folder / 'experiment.toml'}",
    )


def _changes_names(run: Run) -> bool:
    """Whether the run measured an operation on metadata, without which it has no curve over objects."""
    return any(phase.measured and Direction.METADATA in phase.directions.values() for phase in run.phases)


def _curve(run: Run, one: analysis.Curve) -> Curve | None:
    """The curve over objects: the phase's first operation counts them, another one stands for as many as came between."""
    phase = next((phase for phase in run.phases if phase.workload == one.workload and one.operation in phase.operations), None)
    if phase is None or phase.directions.get(one.operation) is not Direction.METADATA:
        return None
    counts = {
        name: sum(total.count for client in phase.clients for total in client.operations if total.operation == name)
        for name in (phase.operations[0], one.operation)
    }
    objects = counts[phase.operations[0]] / (counts[one.operation] or 1)
    return Curve(
        run=one.run,
        workload=one.workload,
        operation=one.operation,
        objects=tuple(done * objects for done in one.objects),
        time_per_operation_ns=one.time_per_operation_ns,
        active_clients=one.active_clients,
        clients=one.clients,
    )


def write(folder: Path, results: Results, out: Path | None = None, form: str = "html") -> Path:
    """Write the page, or short Markdown (`md`), beside the experiment or to `out`; return its path."""
    path = out or folder / f"report.{form}"
    if form == "md":
        from assay.report import markdown

        path.write_text(markdown.render(results), encoding="utf-8")
    else:
        from assay.report import page

        load = notebook.remembered(folder)
        page.write(results, load, path, pictures(folder, results, load))
    return path


def write_chart(folder: Path, results: Results, chart: str, out: Path | None = None) -> Path:
    """Write one chart as .png or .svg; return its path. Raises UsageError, MissingError."""
    from assay.report import page, picture

    path = out or folder / f"{chart}.png"
    load = notebook.remembered(folder)
    picture.write(page.figures(results, load, pictures(folder, results, load)), chart, path)
    return path
