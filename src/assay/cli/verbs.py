"""Every verb with its options, in the order of `assay --help`; each verb imports what it needs when it is called."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated

import typer

from assay.cli import examples, keeping_verbs
from assay.cli.directory_verbs import dissect, dsio, ldif
from assay.cli.notebook_verbs import export, history, import_, list_, sql
from assay.cli.options import (
    NOTEBOOK,
    BoundFactorOption,
    FileArgument,
    GateOption,
    HostAction,
    HostOption,
    JsonOption,
    JunitOption,
    LabOption,
    ProgressOption,
    ReportFormat,
    Shell,
    SummaryOption,
    VerdictGateOption,
    WhichArgument,
    finish,
)
from assay.cli.serve import serve
from assay.laboratory.gate import Gate
from assay.survey.filters import FileTime, Words
from assay.terminal.output import say
from assay.terminal.progress import ProgressMode

app = typer.Typer(
    name="assay",
    help="Measure storage, network and directory performance, and audit every number.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def shown(text: str) -> int:
    """Print a text. Gives 0."""
    say(text)
    return 0


def version(wanted: bool) -> None:
    """Print the version and exit, where it is asked for."""
    if wanted:
        from importlib import metadata

        print(f"assay {metadata.version('assay-lab')}")
        raise typer.Exit


@app.callback()
def assay(
    _: Annotated[bool, typer.Option("--version", callback=version, is_eager=True, help="Print the version and exit.")] = False,
) -> None:
    """Measure storage, network and directory performance, and audit every number.

    `--lab DIR` names the notebook of any verb, before or after the verb."""


@app.command()
def quick(
    directories: Annotated[
        list[Path] | None, typer.Argument(metavar="DIR", help="One directory to measure, or two to compare.")
    ] = None,
    lab: LabOption = NOTEBOOK,
    json_to: JsonOption = None,
    gate: GateOption = Gate.OFF,
    progress: ProgressOption = ProgressMode.AUTO,
) -> None:
    """Measure the storage of a directory, or compare two.

    Takes about a minute, audits every number and writes the report."""
    from assay.cli.run import quick as verb

    finish(lambda: verb(directories or [Path()], lab, json_to=json_to, gate=gate, progress=progress))


@app.command()
def plan(file: FileArgument, lab: LabOption = NOTEBOOK, host: HostOption = None, json_to: JsonOption = None) -> None:
    """Show the schedule, the duration and the detectable effects.

    Also shows the evidence that will be missing. Uses the variation and the duration of earlier runs in the notebook."""
    from assay.cli.plan import plan as verb

    finish(lambda: verb(file, lab, json_to, hosts=tuple(host or ())))


@app.command()
def run(
    file: FileArgument,
    lab: LabOption = NOTEBOOK,
    resume: Annotated[bool, typer.Option("--resume", help="Complete the schedule of an earlier call.")] = False,
    sitting: Annotated[
        str | None, typer.Option("--sitting", metavar="LEVEL", help="Run all trials of this level of the manual factor.")
    ] = None,
    host: HostOption = None,
    json_to: JsonOption = None,
    gate: GateOption = Gate.OFF,
    bound_factor: BoundFactorOption = None,
    junit: JunitOption = None,
    step_summary: SummaryOption = None,
    progress: ProgressOption = ProgressMode.AUTO,
) -> None:
    """Run an experiment: measure, audit, compare, report."""
    from assay.cli import run as verb
    from assay.cli.job import JobFiles

    request = verb.Request(
        file=file,
        lab=lab,
        resume=resume,
        sitting=sitting,
        hosts=tuple(host or ()),
        json_to=json_to,
        gate=gate,
        job=JobFiles(junit=junit, summary=step_summary),
        bound_factor=bound_factor,
        progress=progress,
    )
    finish(lambda: verb.run(request))


@app.command(context_settings={"help_option_names": [], "ignore_unknown_options": True})
def load(
    context: typer.Context,
    kind: Annotated[str | None, typer.Argument(metavar="KIND", help="The workload: bulk_io, metadata, null, ...")] = None,
    words: Annotated[list[str] | None, typer.Argument(metavar="KEY=VALUE ...", help="Its settings: path=F size=1GiB ...")] = None,
    json_to: Annotated[
        str | None, typer.Option("--json", metavar="[=FILE]", help="Write JSON to FILE; without =FILE to standard output alone.")
    ] = None,
    claim: Annotated[
        str | None, typer.Option("--claim", metavar="PART=VALUE,...", help="The claim to audit: tier=device,...")
    ] = None,
    keep: Annotated[bool, typer.Option("--keep", help="Keep the test file for another call.")] = False,
    gate: VerdictGateOption = Gate.OFF,
    progress: ProgressOption = ProgressMode.AUTO,
    asks_help: Annotated[bool, typer.Option("-h", "--help", help="Show this, or the keys of a workload.")] = False,
) -> None:
    """Run one workload once, and audit its figures.

    Needs no experiment file and no notebook. Shows the figures, the cost of the load itself, and the audit in one line."""
    from assay.cli import load as verb

    if kind is None or not words or asks_help:
        finish(lambda: shown(f"{context.get_help()}\n\n{verb.kinds_text()}" if kind is None else verb.keys_text(kind)))
    request = verb.Request(kind=kind, words=words, json_to=json_to, claim=claim, keep=keep, gate=gate, progress=progress)
    finish(lambda: verb.load(request))


@app.command(context_settings={"help_option_names": [], "ignore_unknown_options": True})
def stat(words: Annotated[list[str] | None, typer.Argument(metavar="[OPTIONS] -- COMMAND...")] = None) -> None:
    """Run any command, and audit the figures that it reports.

    `main` dispatches this verb itself: this function is its line in the list of verbs."""
    from assay.cli.stat.verb import stat as verb

    finish(lambda: verb(words or []))


@app.command()
def check(
    words: Annotated[list[str], typer.Argument(metavar="CLAIM", help='"1 GB/s read, 512 MB in 0.6 s, 12 GB RAM, 2 x 2GFC"')],
    json_to: JsonOption = None,
    gate: VerdictGateOption = Gate.OFF,
) -> None:
    """Check a published number by arithmetic, without a run."""
    from assay.cli.check import check as verb

    finish(lambda: verb(words, json_to=json_to, gate=gate))


@app.command("from-fio")
def from_fio(
    job: Annotated[Path, typer.Argument(metavar="JOB", help="The job file of fio.")], json_to: JsonOption = None
) -> None:
    """Write a job file of fio as an experiment file.

    Runs nothing. Standard error names what has no counterpart."""
    from assay.cli.from_fio import from_fio as verb

    finish(lambda: verb(job, json_to))


@app.command()
def audit(
    which: WhichArgument = None,
    lab: LabOption = NOTEBOOK,
    json_to: JsonOption = None,
    gate: GateOption = Gate.OFF,
    bound_factor: BoundFactorOption = None,
    junit: JunitOption = None,
    step_summary: SummaryOption = None,
) -> None:
    """Audit all runs again, from the raw data by the current rules."""
    from assay.cli.job import JobFiles
    from assay.cli.results import audit as verb

    job = JobFiles(junit=junit, summary=step_summary)
    finish(lambda: verb(lab, which, json_to=json_to, gate=gate, bound_factor=bound_factor, job=job))


@app.command()
def compare(
    which: Annotated[
        str | None,
        typer.Argument(metavar="EXPERIMENT", help="Default: the newest of the notebook. Or a notebook, as the baseline."),
    ] = None,
    other: Annotated[str | None, typer.Argument(metavar="NOTEBOOK", help="Compare this notebook with the baseline.")] = None,
    lab: LabOption = NOTEBOOK,
    json_to: JsonOption = None,
    gate: GateOption = Gate.OFF,
) -> None:
    """Show the comparisons with interval and conclusion.

    `assay compare LAB_A LAB_B` compares two notebooks, or two directories of experiments; the first is the baseline."""
    from assay.cli import compare as verb

    if which is not None and other is not None:
        baseline, candidate = which, other
        finish(lambda: verb.across(baseline, candidate, json_to=json_to, gate=gate))
    finish(lambda: verb.compare(lab, which, json_to=json_to, gate=gate))


@app.command()
def report(
    which: WhichArgument = None,
    lab: LabOption = NOTEBOOK,
    out: Annotated[
        Path | None, typer.Option("--out", metavar="FILE", help="Default: beside the experiment; - for standard output.")
    ] = None,
    form: Annotated[ReportFormat, typer.Option("--format", help="The format of the report.")] = ReportFormat.HTML,
    chart: Annotated[
        str | None, typer.Option("--chart", metavar="NAME", help="Write one chart to --out (.svg, .png; - is SVG).")
    ] = None,
    show_it: Annotated[bool, typer.Option("--open", help="Open the report in the browser.")] = False,
    json_to: JsonOption = None,
) -> None:
    """Write the report of an experiment."""
    from assay.cli import results

    request = results.ReportRequest(lab=lab, which=which, out=out, form=form.value, open=show_it, chart=chart, json_to=json_to)
    finish(lambda: results.report(request))


@app.command()
def show(
    run_id: Annotated[str, typer.Argument(metavar="RUN", help="Trial and attempt: 0007/1; a trial alone is its last run.")],
    which: WhichArgument = None,
    lab: LabOption = NOTEBOOK,
    json_to: JsonOption = None,
) -> None:
    """Show one run: measures, verdicts and findings."""
    from assay.cli.show import show as verb

    finish(lambda: verb(lab, which, run_id, json_to=json_to))


app.command(name="list")(list_)
app.command(name="import")(import_)
app.command()(history)
app.command()(sql)
app.command()(export)
app.command()(serve)
keeping_verbs.add_to(app)
app.command()(dsio)


@app.command()
def size(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A chain of parts and its requirements (TOML).")],
    picture: Annotated[
        Path | None, typer.Option("--picture", metavar="FILE", help="Draw the chain (.html, .svg or .png).")
    ] = None,
    json_to: JsonOption = None,
) -> None:
    """Find the part of a chain that saturates first.

    Names parts as their users do ("2 x 2GFC", "6 x SATA 7200"). Shows the capacity of each part, the gain of an upgrade, the
    throughput after a failure, and the price."""
    from assay.cli.size import run

    finish(lambda: run(file, json_to=json_to, picture=picture))


@app.command()
def predict(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A production load and another machine (TOML).")],
    json_to: JsonOption = None,
) -> None:
    """Predict how a production load utilises another machine.

    Uses service demands measured in notebooks, or a multiplier. Shows utilisation with its interval, response times, the
    number of machines, and the error for a mix that the fit did not use."""
    from assay.cli.predict import run

    finish(lambda: run(file, json_to=json_to))


@app.command()
def survey(
    directories: Annotated[list[str], typer.Argument(metavar="DIR", help="The directory trees.")],
    owner: Annotated[
        list[str] | None, typer.Option("--owner", metavar="NAME", help="Only files of this user, name or number.")
    ] = None,
    pattern: Annotated[
        list[str] | None, typer.Option("--pattern", metavar="GLOB", help="Only names that match this glob.")
    ] = None,
    newer: Annotated[str | None, typer.Option("--newer", metavar="AGE", help="Only files younger than AGE.")] = None,
    older: Annotated[
        str | None, typer.Option("--older", metavar="AGE", help='Only files of at least AGE: "year", "90 d".')
    ] = None,
    by: Annotated[FileTime, typer.Option("--by", help="The time from which ages count.")] = FileTime.MODIFIED,
    least: Annotated[str | None, typer.Option("--least", metavar="SIZE", help='Only files of at least SIZE: "1 MiB".')] = None,
    most: Annotated[str | None, typer.Option("--most", metavar="SIZE", help="Only files of at most SIZE.")] = None,
    cross: Annotated[bool, typer.Option("--cross", help="Include other file systems mounted below.")] = False,
    picture: Annotated[
        Path | None, typer.Option("--picture", metavar="FILE", help="Draw age against size (.html, .svg or .png).")
    ] = None,
    profile: Annotated[
        Path | None, typer.Option("--profile", metavar="FILE", help="Write the size distribution for workload metadata (TOML).")
    ] = None,
    listing: Annotated[bool, typer.Option("--list", help="Print the paths of the selected files only.")] = False,
    print0: Annotated[bool, typer.Option("--print0", help="As --list, each path ended by NUL.")] = False,
    json_to: JsonOption = None,
    progress: ProgressOption = ProgressMode.AUTO,
) -> None:
    """Count the files of directory trees by age and size.

    Shows the size of a second, cheaper tier; with filters, of a tier for the selected files. Reads no file content and changes
    nothing. --owner and --pattern are repeatable: a file must match one owner and one pattern."""
    from assay.cli import survey as verb

    words = Words(owners=tuple(owner or ()), patterns=tuple(pattern or ()), newer=newer, older=older, least=least, most=most)
    finish(
        lambda: verb.survey(
            verb.Request(
                directories=tuple(directories),
                words=words,
                clock=by,
                cross=cross,
                out=verb.out_of(json_to=json_to, listing=listing, print0=print0),
                json_to=json_to,
                picture=picture,
                profile=profile,
                progress=progress,
            ),
            time.time_ns(),
        )
    )


app.command()(ldif)


app.command()(dissect)


@app.command()
def explain(
    rule: Annotated[str, typer.Argument(metavar="RULE", help="The id or the name of a rule: T01, client-page-cache.")],
    json_to: JsonOption = None,
) -> None:
    """Explain a rule: evidence, thresholds, causes and remedies."""
    from assay.cli.catalogue import explain as verb

    finish(lambda: verb(rule, json_to))


@app.command()
def catalogue(json_to: JsonOption = None) -> None:
    """List targets, workloads, observers, rules and parsers."""
    from assay.cli.catalogue import catalogue as verb

    finish(lambda: verb(json_to))


@app.command()
def doctor(
    json_to: JsonOption = None,
    fix: Annotated[bool, typer.Option("--fix/--no-fix", help="Clean up after killed runs.")] = True,
) -> None:
    """Check what this machine supports; clean up after killed runs.

    Lists the evidence that will be missing, the reason, and the remedy."""
    from assay.cli.doctor import doctor as verb

    finish(lambda: verb(json_to, fix))


@app.command()
def hosts(
    file: FileArgument,
    action: Annotated[
        HostAction, typer.Argument(metavar="[list|check|install|clean|certificates]", help="Default: list.")
    ] = HostAction.LIST,
    out: Annotated[Path | None, typer.Option("--out", metavar="DIR", help="With certificates: their directory.")] = None,
    pairs: Annotated[bool, typer.Option("--pairs", help="With check: throughput between all hosts.")] = False,
    forget: Annotated[
        list[str] | None,
        typer.Option("--forget", metavar="HOST", help="With clean: strike out what cannot be undone on this host; repeatable."),
    ] = None,
    json_to: JsonOption = None,
) -> None:
    """List, check and prepare the hosts of an experiment.

    `list` connects to none.
    `check` shows host key, engine, clock, privileges and missing evidence of each host, and places the engine as `run` does.
    It also measures the throughput between the target's hosts and the load hosts, with `--pairs` between all.
    `install` places the engine.
    `clean` undoes the leftovers of killed runs on the hosts, and removes engines of other versions that nobody runs.
    `certificates` writes one for each worker of a Dask scheduler, valid for 7 days."""
    from assay.cli.hosts import verb

    finish(lambda: verb(file, action, json_to, out, tuple(forget or ()), pairs=pairs))


@app.command()
def completion(
    context: typer.Context, shell: Annotated[Shell, typer.Argument(metavar="SHELL", help="bash, zsh or fish.")]
) -> None:
    """Print the script that completes words of `assay` in a shell.

    bash: assay completion bash > ~/.local/share/bash-completion/completions/assay
    zsh: assay completion zsh > DIR/_assay, where DIR is in $fpath
    fish: assay completion fish > ~/.config/fish/completions/assay.fish"""
    from assay.cli.completion import completion as verb

    finish(lambda: verb(shell, context.find_root().command))


@app.command()
def selftest(
    audit: Annotated[
        bool, typer.Option("--audit", help="Run planted faults and their sound controls through the rules.")
    ] = False,
    rules: Annotated[str | None, typer.Option("--rules", metavar="T01,D02", help="With --audit: only these rules.")] = None,
    times: Annotated[
        int | None, typer.Option("--times", metavar="N", help="With --audit: runs of each control. With --observers: pairs.")
    ] = None,
    sound: Annotated[
        int | None, typer.Option("--sound", metavar="N", help="With --audit: run N sound trials; count false alarms.")
    ] = None,
    observers: Annotated[
        str | None, typer.Option("--observers", metavar="all|NAMES", help="Run a load in pairs, with and without observers.")
    ] = None,
    same: Annotated[
        int | None, typer.Option("--same", metavar="N", help="Compare a directory with itself N times; count false alarms.")
    ] = None,
    inference: Annotated[
        int | None, typer.Option("--inference", metavar="N", help="Draw N experiments of known truth; count false conclusions.")
    ] = None,
    casebook: Annotated[
        bool, typer.Option("--casebook", help="Run public reports of numbers that fooled somebody; count which are named.")
    ] = False,
    cases: Annotated[str | None, typer.Option("--cases", metavar="NAMES", help="With --casebook: only these pages.")] = None,
    json_to: JsonOption = None,
    gate: Annotated[
        Gate,
        typer.Option("--gate", metavar="[=strict]", help="Exit 3 on a missed fault, an accused control, too many false alarms."),
    ] = Gate.OFF,
    progress: ProgressOption = ProgressMode.AUTO,
) -> None:
    """Measure the cost of the lab and the errors of its rules.

    Without options: CPU time of each observer, of an empty load, of 16 client starts; some seconds.

    --audit takes about twelve minutes for each round, --casebook ten.
    Both skip what this user or machine cannot run."""
    from assay.cli import selftest as verb
    from assay.selftest import Request

    choice = verb.Choice(
        audit=audit,
        rules=rules,
        times=times,
        sound=sound,
        observers=observers,
        same=same,
        inference=inference,
        casebook=casebook,
        cases=cases,
    )
    finish(lambda: verb.selftest(choice, Request(json_to=json_to, gate=gate, progress=progress)))


examples.add_to(app)
