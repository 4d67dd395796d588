"""Move an experiment into another notebook, and merge notebooks: every run arrives whole, or nothing is changed."""

from __future__ import annotations

import errno
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from assay.errors import DamagedError, RefusedError, UsageError, refuse
from assay.notebook import files, layout, read
from assay.notebook.annotations import Annotations, Remark, added_to, annotate
from assay.notebook.store import Store, acquire_lock, refill


@dataclass(frozen=True, kw_only=True)
class MergedExperiment:
    """What became of one experiment of a merged notebook."""

    experiment: str
    is_new: bool
    """Whether the notebook did not have it before."""
    added: tuple[str, ...]
    """Runs that it did not have."""
    known: int
    """Runs that both had, byte for byte."""


def move(folder: Path, lab: Path) -> Path:
    """Move an experiment into another notebook; return its new folder.

    To another file system it is copied, held against its manifests, and only then removed here. Raises UsageError where the
    name is taken there, BusyError while a run writes, DamagedError, RefusedError.
    """
    layout.refuse_link(folder)
    goal = lab / folder.name
    if goal.exists():
        raise UsageError(f"found {goal}; expected no experiment of that name there. `assay merge` joins two notebooks.")
    with acquire_lock(folder):
        try:
            lab.mkdir(parents=True, exist_ok=True)
            folder.rename(goal)
        except OSError as error:
            if error.errno != errno.EXDEV:
                raise files.cannot_write(goal, error, "notebook") from error
            refuse_damage(folder)
            copy(folder, goal)
            shutil.rmtree(folder)
        files.flush(lab)
        files.flush(folder.parent)
    return goal


def refuse_damage(folder: Path) -> None:
    """Raise DamagedError with all that is damaged in an experiment."""
    if broken := read.scan(folder).damaged:
        raise DamagedError(f"{folder}: {'; '.join(f'{name}: {why}' for name, why in broken.items())}. Delete these runs first.")


def copy(folder: Path, goal: Path) -> None:
    """Copy a whole experiment under a temporary name, check and flush it, and rename it. Raises DamagedError, RefusedError."""
    try:
        with files.beside(goal) as temporary:
            shutil.copytree(folder, temporary / folder.name, ignore=passed_over, symlinks=True)
            for path in (temporary / folder.name).rglob("*"):
                files.flush(path)
            for place in read.attempts(temporary / folder.name):
                files.check(place)
            (temporary / folder.name).rename(goal)
            files.flush(goal.parent)
    except OSError as error:
        raise files.cannot_write(goal, error, "notebook") from error


def passed_over(_folder: str, names: list[str]) -> list[str]:
    """Return what is not copied: the index and the lock, which the next writer makes, and what is half written."""
    return [name for name in names if name.startswith((layout.INDEX, layout.LOCK, layout.TEMPORARY))]


def merge(others: Sequence[Path], lab: Path) -> tuple[MergedExperiment, ...]:
    """Add all experiments and runs of other notebooks to one; the others stay as they are.

    Raises UsageError with everything that speaks against it, before anything is changed; BusyError, DamagedError, RefusedError.
    """
    pairs = [(folder, lab / folder.name) for other in others for folder in read.folders(other)]
    refuse([mistake for at, (folder, goal) in enumerate(pairs) for mistake in obstacles(folder, goal, pairs[:at])])
    lab.mkdir(parents=True, exist_ok=True)
    return tuple(join(folder, goal) for folder, goal in pairs)


def obstacles(folder: Path, goal: Path, before: Sequence[tuple[Path, Path]]) -> Iterator[str]:
    """Yield what speaks against merging an experiment into a folder, after others that are merged into theirs."""
    if folder.resolve() == goal.resolve():
        yield f"found {folder} on both sides; expected different notebooks"
        return
    for name, why in read.scan(folder).damaged.items():
        yield f"{folder}: {name}: {why}. Delete this run first."
    for one in (folder, goal):
        try:
            added_to(one)
        except DamagedError as error:
            yield str(error)
    for place in (goal, *(one for one, to in before if to == goal)):
        if place.exists():
            yield from disagreement(folder, place)


