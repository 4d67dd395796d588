"""The verbs of whole notebooks: lists, histories, SQL and exports; each imports what it needs when it is called."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from assay.cli.options import NOTEBOOK, ExportFormat, GateOption, JsonOption, LabOption, finish
from assay.laboratory.gate import Gate


def list_(
    which: Annotated[str | None, typer.Argument(metavar="EXPERIMENT", help="List its runs. Default: all experiments.")] = None,
    runs: Annotated[bool, typer.Option("--runs", help="List the runs of all experiments.")] = False,
    tag: Annotated[str | None, typer.Option("--tag", metavar="TAG", help="Only experiments, or runs, with this tag.")] = None,
    lab: LabOption = NOTEBOOK,
    json_to: JsonOption = None,
) -> None:
    """List experiments, or runs with their figures and verdicts."""
    from assay.cli import notebook

    if which is None and not runs:
        finish(lambda: notebook.list_experiments(lab, json_to=json_to, tag=tag))
    finish(lambda: notebook.list_runs(lab, which, json_to=json_to, tag=tag))


def import_(
    files: Annotated[
        list[str], typer.Argument(metavar="[NAME=]FILE...", help="The output or result file of a tool; one NAME, one variant.")
    ],
    form: Annotated[
        str | None,
        typer.Option("--format", metavar="NAME", help="Read the files as this parser does. Default: by their content."),
    ] = None,
    claim: Annotated[
        str | None, typer.Option("--claim", metavar="PART=VALUE,...", help="The claim to audit. Default: as `assay stat`.")
    ] = None,
    beside: Annotated[
        str | None,
        typer.Option("--beside", metavar="EXPERIMENT", help="Add the results to one of `assay stat --save` or import."),
    ] = None,
    lab: LabOption = NOTEBOOK,
    json_to: JsonOption = None,
) -> None:
    """Keep finished results of other tools in the notebook.

    fio, elbencho, IOR, iozone and all other parsers of `assay catalogue`. Compared and drawn as own runs; UNVERIFIED, since
    nobody watched."""
    from assay.cli import imported as verb

    request = verb.ImportRequest(files=tuple(files), form=form, claim=claim, beside=beside, lab=lab, json_to=json_to)
    finish(lambda: verb.import_results(request))


def sql(
    query: Annotated[
        str, typer.Argument(metavar="QUERY", help="A SELECT over runs, phases, readings, series, findings, verdicts, ...")
    ],
    lab: LabOption = NOTEBOOK,
    json_to: JsonOption = None,
    as_csv: Annotated[bool, typer.Option("--csv", help="Write CSV to standard output.")] = False,
) -> None:
    """Query the notebook in SQL."""
    from assay.cli.notebook import sql as verb

    finish(lambda: verb(lab, query, json_to=json_to, as_csv=as_csv))


def export(
    which: Annotated[str | None, typer.Argument(metavar="EXPERIMENT", help="Default: all of the notebook.")] = None,
    lab: LabOption = NOTEBOOK,
    form: Annotated[ExportFormat, typer.Option("--format", help="The format of the files.")] = ExportFormat.CSV,
    to: Annotated[
        Path, typer.Option("--to", metavar="DIR", help="A new directory, or the directory of an earlier export.")
    ] = Path("export"),
    table: Annotated[
        list[str] | None, typer.Option("--table", metavar="NAME", help="Export this table; repeatable. Default: all.")
    ] = None,
    json_to: JsonOption = None,
) -> None:
    """Export the tables of the notebook for other programs.

    Runs, measures, verdicts, findings, series, percentiles, comparisons, requirements and more, by the current rules."""
    from assay.cli.notebook import export as verb

    finish(lambda: verb(lab, which, form.value, to, tuple(table or ()), json_to=json_to))


def history(
    labs: Annotated[
        list[Path] | None, typer.Argument(metavar="LAB", help="Notebooks, each with an execution. Default: that of --lab.")
    ] = None,
    title: Annotated[
        str | None, typer.Option("--title", metavar="TITLE", help="The experiment, where the notebooks have several.")
    ] = None,
    measure: Annotated[
        str | None, typer.Option("--measure", metavar="GLOB", help='Only these figures: "*.bytes_per_s". Default: all.')
    ] = None,
    good: Annotated[
        str | None, typer.Option("--good", metavar="NAME", help="The last known good execution. Default: the first.")
    ] = None,
    picture: Annotated[
        Path | None, typer.Option("--picture", metavar="FILE", help="Draw the history (.html, .svg or .png).")
    ] = None,
    gate: GateOption = Gate.OFF,
    lab: LabOption = NOTEBOOK,
    json_to: JsonOption = None,
) -> None:
    """Show one experiment over many executions, and find its steps.

    Each execution is a notebook of its own: `assay run FILE --lab history/NAME`, then `assay history history/*`.
    With --gate: exit 4 if a figure is worse than in the last known good execution by more than the smallest relevant effect."""
    from assay.cli import history as verb

    request = verb.HistoryRequest(
        labs=tuple(labs or (lab,)),
        title=title,
        measure=measure,
        good=good,
        picture=picture,
        gate=gate,
        json_to=json_to,
    )
    finish(lambda: verb.run(request))
