"""The verbs that measure: each imports what it needs when it is called."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from assay.cli.options import FileArgument, GateOption, JsonOption, LabOption, ProgressOption, finish
from assay.laboratory.gate import Gate
from assay.terminal.progress import ProgressMode


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
        from assay.cli.terminal.load import keys_text, kinds_text

        finish(lambda: print(f"{context.get_help()}\n\n{kinds_text()}" if kind is None else keys_text(kind)) or 0)
    from assay.cli.load import Request
    from assay.cli.load import load as verb

    request = Request(kind=kind, words=words, json_to=json_to, claim=claim, keep=keep, gate=gate, progress=progress)
    finish(lambda: verb(request))


def stat(words: Annotated[list[str] | None, typer.Argument(metavar="[OPTIONS] -- COMMAND...")] = None) -> None:
    """Run any command, say what its number really measured.

    `main` reads its words before this would: here stands what the list of verbs says of it."""
    from assay.cli.stat.verb import stat as verb

    finish(lambda: verb(words or []))


def selftest(
    audit: Annotated[
        bool, typer.Option("--audit", help="Run planted lies and their sound twins: what do the rules say?")
    ] = False,
    rules: Annotated[str | None, typer.Option("--rules", metavar="T01,D02", help="With --audit: these rules alone.")] = None,
    times: Annotated[
        int | None, typer.Option("--times", metavar="N", help="With --audit: each control so often. With --observers: pairs.")
    ] = None,
    sound: Annotated[
        int | None, typer.Option("--sound", metavar="N", help="With --audit: N sound trials instead; who accuses them?")
    ] = None,
    observers: Annotated[
        str | None, typer.Option("--observers", metavar="all|NAMES", help="What these change in a load: pairs with and without.")
    ] = None,
    same: Annotated[
        int | None,
        typer.Option("--same", metavar="N", help="Compare a directory with itself N times: how often is it told apart?"),
    ] = None,
    as_json: JsonOption = False,
    gate: Annotated[
        Gate, typer.Option("--gate", help="Exit 3 on a missed lie, an accused twin, too many equals told apart.")
    ] = Gate.OFF,
    progress: ProgressOption = ProgressMode.AUTO,
) -> None:
    """Test the lab itself: its cost, and how often it is right.

    Alone, in some seconds: the processor time of a look of each observer, the engine's own loop, the start of 16 clients.
    The audit takes about eight minutes a round; what this user or machine cannot run is skipped with the reason."""
    from assay.cli.selftest import Request
    from assay.cli.selftest import selftest as verb

    request = Request(
        audit=audit,
        rules=rules,
        times=times,
        sound=sound,
        observers=observers,
        same=same,
        as_json=as_json,
        gate=gate,
        progress=progress,
    )
    finish(lambda: verb(request))