def disagreement(folder: Path, place: Path) -> Iterator[str]:
    """Yield in what two folders of one experiment disagree: their schedule, or runs."""
    (_, ours), (_, theirs) = read.read_plan(place), read.read_plan(folder)
    shorter = min(len(ours.trials), len(theirs.trials))
    if ours.trials[:shorter] != theirs.trials[:shorter]:
        yield f"{folder.name} has another schedule in {folder.parent} than in {place.parent}. Compare them with `assay compare`."
        return
    clashes = [name for name, path in runs(folder) if layout.attempt_folder(place, name).exists() and not same(path, place, name)]
    if clashes:
        named = ", ".join(clashes[:10]) + (f" and {len(clashes) - 10} more" if len(clashes) > 10 else "")
        yield (
            f"{folder.name}: run {named} differs in {folder.parent} and {place.parent}: two executions of one schedule. "
            "Compare them with `assay compare` or `assay history`."
        )


def runs(folder: Path) -> Iterator[tuple[str, Path]]:
    """Yield the runs of an experiment with their folders."""
    for path in read.attempts(folder):
        yield layout.run_id(*layout.split_attempt(path)), path


def same(path: Path, goal: Path, name: str) -> bool:
    """Return whether both have the same run: manifests have the length and the CRC-32 of every file."""
    return files.listed(path) == files.listed(layout.attempt_folder(goal, name))


def join(folder: Path, goal: Path) -> MergedExperiment:
    """Add an experiment, or the runs of it that are not there."""
    every = [name for name, _ in runs(folder)]
    if not goal.exists():
        copy(folder, goal)
        return MergedExperiment(experiment=goal.name, is_new=True, added=tuple(every), known=0)
    experiment, plan = read.read_plan(folder)
    with Store.open(goal) as store:
        if len(plan.trials) > len(store.plan.trials):
            store.extend(experiment, plan)
        added = tuple(name for name, path in runs(folder) if take(path, layout.attempt_folder(goal, name)))
        theirs, former = still_gone(added_to(folder), goal), added_to(goal)
        if both(still_gone(former, goal, added), theirs) != former:
            annotate(goal, lambda ours: both(still_gone(ours, goal, added), theirs))
        refill(store.database, goal)
    return MergedExperiment(experiment=goal.name, is_new=False, added=added, known=len(every) - len(added))


def take(path: Path, goal: Path) -> bool:
    """Copy a run that is not there; return whether it was not. Raises RefusedError."""
    if goal.exists():
        return False
    try:
        with files.beside(goal) as temporary:
            shutil.copytree(path, temporary, dirs_exist_ok=True, symlinks=True)
            for one in (*temporary.iterdir(), temporary):
                files.flush(one)
            files.check(temporary)
            temporary.rename(goal)
            files.flush(goal.parent)
    except OSError as error:
        raise files.cannot_write(goal, error, "notebook") from error
    except DamagedError as error:
        raise RefusedError(f"{goal}: not copied whole ({error}). Check the storage.") from error
    return True


def still_gone(found: Annotations, goal: Path, among: Sequence[str] | None = None) -> Annotations:
    """Return notes without those on the deletion of runs that are there; of these runs alone."""

    def is_there(run: str) -> bool:
        return layout.attempt_folder(goal, run).is_dir() and (among is None or run in among)

    return replace(found, deleted=tuple(one for one in found.deleted if not is_there(one.run)))


def both(ours: Annotations, theirs: Annotations) -> Annotations:
    """Return the notes of both, ours first."""
    names = (*ours.runs, *(name for name in theirs.runs if name not in ours.runs))
    gone = tuple(one for one in theirs.deleted if one not in ours.deleted)
    return replace(
        ours,
        experiment=joined(ours.experiment, theirs.experiment),
        runs={name: joined(ours.of(name), theirs.of(name)) for name in names},
        deleted=(*ours.deleted, *gone),
    )


def joined(ours: Remark, theirs: Remark) -> Remark:
    """Return one note with the tags and the texts of both."""
    texts = dict.fromkeys(text for text in (ours.text, theirs.text) if text)
    return Remark(text=" / ".join(texts), tags=tuple(dict.fromkeys((*ours.tags, *theirs.tags))))
