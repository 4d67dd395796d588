"""The verbs of the command line: one verb a function, each imports what it needs when it is called.

Exit status: 0 done, whatever the verdict; 1 failed, also where a trial did not finish; 2 wrong usage; 3 with --gate when a
verdict is TAINTED or INVALID (--gate strict: UNVERIFIED too); 4 with --gate when a requirement is not met (strict: undecided
too); 130 interrupted.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from typing import Annotated, NoReturn

import typer

from assay.cli.gate import Gate
from assay.cli.progress import ProgressMode
from assay.errors import AssayError
from assay.survey.filters import Clock, Words

INTERRUPTED = 130

app = typer.Typer(
    name="assay",
    help="Benchmarks that say what their numbers really are.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


class ReportFormat(StrEnum):
    """What a report is written as."""

    HTML = "html"
    MARKDOWN = "md"


LabOption = Annotated[Path, typer.Option("--lab", envvar="ASSAY_LAB", help="The notebook.")]
JsonOption = Annotated[bool, typer.Option("--json", help="JSON on standard output, nothing else.")]
GateOption = Annotated[Gate, typer.Option("--gate", help="Exit 3 on a bad verdict, 4 on an unmet requirement.")]
ProgressOption = Annotated[ProgressMode, typer.Option("--progress", help="How progress is told on standard error.")]
FileArgument = Annotated[Path, typer.Argument(help="The experiment file.")]
WhichArgument = Annotated[str | None, typer.Argument(help="Which experiment of the notebook (default: the newest).")]


@app.command()
def quick(
    directories: Annotated[list[Path] | None, typer.Argument(help="One directory to measure, or two to compare.")] = None,
    lab: LabOption = Path("lab"),
    as_json: JsonOption = False,
    gate: GateOption = Gate.OFF,
    progress: ProgressOption = ProgressMode.AUTO,
) -> None:
    """Measure the storage of a directory, or compare two.

    Takes about a minute, audits every number and writes the report."""
    from assay.cli.quick import quick as verb

    finish(lambda: verb(directories or [Path()], lab, as_json=as_json, gate=gate, progress=progress))


@app.command()
def plan(file: FileArgument, lab: LabOption = Path("lab"), as_json: JsonOption = False) -> None:
    """Show schedule, duration and what can be shown.

    Also the evidence that will be missing, the effect it can detect and the one it can prove to matter: by the spread and the
    time of earlier runs where the notebook has some."""
    from assay.cli.plan import plan as verb

    finish(lambda: verb(file, lab, as_json))


@app.command()
def run(
    file: FileArgument,
    lab: LabOption = Path("lab"),
    resume: Annotated[bool, typer.Option("--resume", help="Complete the schedule that an earlier call began.")] = False,
    sitting: Annotated[str | None, typer.Option("--sitting", help="Run all trials of this level of the manual factor.")] = None,
    as_json: JsonOption = False,
    gate: GateOption = Gate.OFF,
    progress: ProgressOption = ProgressMode.AUTO,
) -> None:
    """Run an experiment: keep, audit, compare and report it."""
    from assay.cli.run import Request
    from assay.cli.run import run as verb

    finish(
        lambda: verb(Request(file=file, lab=lab, resume=resume, sitting=sitting, as_json=as_json, gate=gate, progress=progress))
    )


@app.command(context_settings={"help_option_names": []})
def load(
    context: typer.Context,
    kind: Annotated[str | None, typer.Argument(metavar="KIND", help="What is done: bulk_io, metadata, null, ...")] = None,
    words: Annotated[list[str] | None, typer.Argument(metavar="KEY=VALUE ...", help="How: path=F size=1GiB ...")] = None,
    json_to: Annotated[str | None, typer.Option("--json", metavar="FILE", help="Figures as JSON; - for stdout.")] = None,
    claim: Annotated[str | None, typer.Option("--claim", help="What the figures are said to be: tier=device,...")] = None,
    keep: Annotated[bool, typer.Option("--keep", help="Leave a file that was made where it is, to be used again.")] = False,
    gate: GateOption = Gate.OFF,
    progress: ProgressOption = ProgressMode.AUTO,
    asks_help: Annotated[bool, typer.Option("--help", help="Show this, or the keys of a kind.")] = False,
) -> None:
    """Run one engine once, and say what its number is.

    Without an experiment file and without a notebook: the figures, what the load itself cost, and the audit in one line."""
    if kind is None or not words or asks_help:
        from assay.cli.load_shown import keys_text, kinds_text

        finish(lambda: print(f"{context.get_help()}\n\n{kinds_text()}" if kind is None else keys_text(kind)) or 0)
    from assay.cli.load import Request
    from assay.cli.load import load as verb

    request = Request(kind=kind, words=words, json_to=json_to, claim=claim, keep=keep, gate=gate, progress=progress)
    finish(lambda: verb(request))


@app.command(context_settings={"help_option_names": [], "ignore_unknown_options": True})
def stat(words: Annotated[list[str] | None, typer.Argument(metavar="[OPTIONS] -- COMMAND...")] = None) -> None:
    """Run any command, say what its number really measured.

    `main` reads its words before this would: here stands what the list of verbs says of it."""
    from assay.cli.stat import stat as verb

    finish(lambda: verb(words or []))


@app.command()
def check(
    words: Annotated[list[str], typer.Argument(metavar="CLAIM", help='"1 GB/s read, 512 MB in 0.6 s, 12 GB RAM, 2 x 2GFC"')],
    as_json: JsonOption = False,
    gate: GateOption = Gate.OFF,
) -> None:
    """Judge a published number by arithmetic, without a run."""
    from assay.cli.check import check as verb

    finish(lambda: verb(words, as_json=as_json, gate=gate))


@app.command()
def audit(
    which: WhichArgument = None, lab: LabOption = Path("lab"), as_json: JsonOption = False, gate: GateOption = Gate.OFF
) -> None:
    """Judge all runs again, from the raw data by today's rules."""
    from assay.cli.audit import audit as verb

    finish(lambda: verb(lab, which, as_json=as_json, gate=gate))


