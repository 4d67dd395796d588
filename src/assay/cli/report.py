"""`assay report`: write the report of an experiment as a page, as Markdown, or one chart of it as a picture."""

from __future__ import annotations

import tempfile
import webbrowser
from dataclasses import dataclass
from pathlib import Path

from assay.errors import UsageError
from assay.laboratory import pages
from assay.laboratory.results import current
from assay.notebook import read as notebook
from assay.records import Results
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
    results = current(folder)
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
    if request.chart:
        return pages.write_chart(folder, results, request.chart, out)
    return pages.write(folder, results, out, request.form)
