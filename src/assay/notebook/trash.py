"""Delete experiments and runs into the trash of their notebook, bring them back, and empty it: nothing goes at once.

`lab/.trash/TIME-NAME` is an experiment's folder as it was, or holds `trials/` and `derived/` of the runs that were taken out of
it, with `trash.json`, which names the experiment. What is in the trash is no part of the notebook: no verb reads it.
"""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from assay.errors import AssayError, DamagedError, UsageError
from assay.notebook import files, index, layout, read
from assay.notebook.annotations import Annotations, annotate
from assay.notebook.store import Store, acquire_lock, refill
from assay.records import DeletedRun

CONTENT = "trash.json"


@dataclass(frozen=True, kw_only=True)
class Trashed:
    """One thing in the trash."""

    name: str
    """Of its folder there."""
    experiment: str
    runs: tuple[str, ...]
    """The runs of it; none where it is the whole experiment."""
    bytes: int
    files: int


def delete_experiment(folder: Path) -> Path:
    """Move an experiment into the trash; return where it is. Raises UsageError, BusyError while a run writes, RefusedError."""
    layout.refuse_link(folder)
    with acquire_lock(folder):
        goal = fresh(folder)
        try:
            goal.parent.mkdir(exist_ok=True)
            folder.rename(goal)
            files.flush(goal.parent)
            files.flush(folder.parent)
        except OSError as error:
            raise files.cannot_write(goal, error) from error
    return goal


def delete_runs(folder: Path, runs: Sequence[str], why: str) -> Path:
    """Move runs into the trash, and note in the experiment that they are gone and why; return where they are.

    Raises UsageError naming each run that is not there, BusyError while a run writes.
    """
    runs = layout.existing_runs(folder, runs)
    with Store.open(folder) as store:
        goal = fresh(folder)
        goal.mkdir(parents=True)
        files.write_whole(goal / CONTENT, files.to_json({"experiment": folder.name, "runs": list(runs)}))
        gone = [deleted(folder, run, why) for run in runs]
        annotate(folder, lambda found: replace(found, deleted=(*without(found, runs).deleted, *gone)))
        for run in runs:
            for path in parts(folder, run):
                carry(path, goal / path.relative_to(folder))
            index.forget(store.database, run)
    return goal


def deleted(folder: Path, run: str, why: str) -> DeletedRun:
    """Return what is noted of a run that goes."""
    try:
        outcome = read.read_run(layout.attempt_folder(folder, run)).outcome.value
    except DamagedError:
        outcome = "damaged"
    return DeletedRun(run=run, outcome=outcome, at_utc=datetime.now(UTC).isoformat(timespec="seconds"), why=why)


def parts(folder: Path, run: str) -> list[Path]:
    """Return all that belongs to a run: its folder, and its verdicts by every ruleset."""
    file = f"{run.replace('/', '-')}.json"
    return [layout.attempt_folder(folder, run), *sorted((folder / layout.DERIVED).glob(f"*/verdicts/{file}"))]


def carry(path: Path, goal: Path) -> None:
    """Move within the notebook, on stable media; a trial that has no attempt any more has no folder. Raises RefusedError."""
    try:
        goal.parent.mkdir(parents=True, exist_ok=True)
        path.rename(goal)
        files.flush(goal.parent)
        files.flush(path.parent)
        if path.name.startswith("attempt-") and not any(path.parent.iterdir()):
            path.parent.rmdir()
    except OSError as error:
        raise files.cannot_write(goal, error) from error


def fresh(folder: Path) -> Path:
    """Return a new place in the trash for what is of this experiment."""
    at = datetime.now(UTC).strftime("%Y%m%dT%H%M%S")
    place = folder.parent / layout.TRASH / f"{at}-{folder.name}"
    number = 1
    while place.exists():
        number += 1
        place = place.with_name(f"{at}.{number}-{folder.name}")
    return place


def trashed(lab: Path) -> tuple[Trashed, ...]:
    """Return what is in the trash of a notebook, the oldest first."""
    found = []
    for place in sorted((lab / layout.TRASH).glob("*")):
        if not place.is_dir():
            continue
        experiment, runs = named(place)
        inside = [one for one in place.rglob("*") if one.is_file() and not one.is_symlink()]
        size = sum(one.stat().st_size for one in inside)
        found.append(Trashed(name=place.name, experiment=experiment, runs=runs, bytes=size, files=len(inside)))
    return tuple(found)


def named(place: Path) -> tuple[str, tuple[str, ...]]:
    """Return the experiment and the runs of something in the trash; a whole experiment has no runs."""
    try:
        found = files.read_json(place / CONTENT)
        return str(found["experiment"]), tuple(map(str, found["runs"]))
    except (AssayError, KeyError, TypeError):
        return place.name.partition("-")[2], ()


def choose(lab: Path, name: str) -> Trashed:
    """Return one thing in the trash by its name or how that begins. Raises UsageError naming what there is."""
    there = trashed(lab)
    found = [one for one in there if one.name == name] or [one for one in there if name and one.name.startswith(name)]
    if len(found) != 1:
        names = ", ".join(one.name for one in found or there) or "nothing, for the trash is empty"
        raise UsageError(f"found {len(found)} in the trash for {name!r}; expected one of: {names}")
    return found[0]


def restore(lab: Path, one: Trashed) -> Path:
    """Bring something back; return the experiment's folder. Raises UsageError where its place is taken, BusyError."""
    place, folder = lab / layout.TRASH / one.name, lab / one.experiment
    if not one.runs:
        if folder.exists():
            raise UsageError(f"found {folder}, which has the place; expected none there: move or delete it first")
        place.rename(folder)
        files.flush(lab)
        return folder
    if not (folder / layout.PLAN).is_file():
        raise UsageError(f"found no experiment {one.experiment}; expected it there: restore it first")
    inside = (run for run in one.runs if layout.attempt_folder(place, run).exists())  # fewer after a crash in the middle
    if taken := [run for run in inside if layout.attempt_folder(folder, run).exists()]:
        raise UsageError(f"found run {', '.join(taken)} in {folder.name} again; expected no run of these names there")
    with Store.open(folder) as store:
        for path in sorted((*place.glob(f"{layout.TRIALS}/*/attempt-*"), *place.glob(f"{layout.DERIVED}/*/verdicts/*.json"))):
            goal = folder / path.relative_to(place)
            goal.parent.mkdir(parents=True, exist_ok=True)
            path.replace(goal)
        annotate(folder, lambda found: without(found, one.runs))
        refill(store.database, folder)
        shutil.rmtree(place)
    return folder


def without(found: Annotations, runs: Sequence[str]) -> Annotations:
    """Return the notes as if these runs had never been deleted."""
    return replace(found, deleted=tuple(one for one in found.deleted if one.run not in runs))


def purge(lab: Path, one: Trashed) -> None:
    """Delete something in the trash for good. Raises OSError."""
    shutil.rmtree(lab / layout.TRASH / one.name)
