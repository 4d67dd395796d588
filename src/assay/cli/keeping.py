"""What a notebook keeps, put in order: delete, restore, annotate, tag, move and merge; nothing goes without a word."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from pathlib import Path

from assay.errors import UsageError
from assay.measures import in_bytes
from assay.notebook import joining, layout, trash
from assay.notebook import read as notebook
from assay.notebook.annotations import Annotations, Remark, added_to, annotate, checked_note, checked_tags
from assay.terminal.output import Row, deliver, table

MOST_NAMED = 20
"""So many runs are named."""


def confirmed(question: str, *, yes: bool) -> bool:
    """Return whether the user wants it: by --yes, or by an answer at the terminal. Raises UsageError where nobody can answer."""
    if yes:
        return True
    if not sys.stdin.isatty():
        raise UsageError(f"{question} Found no terminal to ask; expected --yes.")
    print(f"{question} [y/N] ", end="", file=sys.stderr, flush=True)
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def delete(lab: Path, which: str, runs: Sequence[str], why: str, *, yes: bool, json_to: str | None) -> int:
    """Move an experiment, or runs of it, into the trash. Gives 0, and 1 where the user does not want it."""
    folder = notebook.choose(lab, which)
    named = layout.existing_runs(folder, runs)
    if named and not checked_note(why):
        raise UsageError('found no reason; expected --why "...": a reader must see why figures were left out')
    what = f"{len(named)} runs of {folder.name} ({short(named)})" if named else f"{folder.name} with {counted(folder)}"
    if not confirmed(f"Move {what} into the trash?", yes=yes):
        print("Nothing was deleted.")
        return 1
    goal = trash.delete_runs(folder, named, checked_note(why)) if named else trash.delete_experiment(folder)
    values = {"experiment": folder.name, "runs": named, "trash": str(goal)}
    back = f"assay trash {goal.name} --restore --lab {lab}"
    deliver(json_to, "delete", lambda: values, lambda: f"{what}: now in {goal}\nTo bring it back: {back}")
    return 0


def counted(folder: Path) -> str:
    """`12 runs`."""
    return f"{len(notebook.attempts(folder))} runs"


def short(runs: Sequence[str]) -> str:
    """Return names of runs, the first of many."""
    more = len(runs) - MOST_NAMED
    return ", ".join(runs[:MOST_NAMED]) + (f" and {more} more" if more > 0 else "")


def trash_list(lab: Path, *, json_to: str | None) -> int:
    """Show what is in the trash. Gives 0."""
    notebook.folders(lab)  # or there is no notebook
    found = trash.trashed(lab)
    rows = [Row(cells=(one.name, one.experiment, short(one.runs) or "all", str(one.files), in_bytes(one.bytes))) for one in found]
    head = ("in the trash", "experiment", "runs", "files", "size")
    deliver(
        json_to,
        "trash",
        lambda: {"trash": [asdict(one) for one in found]},
        lambda: table(head, rows, (3, 4)) if rows else f"the trash of {lab} is empty",
    )
    return 0


def restore(lab: Path, name: str, *, json_to: str | None) -> int:
    """Bring something back from the trash. Gives 0."""
    one = trash.choose(lab, name)
    folder = trash.restore(lab, one)
    values = {"experiment": folder.name, "runs": one.runs}
    deliver(json_to, "trash", lambda: values, lambda: f"{folder.name}: {short(one.runs) or counted(folder)} restored")
    return 0


def empty(lab: Path, name: str | None, *, yes: bool, json_to: str | None) -> int:
    """Delete the trash for good, or one thing in it. Gives 0, and 1 where the user does not want it."""
    found = trash.trashed(lab) if name is None else (trash.choose(lab, name),)
    size = in_bytes(sum(one.bytes for one in found))
    listed = "".join(f"\n  {one.name}: {short(one.runs) or 'all runs'}, {one.files} files" for one in found)
    if found and not confirmed(f"Delete {len(found)} entries of the trash for good ({size})?{listed}\n", yes=yes):
        print("Nothing was deleted.")
        return 1
    for one in found:
        trash.purge(lab, one)
    deliver(json_to, "trash", lambda: {"deleted": [asdict(one) for one in found]}, lambda: f"deleted for good: {size}{listed}")
    return 0


def note(lab: Path, place: tuple[str, str | None], text: str | None, *, json_to: str | None) -> int:
    """Write a note on an experiment or a run, or show the one that is there; an empty text removes it. Gives 0."""
    folder, run = placed(lab, place)
    if text is None:
        return show(("annotate", folder, run), added_to(folder).of(run), json_to)
    line = checked_note(text)

    def change(found: Annotations) -> Annotations:
        return found.with_note(run, replace(found.of(run), text=line))

    return show(("annotate", folder, run), annotate(folder, change).of(run), json_to)


def tag(lab: Path, place: tuple[str, str | None], tags: Sequence[str], removed: Sequence[str], *, json_to: str | None) -> int:
    """Add and remove tags of an experiment or a run. Gives 0."""
    folder, run = placed(lab, place)
    given, gone = checked_tags(tags), checked_tags(removed)

    def change(found: Annotations) -> Annotations:
        former = found.of(run)
        kept = tuple(one for one in dict.fromkeys((*former.tags, *given)) if one not in gone)
        return found.with_note(run, replace(former, tags=kept))

    return show(("tag", folder, run), annotate(folder, change).of(run), json_to)


def placed(lab: Path, place: tuple[str, str | None]) -> tuple[Path, str | None]:
    """Return the experiment's folder and the run of a call. Raises UsageError."""
    folder = notebook.choose(lab, place[0])
    return folder, None if place[1] is None else layout.existing_runs(folder, (place[1],))[0]


def show(place: tuple[str, Path, str | None], found: Remark, json_to: str | None) -> int:
    """Print what is added now to the experiment or the run of a verb."""
    verb, folder, run = place
    where = " ".join(part for part in (folder.name, run) if part)
    values = {"experiment": folder.name, "run": run, **asdict(found)}
    deliver(json_to, verb, lambda: values, lambda: f"{where}: {found.words or 'neither note nor tag'}")
    return 0


def move(lab: Path, which: str, to: Path, *, json_to: str | None) -> int:
    """Move an experiment into another notebook. Gives 0."""
    goal = joining.move(notebook.choose(lab, which), to)
    deliver(json_to, "move", lambda: {"experiment": goal.name, "lab": str(to)}, lambda: f"{goal.name}: now in {to}")
    return 0


def merge(others: Sequence[Path], lab: Path, *, json_to: str | None) -> int:
    """Add the experiments and runs of other notebooks. Gives 0."""
    found = joining.merge(others, lab)
    deliver(json_to, "merge", lambda: {"experiments": [asdict(one) for one in found]}, lambda: "\n".join(lines(found, lab)))
    return 0


def lines(found: Sequence[joining.MergedExperiment], lab: Path) -> Iterator[str]:
    """Yield what became of each experiment."""
    for one in found:
        known = f", {one.known} were there" if one.known else ""
        yield f"{one.experiment}: {'new, ' if one.is_new else ''}{len(one.added)} runs added{known}"
    if not found:
        yield f"nothing to add to {lab}"
