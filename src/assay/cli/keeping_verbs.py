"""The verbs that put a notebook in order; each imports what it needs when it is called."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from assay.cli.options import NOTEBOOK, JsonOption, LabOption, finish
from assay.errors import UsageError

ExperimentArgument = Annotated[str, typer.Argument(metavar="EXPERIMENT", help="An experiment of the notebook.")]
RunOption = Annotated[str | None, typer.Option("--run", metavar="RUN", help="This run of it: 0007/1.")]
YesOption = Annotated[bool, typer.Option("--yes", help="Do not ask.")]


def delete(
    which: ExperimentArgument,
    runs: Annotated[list[str] | None, typer.Argument(metavar="RUN ...", help="These runs of it alone: 0007/1.")] = None,
    why: Annotated[str, typer.Option("--why", metavar="TEXT", help="The reason; needed for single runs.")] = "",
    yes: YesOption = False,
    lab: LabOption = NOTEBOOK,
    json_to: JsonOption = None,
) -> None:
    """Move an experiment or runs of it into the trash.

    Asks before, or needs --yes. `assay trash` brings them back or deletes them for good.
    Lists name runs that were deleted, with the reason."""
    from assay.cli import keeping

    finish(lambda: keeping.delete(lab, which, tuple(runs or ()), why, yes=yes, json_to=json_to))


def trash(
    name: Annotated[str | None, typer.Argument(metavar="NAME", help="One entry of the trash. Default: all.")] = None,
    restore: Annotated[bool, typer.Option("--restore", help="Bring the entry back.")] = False,
    empty: Annotated[bool, typer.Option("--empty", help="Delete for good.")] = False,
    yes: YesOption = False,
    lab: LabOption = NOTEBOOK,
    json_to: JsonOption = None,
) -> None:
    """List the trash, bring an entry back, or empty it."""
    from assay.cli import keeping

    if empty and not restore:
        finish(lambda: keeping.empty(lab, name, yes=yes, json_to=json_to))
    if restore and not empty and name is not None:
        finish(lambda: keeping.restore(lab, name, json_to=json_to))
    if restore or empty:
        finish(lambda: wrong("found --restore without NAME, or with --empty; expected NAME --restore, or --empty"))
    finish(lambda: keeping.trash_list(lab, json_to=json_to))


def wrong(words: str) -> int:
    """Refuse the words of a call."""
    raise UsageError(words)


def annotate(
    which: ExperimentArgument,
    text: Annotated[str | None, typer.Argument(metavar="TEXT", help='Default: show the note. "" removes it.')] = None,
    run: RunOption = None,
    lab: LabOption = NOTEBOOK,
    json_to: JsonOption = None,
) -> None:
    """Write a note on an experiment or a run."""
    from assay.cli import keeping

    finish(lambda: keeping.note(lab, (which, run), text, json_to=json_to))


def tag(
    which: ExperimentArgument,
    tags: Annotated[list[str] | None, typer.Argument(metavar="TAG ...", help="Tags to add.")] = None,
    run: RunOption = None,
    remove: Annotated[list[str] | None, typer.Option("--remove", metavar="TAG", help="Remove this tag; repeatable.")] = None,
    lab: LabOption = NOTEBOOK,
    json_to: JsonOption = None,
) -> None:
    """Add tags to an experiment or a run.

    `assay list --tag` and `assay list --runs --tag` find them."""
    from assay.cli import keeping

    finish(lambda: keeping.tag(lab, (which, run), tuple(tags or ()), tuple(remove or ()), json_to=json_to))


def move(
    which: ExperimentArgument,
    to: Annotated[Path, typer.Option("--to", metavar="LAB", help="The other notebook; made where there is none.")],
    lab: LabOption = NOTEBOOK,
    json_to: JsonOption = None,
) -> None:
    """Move an experiment into another notebook."""
    from assay.cli import keeping

    finish(lambda: keeping.move(lab, which, to, json_to=json_to))


def merge(
    others: Annotated[list[Path], typer.Argument(metavar="LAB ...", help="Notebooks, which stay as they are.")],
    lab: LabOption = NOTEBOOK,
    json_to: JsonOption = None,
) -> None:
    """Add the experiments and runs of other notebooks to this one.

    Refuses two executions of one schedule: `assay compare` and `assay history` compare them."""
    from assay.cli import keeping

    finish(lambda: keeping.merge(tuple(others), lab, json_to=json_to))


def add_to(app: typer.Typer) -> None:
    """Add the verbs, in the order of `assay --help`."""
    for verb in (delete, trash, annotate, tag, move, merge):
        app.command()(verb)
