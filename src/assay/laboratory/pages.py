"""The report of an experiment as a file: analysis, evidence and page brought together."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from assay import measures
from assay.analysis.cells import Load
from assay.analysis.scaling.bounds import pictured
from assay.errors import AssayError
from assay.notebook import files, layout
from assay.notebook import read as notebook
from assay.prediction.demand import groups
from assay.prediction.wording import tables
from assay.records import Direction, Judged, Outcome, Phase, Results, Run
from assay.report import galleries
from assay.report.charts.curves import Curve
from assay.report.charts.figure import Table
from assay.report.galleries import Pictures

AGAIN = "again"
"""The notebook of the command that does an experiment again."""
BY_STAT = "# assay stat"
"""How the text of an experiment begins that `assay stat --save` made."""


def pictures(folder: Path, results: Results, load: notebook.Load) -> Pictures:
    """Make the pictures that need the analysis: curves over the number of objects, resource use of operations.

    If there are very many runs, only those are read whose latencies are merged. They are read last: the page needs what `load`
    remembers of them again.
    """
    scaled = pictured(results.experiment, results.runs, results.cells, load)
    chosen = [judged for group in galleries.merged(galleries.groups(results)) for judged in group if _changes_names(judged.run)]
    return Pictures(
        curves=curves(sorted(chosen, key=lambda judged: judged.id), load),
        tables=tuple((title, Table(head=head, rows=rows)) for title, head, rows in tables(groups(results, load))),
        scaled=scaled,
        command=command(folder, results),
    )


def command(folder: Path, results: Results) -> str:
    """Return the command that makes such runs again, from any directory, in another notebook: this one is complete.

    Relative paths of an experiment begin where it was begun, so the command begins there too.
    """
    path = folder.absolute() / layout.EXPERIMENT
    begun = begun_in(folder)
    there = f"cd {shlex.quote(begun)} && " if begun else ""
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    if text.startswith(BY_STAT):
        return there + text.removeprefix("# ").strip()
    level = next(iter(results.plan.sittings), None)
    sitting = "" if level is None else f" --sitting {shlex.quote(str(level))}"
    return f"{there}assay run {shlex.quote(str(path))} --lab {AGAIN}{sitting}"


def begun_in(folder: Path) -> str | None:
    """Return the directory in which an experiment was begun; None where its notebook does not have it, or it is gone."""
    try:
        found = files.read_json(folder / layout.PLAN).get(layout.BEGUN_IN)
    except (AssayError, OSError, AttributeError):
        return None
    return found if isinstance(found, str) and Path(found).is_dir() else None


def _changes_names(run: Run) -> bool:
    """Whether the run measured an operation on metadata, without which it has no curve over objects."""
    return any(phase.measured and Direction.METADATA in phase.directions.values() for phase in run.phases)


def curves(runs: Sequence[Judged], load: Load) -> tuple[Curve, ...]:
    """Return the curves of every operation on metadata of every finished run that kept checkpoints; damaged evidence has none."""
    found = []
    for judged in runs:
        if judged.run.outcome is not Outcome.FINISHED:
            continue
        try:
            observations = load(judged.id)
        except AssayError:
            continue
        for phase in judged.run.phases:
            of_metadata = (one for one in phase.operations if phase.directions.get(one) is Direction.METADATA)
            for operation in of_metadata if phase.measured else ():
                points = measures.curve(phase, observations.on(*phase.load_hosts), operation)
                if len(points) > 1:
                    found.append(_curve((judged.id, phase, operation), points))
    return tuple(found)


def _curve(what: tuple[str, Phase, str], points: Sequence[measures.CurvePoint]) -> Curve:
    """Return the curve over objects: the phase's first operation counts them, another one is done so many times for each."""
    run, phase, operation = what
    counts = {
        name: sum(total.count for client in phase.clients for total in client.operations if total.operation == name)
        for name in (phase.operations[0], operation)
    }
    objects = counts[phase.operations[0]] / (counts[operation] or 1)
    return Curve(
        run=run,
        workload=phase.workload,
        operation=operation,
        objects=tuple(point.objects * objects for point in points),
        time_per_operation_ns=tuple(point.ns_per_operation for point in points),
        active_clients=tuple(point.active for point in points),
        clients=max(point.clients for point in points),
    )


def write(folder: Path, results: Results, out: Path | None = None, form: str = "html") -> Path:
    """Write the page, or short Markdown (`md`), beside the experiment or to `out`; return its path."""
    path = out or folder / f"report.{form}"
    with named(path):
        if form == "md":
            from assay.report import markdown

            path.write_text(markdown.render(results, command(folder, results)), encoding="utf-8")
        else:
            from assay.report import page

            load = notebook.remembered(folder)
            page.write(results, load, path, pictures(folder, results, load))
    return path


@contextmanager
def named(path: Path) -> Iterator[None]:
    """Name the file in an error of writing to it: the system names it only where it could not be opened."""
    try:
        yield
    except OSError as error:
        if error.filename is not None:
            raise
        raise AssayError(f"{path}: not written ({error.strerror}). Check permissions and free space.") from error


def write_chart(folder: Path, results: Results, chart: str, out: Path | None = None) -> Path:
    """Write one chart as .png or .svg; return its path. Raises UsageError, MissingError."""
    from assay.report import page, picture

    path = out or folder / f"{chart}.png"
    load = notebook.remembered(folder)
    with named(path):
        picture.write(page.figures(results, load, pictures(folder, results, load)), chart, path)
    return path
