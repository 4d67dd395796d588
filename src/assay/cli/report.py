"""`assay report`: write the report of an experiment as a page, as Markdown, or one chart of it as a picture."""

from __future__ import annotations

import tempfile
import webbrowser
from dataclasses import dataclass
from pathlib import Path

from assay.analysis import curves as analysis
from assay.analysis.scaling.picture import pictured
from assay.answer.levels import readable
from assay.errors import UsageError
from assay.laboratory.results import current
from assay.notebook import read as notebook
from assay.prediction.demand_groups import groups, tables
from assay.records import Direction, Results, Run
from assay.report import selection
from assay.report.inputs import Curve, Listed, Pictures
from assay.terminal.output import STANDARD_OUTPUT, deliver


@dataclass(frozen=True, kw_only=True)
class Request:
    """The words of one call."""

    lab: Path
    which: str | None = None
    out: Path | None = None
    form: str = "html"
    open: bool = False
    chart: str | None = None
    json_to: str | None = None


def report(request: Request) -> int:
    """Write the report, or with `chart` that chart alone, and print the path. Gives 0.

    Raises UsageError for an unknown chart, MissingError where a part for drawing is not installed.
    """
    folder = notebook.choose(request.lab, request.which)
    to_stdout = request.out is not None and str(request.out) == STANDARD_OUTPUT
    if to_stdout and (request.json_to == STANDARD_OUTPUT or request.open):
        raise UsageError("found --out - with --json or --open; expected one of them: the report is on standard output")
    results = readable(current(folder))
    if to_stdout:
        with tempfile.TemporaryDirectory(prefix="assay-report-") as made:
            path = written(folder, results, request, Path(made) / ("chart.svg" if request.chart else "report"))
            print(path.read_text(encoding="utf-8"))
    else:
        path = written(folder, results, request, request.out)
    values = {"format": path.suffix.removeprefix("."), "chart": request.chart, "path": str(path)}
    deliver(request.json_to, "report", lambda: values, None if to_stdout else lambda: str(path))
    if request.open:
        webbrowser.open(path.resolve().as_uri())
    return 0


def written(folder: Path, results: Results, request: Request, out: Path | None) -> Path:
    """Write the report or the chart; return its path."""
    return _write_chart(folder, results, request.chart, out) if request.chart else _write(folder, results, out, request.form)


def pictures(folder: Path, results: Results, load: notebook.Load) -> Pictures:
    """What the report shows besides the results: curves over the number of objects, what operations use.

    Where there are very many runs, of some of them, the same ones of which latencies are merged. These are read last: what
    `load` remembers of them is asked for again by the page.
    """
    scaled = pictured(results.experiment, results.runs, results.cells, load)
    runs = {judged.id: judged.run for judged in results.runs}
    chosen = [judged for group in selection.merged(selection.groups(results)) for judged in group if _changes_names(judged.run)]
    found = analysis.curves(sorted(chosen, key=lambda judged: judged.id), load)
    made = [_curve(runs[one.run], one) for one in found]
    used = tables(groups(results, load))
    return Pictures(
        curves=tuple(one for one in made if one is not None),
        tables=tuple(Listed(title=title, head=head, rows=rows) for title, head, rows in used),
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


def _write(folder: Path, results: Results, out: Path | None, fmt: str) -> Path:
    path = out or folder / f"report.{fmt}"
    if fmt == "md":
        from assay.report import markdown

        path.write_text(markdown.render(results), encoding="utf-8")
    else:
        from assay.report import page

        load = notebook.remembered(folder)
        page.write(results, load, path, pictures(folder, results, load))
    return path


def _write_chart(folder: Path, results: Results, chart: str, out: Path | None) -> Path:
    from assay.report import picture

    path = out or folder / f"{chart}.png"
    load = notebook.remembered(folder)
    picture.write(results, load, pictures(folder, results, load), chart, path)
    return path