@app.command()
def compare(
    which: WhichArgument = None, lab: LabOption = Path("lab"), as_json: JsonOption = False, gate: GateOption = Gate.OFF
) -> None:
    """Show the comparisons with interval and conclusion."""
    from assay.cli.compare import compare as verb

    finish(lambda: verb(lab, which, as_json=as_json, gate=gate))


@app.command()
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


@app.command()
def show(
    run_id: Annotated[str, typer.Argument(metavar="RUN", help="Trial and attempt, for example 0007/1.")],
    which: WhichArgument = None,
    lab: LabOption = Path("lab"),
    as_json: JsonOption = False,
) -> None:
    """Show one run: its measures, verdicts and findings."""
    from assay.cli.show import show as verb

    finish(lambda: verb(lab, which, run_id, as_json=as_json))


@app.command(name="list")
def list_(lab: LabOption = Path("lab"), as_json: JsonOption = False) -> None:
    """List the experiments of a notebook with their verdicts."""
    from assay.cli.list import list_experiments as verb

    finish(lambda: verb(lab, as_json=as_json))


@app.command()
def sql(
    query: Annotated[str, typer.Argument(help="A SELECT over runs, phases, readings, series, findings, verdicts, ...")],
    lab: LabOption = Path("lab"),
    as_json: JsonOption = False,
    as_csv: Annotated[bool, typer.Option("--csv", help="CSV on standard output.")] = False,
) -> None:
    """Ask the notebook in SQL."""
    from assay.cli.sql import sql as verb

    finish(lambda: verb(lab, query, as_json=as_json, as_csv=as_csv))


@app.command()
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


@app.command()
def explain(
    rule: Annotated[str, typer.Argument(help="The rule's id or name: T01, client-page-cache.")], as_json: JsonOption = False
) -> None:
    """Say what a rule means, how it sees it and what to do."""
    from assay.cli.explain import explain as verb

    finish(lambda: verb(rule, as_json))


@app.command()
def catalogue(as_json: JsonOption = False) -> None:
    """List targets, workloads, observers, rules and parsers."""
    from assay.cli.catalogue import catalogue as verb

    finish(lambda: verb(as_json))


@app.command()
def doctor(
    as_json: JsonOption = False,
    fix: Annotated[bool, typer.Option("--fix/--no-fix", help="Undo what dead processes of ours left behind.")] = True,
) -> None:
    """Say what this machine allows; clean up orphans.

    Names the evidence that will be missing, why, and how to get it."""
    from assay.cli.doctor import doctor as verb

    finish(lambda: verb(as_json, fix))


def finish(call: Callable[[], int]) -> NoReturn:
    """End with the status of a verb; every known error is told in words."""
    try:
        status = call()
    except AssayError as error:
        print(f"assay: {error}", file=sys.stderr)
        status = error.exit_status
    except KeyboardInterrupt:
        status = INTERRUPTED
    raise typer.Exit(status)
