"""The verbs that look at what is there, foresee or judge: each imports what it needs when it is called."""

from __future__ import annotations

import time
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from assay.cli.options import FileArgument, GateOption, JsonOption, LabOption, ProgressOption, WhichArgument, finish
from assay.laboratory.gate import Gate
from assay.survey.filters import Clock, Words
from assay.terminal.progress import ProgressMode


class ReportFormat(StrEnum):
    """What a report is written as."""

    HTML = "html"
    MARKDOWN = "md"


class ExportFormat(StrEnum):
    """What a notebook is exported as."""

    CSV = "csv"
    PARQUET = "parquet"
    SQLITE = "sqlite"


def plan(file: FileArgument, lab: LabOption = Path("lab"), as_json: JsonOption = False) -> None:
    """Show schedule, duration and what can be shown.

    Also the evidence that will be missing, the effect it can detect and the one it can prove to matter: by the spread and the
    time of earlier runs where the notebook has some."""
    from assay.cli.plan import plan as verb

    finish(lambda: verb(file, lab, as_json))


def check(
    words: Annotated[list[str], typer.Argument(metavar="CLAIM", help='"1 GB/s read, 512 MB in 0.6 s, 12 GB RAM, 2 x 2GFC"')],
    as_json: JsonOption = False,
    gate: GateOption = Gate.OFF,
) -> None:
    """Judge a published number by arithmetic, without a run."""
    from assay.cli.check import check as verb

    finish(lambda: verb(words, as_json=as_json, gate=gate))


def audit(
    which: WhichArgument = None, lab: LabOption = Path("lab"), as_json: JsonOption = False, gate: GateOption = Gate.OFF
) -> None:
    """Judge all runs again, from the raw data by today's rules."""
    from assay.cli.audit import audit as verb

    finish(lambda: verb(lab, which, as_json=as_json, gate=gate))


def compare(
    which: Annotated[str | None, typer.Argument(help="Which experiment (default: the newest), or a notebook.")] = None,
    other: Annotated[str | None, typer.Argument(help="A notebook to hold against the first one, the baseline.")] = None,
    lab: LabOption = Path("lab"),
    as_json: JsonOption = False,
    gate: GateOption = Gate.OFF,
) -> None:
    """Show the comparisons with interval and conclusion.

    With two notebooks (`assay compare LAB_A LAB_B`, or folders of experiments in them): the second against the first."""
    if which is not None and other is not None:
        from assay.cli.across import across

        baseline, candidate = which, other
        finish(lambda: across(baseline, candidate, as_json=as_json, gate=gate))
    from assay.cli.compare import compare as verb

    finish(lambda: verb(lab, which, as_json=as_json, gate=gate))


def report(
    which: WhichArgument = None,
    lab: LabOption = Path("lab"),
    out: Annotated[Path | None, typer.Option("--out", help="Where to write it (default: beside the experiment).")] = None,
    form: Annotated[ReportFormat, typer.Option("--format", help="html or md.")] = ReportFormat.HTML,
    chart: Annotated[str | None, typer.Option("--chart", help="Write this chart alone, to --out (.svg or .png).")] = None,
    show_it: Annotated[bool, typer.Option("--open", help="Open it in the browser.")] = False,
) -> None:
    """Write the report of an experiment."""
    from assay.cli.report import report as verb

    finish(lambda: verb(lab, which, out, form.value, show_it, chart))


def show(
    run_id: Annotated[str, typer.Argument(metavar="RUN", help="Trial and attempt, for example 0007/1.")],
    which: WhichArgument = None,
    lab: LabOption = Path("lab"),
    as_json: JsonOption = False,
) -> None:
    """Show one run: its measures, verdicts and findings."""
    from assay.cli.show import show as verb

    finish(lambda: verb(lab, which, run_id, as_json=as_json))


def list_(lab: LabOption = Path("lab"), as_json: JsonOption = False) -> None:
    """List the experiments of a notebook with their verdicts."""
    from assay.cli.list import list_experiments as verb

    finish(lambda: verb(lab, as_json=as_json))


def sql(
    query: Annotated[str, typer.Argument(help="A SELECT over runs, phases, readings, series, findings, verdicts, ...")],
    lab: LabOption = Path("lab"),
    as_json: JsonOption = False,
    as_csv: Annotated[bool, typer.Option("--csv", help="CSV on standard output.")] = False,
) -> None:
    """Ask the notebook in SQL."""
    from assay.cli.sql import sql as verb

    finish(lambda: verb(lab, query, as_json=as_json, as_csv=as_csv))


def export(
    which: Annotated[str | None, typer.Argument(help="Which experiment of the notebook (default: all).")] = None,
    lab: LabOption = Path("lab"),
    form: Annotated[ExportFormat, typer.Option("--format", help="csv, parquet or sqlite.")] = ExportFormat.CSV,
    to: Annotated[Path, typer.Option("--to", metavar="DIR", help="A new folder, or that of an earlier export.")] = Path("export"),
    table: Annotated[list[str] | None, typer.Option("--table", help="Only this table; can be given several times.")] = None,
    as_json: JsonOption = False,
) -> None:
    """Write the notebook's tables for other programs.

    Runs, measures, verdicts, findings, series, percentiles, comparisons, requirements and more, by today's rules."""
    from assay.cli.export import export as verb

    finish(lambda: verb(lab, which, form.value, to, tuple(table or ()), as_json=as_json))


def size(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A chain of parts and what is asked of it (TOML).")],
    picture: Annotated[Path | None, typer.Option("--picture", help="Draw the chain (.html, .svg or .png).")] = None,
    as_json: JsonOption = False,
) -> None:
    """Say which part of a chain saturates first.

    Parts are told as their users know them ("2 x 2GFC", "6 x SATA 7200"). Says what each carries, what an upgrade of it
    buys, what remains when it fails, and what it costs."""
    from assay.cli.size import Request, run

    finish(lambda: run(Request(file=file, as_json=as_json, picture=picture)))


def predict(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A production load and the machine that is to carry it (TOML).")],
    as_json: JsonOption = False,
) -> None:
    """Say how busy a production load keeps another machine.

    By what its operations were measured to take in notebooks, or by a multiplier: utilisation with its interval, response
    times, number of machines, and whether a mix that was held out was met."""
    from assay.cli.predict import run

    finish(lambda: run(file, as_json=as_json))


def survey(
    directories: Annotated[list[str], typer.Argument(metavar="DIR...", help="The trees to look at.")],
    owner: Annotated[list[str] | None, typer.Option("--owner", help="Only files of this user, name or number.")] = None,
    pattern: Annotated[list[str] | None, typer.Option("--pattern", help="Only names that this glob matches.")] = None,
    newer: Annotated[str | None, typer.Option("--newer", metavar="AGE", help="Only files younger than this.")] = None,
    older: Annotated[
        str | None, typer.Option("--older", metavar="AGE", help='Only files so old or older: "year", "90 d".')
    ] = None,
    by: Annotated[Clock, typer.Option("--by", help="The time that ages count from.")] = Clock.MODIFIED,
    least: Annotated[str | None, typer.Option("--least", metavar="SIZE", help='Only files at least so large: "1 MiB".')] = None,
    most: Annotated[str | None, typer.Option("--most", metavar="SIZE", help="Only files at most so large.")] = None,
    cross: Annotated[bool, typer.Option("--cross", help="Walk other file systems below, too.")] = False,
    picture: Annotated[Path | None, typer.Option("--picture", help="Draw age against size (.html, .svg or .png).")] = None,
    profile: Annotated[Path | None, typer.Option("--profile", help="Write the sizes for a workload to imitate (TOML).")] = None,
    listing: Annotated[bool, typer.Option("--list", help="Print the paths that are kept, nothing else.")] = False,
    print0: Annotated[bool, typer.Option("--print0", help="The same, each path ended by NUL.")] = False,
    as_json: JsonOption = False,
    progress: ProgressOption = ProgressMode.AUTO,
) -> None:
    """Count the files of trees by age and size.

    Says what a second, cheaper tier would hold; with filters, what one of such files would. Reads no file and changes
    nothing. Of --owner and --pattern, which can be given several times, one must fit."""
    from assay.cli.survey import Request, out_of
    from assay.cli.survey import survey as verb

    words = Words(owners=tuple(owner or ()), patterns=tuple(pattern or ()), newer=newer, older=older, least=least, most=most)
    finish(
        lambda: verb(
            Request(
                directories=tuple(directories),
                words=words,
                clock=by,
                cross=cross,
                out=out_of(as_json=as_json, listing=listing, print0=print0),
                picture=picture,
                profile=profile,
                progress=progress,
            ),
            time.time_ns(),
        )
    )


def explain(
    rule: Annotated[str, typer.Argument(help="The rule's id or name: T01, client-page-cache.")], as_json: JsonOption = False
) -> None:
    """Say what a rule means, how it sees it and what to do."""
    from assay.cli.explain import explain as verb

    finish(lambda: verb(rule, as_json))


def catalogue(as_json: JsonOption = False) -> None:
    """List targets, workloads, observers, rules and parsers."""
    from assay.cli.catalogue import catalogue as verb

    finish(lambda: verb(as_json))


def doctor(
    as_json: JsonOption = False,
    fix: Annotated[bool, typer.Option("--fix/--no-fix", help="Undo what dead processes of ours left behind.")] = True,
) -> None:
    """Say what this machine allows; clean up orphans.

    Names the evidence that will be missing, why, and how to get it."""
    from assay.cli.doctor import doctor as verb

    finish(lambda: verb(as_json, fix))
