"""Run an experiment file (`assay run`), or the one that fits a directory (`assay quick`): plan, conduct, conclude, show."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from importlib import resources
from pathlib import Path

from assay import catalogue
from assay.answer import doubts
from assay.answer.plainly import plainly
from assay.catalogue import Mounts
from assay.cli.job import NOTHING, JobFiles
from assay.cli.options import NOTEBOOK
from assay.cli.small import refuse_if_small
from assay.cli.summary import summary
from assay.errors import ObstacleErrors, RefusedError, UsageError, refuse
from assay.experiment import outlook
from assay.experiment import plan as planning
from assay.experiment import read as reading
from assay.experiment.named_hosts import readdressed
from assay.experiment.spread import too_few_clients, without_engine
from assay.hosts.local import Local
from assay.hosts.mount_namespaces import enter_own
from assay.laboratory.campaign import Campaign, conduct
from assay.laboratory.gate import Gate, status
from assay.laboratory.history import length_ns
from assay.laboratory.results import conclude, gated
from assay.laboratory.session import clean_quietly, experiment_of, placed
from assay.laboratory.soaking import why_over
from assay.notebook import layout
from assay.notebook import read as notebook
from assay.notebook.store import Store
from assay.records import Change, Experiment, Outcome, Plan, Precision, Results, Trial
from assay.terminal.courses import Expected
from assay.terminal.output import STANDARD_OUTPUT, deliver, say
from assay.terminal.progress import Progress, ProgressMode
from assay.terminal.remaining import Remaining
from assay.toml_document import quoted

NOT_ALL_MEASURED = 1
"""Exit status where a trial did not finish."""
MOST_DIRECTORIES = 2
FULL_BYTES = 256 << 20
LEAST_BYTES = 16 << 20
SPARE_FACTOR = 8
"""The largest file is at most this part of the free space."""
LONGEST_NAME = 40
AFTER_S = 3.0
"""Removal of the targets, conclusion and report after the last trial, as a guess."""


@dataclass(frozen=True, kw_only=True)
class Request:
    """The words of one call."""

    file: Path
    lab: Path
    resume: bool = False
    sitting: str | None = None
    hosts: tuple[str, ...] = ()
    """HOST=ADDRESS for addresses instead of the file's."""
    json_to: str | None
    gate: Gate
    job: JobFiles = NOTHING
    bound_factor: float | None = None
    """How far apart the bounds of a figure are at most for the gate; None: as file and rules have it."""
    progress: ProgressMode
    verb: str = "run"


def run(request: Request) -> int:
    """Run the experiment of a file. Raises InputErrors, BusyError, RefusedError and the other AssayErrors."""
    experiment = readdressed(experiment_of(request.file, request.lab), request.hosts)
    text = request.file.read_text(encoding="utf-8")
    try:
        return carry_out(request, experiment, text, fresh=False)
    except ObstacleErrors as error:
        raise placed(error, text, str(request.file)) from error


def carry_out(request: Request, experiment: Experiment, text: str, *, fresh: bool) -> int:
    """Conduct what is left of the schedule, conclude and show it; the exit status, which is 1 where a trial did not finish."""
    refuse_if_small()
    schedule = planning.plan(experiment)
    refuse((*too_few_clients(experiment, schedule.trials), *without_engine(experiment)))
    clean_quietly(Local())
    with opened(request.lab, experiment, schedule, text, fresh=fresh) as store:
        try:
            conduct_rest(request, store)
        except UsageError:
            store.withdraw()
            raise
        results = conclude(store)
        over = why_over(store)
    show(request, results, store.folder)
    request.job.write(gated(store.folder, results, request.bound_factor), request.gate)
    if over is not None:
        say(f"assay: soak {over}", sys.stderr)
        return NOT_ALL_MEASURED
    if doubts.never_finished(results.runs):
        return NOT_ALL_MEASURED
    return status(gated(store.folder, results, request.bound_factor), request.gate)


def opened(lab: Path, experiment: Experiment, schedule: Plan, text: str, *, fresh: bool) -> Store:
    """Open the notebook's folder of the experiment for writing; hosts have the addresses of this call, targets its prices."""
    store = Store.create(lab, experiment, schedule, text, fresh=fresh)
    prices = {spec.name: spec.price for spec in experiment.targets}
    priced = tuple(replace(spec, price=prices.get(spec.name, spec.price)) for spec in store.experiment.targets)
    if any(new.price != old.price for new, old in zip(priced, store.experiment.targets, strict=True)):
        store.extend(replace(store.experiment, targets=priced), store.plan)
    store.experiment = replace(store.experiment, hosts=experiment.hosts)
    return store


def show(request: Request, results: Results, folder: Path) -> None:
    """Print the answer, then write the report: where the report cannot be written, the answer is printed all the same."""
    deliver(request.json_to, request.verb, lambda: plainly(results), lambda: summary(results))
    from assay.laboratory import pages  # the drawing libraries, only now

    path = pages.write(folder, results)
    if request.json_to != STANDARD_OUTPUT:
        print(f"report: {path}")
        if request.sitting is not None and (words := next_sitting(request, results)):
            print(words)


def next_sitting(request: Request, results: Results) -> str:
    """Say which level a person has to set now, and the call that goes on; empty where all sittings are complete."""
    finished = frozenset(one.run.trial.id for one in results.runs if one.run.outcome is Outcome.FINISHED)
    still_open = open_sittings(results.plan, finished)
    if not still_open:
        return ""
    path = next(factor.path for factor in results.experiment.factors if factor.change is Change.MANUAL)
    level = str(results.plan.sittings[min(still_open)])
    lab = () if request.lab == NOTEBOOK else ("--lab", str(request.lab))
    call = shlex.join(("assay", "run", str(request.file), *lab, "--sitting", level))
    return f"next: set {path} = {level} by hand, then: {call}"


def conduct_rest(request: Request, store: Store) -> None:
    """Conduct what is left of the schedule that the notebook holds, telling how far it is."""
    finished = done_before(store.folder, request)
    hide_mounts(store.experiment)
    sitting = chosen_sitting(store.experiment, store.plan, request.sitting, finished)
    left = [one for one in store.plan.trials if one.id not in finished and sitting in (None, one.sitting)]
    progress = Progress(request.progress, remaining(store, left))
    campaign = Campaign(
        store=store,
        on_progress=progress,
        sitting=sitting,
        finished=finished,
        attempts=attempts_before(store.folder),
        noise_counts=request.gate is Gate.WORSE,
    )
    with progress.beating():
        conduct(campaign)


def remaining(store: Store, left: Sequence[Trial]) -> Remaining:
    """Return what is known of the time that these trials take: guesses, and the finished trials of earlier calls."""
    experiment, guesses_s = store.experiment, outlook.guesses_s(store.experiment, left)
    found = Remaining(
        trials={one.id: Expected(cell=repr(one.levels), guess_s=guesses_s[one.id], block=one.block) for one in left},
        fewest_blocks=planning.LEAST_PRECISE if isinstance(experiment.repeats, Precision) else None,
        most_s=None if experiment.budget_ns is None else experiment.budget_ns / len(store.plan.sittings) / 1e9,
        after_s=AFTER_S,
    )
    for run in notebook.runs(store.folder):
        if run.outcome is Outcome.FINISHED:
            found.know(repr(run.trial.levels), length_ns(run) / 1e9)
    return found


def hide_mounts(experiment: Experiment) -> None:
    """Enter a mount namespace of our own where targets mount something that nobody else needs: others would copy the mount."""
    wanted = {catalogue.find("targets", spec.kind).mounts for spec in experiment.used_targets()}
    if Mounts.LAB in wanted and Mounts.HOST not in wanted:
        enter_own()


def done_before(folder: Path, request: Request) -> frozenset[int]:
    """The trials that are already there. Raises UsageError where there are some and neither --resume nor --sitting is given."""
    ended = {run.trial.id for run in notebook.runs(folder) if run.outcome is Outcome.FINISHED}
    if ended and not request.resume and request.sitting is None:
        raise UsageError(
            f"{folder}: {len(ended)} finished trials of this experiment. Complete the schedule with --resume, "
            "run it again in another notebook with --lab DIR, or see it with `assay report`."
        )
    return frozenset(ended)


def attempts_before(folder: Path) -> dict[int, int]:
    """Trial -> the last attempt that the notebook holds."""
    found = (layout.split_attempt(path) for path in notebook.attempts(folder))
    return dict(sorted(found))  # damaged ones too: their numbers are taken


def chosen_sitting(experiment: Experiment, plan: Plan, level: str | None, finished: frozenset[int]) -> int | None:
    """The sitting to run: the first unfinished one of that level. Raises UsageError."""
    manual = [factor for factor in experiment.factors if factor.change is Change.MANUAL]
    if not manual:
        if level is not None:
            raise UsageError(f'found --sitting {level}; expected a factor with change = "manual" in the file')
        return None
    levels = [str(sitting) for sitting in plan.sittings]
    if level is None or level not in levels:
        raise UsageError(
            f"found {'no --sitting' if level is None else f'--sitting {level}'}; "
            f"expected one of: {', '.join(dict.fromkeys(levels))} (factor {manual[0].path} changes by hand). "
            f"Name the level that is set now, such as: --sitting {levels[0]}"
        )
    still_open = open_sittings(plan, finished)
    for number, name in enumerate(levels):
        if name == level and number in still_open:
            return number
    raise UsageError(f"found every trial of sitting {level} finished; expected an unfinished sitting")


def open_sittings(plan: Plan, finished: frozenset[int]) -> frozenset[int]:
    """The sittings that have trials left."""
    return frozenset(trial.sitting for trial in plan.trials if trial.id not in finished and trial.block < plan.blocks)


def quick(directories: Sequence[Path], lab: Path, *, json_to: str | None, gate: Gate, progress: ProgressMode) -> int:
    """Run `controls/quick.toml` on the directories. Raises UsageError, RefusedError."""
    text = experiment_text(directories)
    request = Request(file=Path("quick.toml"), lab=lab, json_to=json_to, gate=gate, progress=progress, verb="quick")
    return carry_out(request, reading.parse(text, "quick.toml"), text, fresh=True)


def experiment_text(directories: Sequence[Path]) -> str:
    """The experiment of `quick` with the directories as targets and sizes that fit the free space."""
    refuse_wrong(directories)
    text = (resources.files("assay.controls") / "quick.toml").read_text(encoding="utf-8")
    free, fullest = min((shutil.disk_usage(path).free, path) for path in directories)
    size = min(FULL_BYTES, free // SPARE_FACTOR)
    if size < LEAST_BYTES:
        raise RefusedError(
            f"{fullest}: {free >> 20} MiB free (at least {LEAST_BYTES * SPARE_FACTOR >> 20} MiB needed)."
            " Name a directory on a file system with more space."
        )
    text = text.replace('"256 MiB"', f'"{size >> 20} MiB"')
    below = " and ".join(str(path.resolve()) for path in directories)
    text = text.replace('title = "The storage below this directory"', f"title = {quoted(f'The storage below {below}')}")
    names = target_names(directories)
    sections = [
        f'\n[targets.{quoted(name)}]\nkind = "directory"\npath = {quoted(str(path.resolve()))}\n'
        for name, path in zip(names, directories, strict=True)
    ]
    if len(names) > 1:
        sections.append(f"\n[factors]\ntarget = {json.dumps(names)}\n")
    return text + "".join(sections)


def refuse_wrong(directories: Sequence[Path]) -> None:
    """Refuse more than two directories, and what is no directory."""
    if len(directories) > MOST_DIRECTORIES:
        raise UsageError(f"found {len(directories)} directories; expected one to measure or two to compare")
    if len({path.resolve() for path in directories}) < len(directories):
        raise UsageError(f"found {directories[0]} twice; expected one directory to measure or two to compare")
    wrong = [
        f"found {path} which {'is a file' if path.exists() else 'does not exist'}" for path in directories if not path.is_dir()
    ]
    if wrong:
        raise UsageError("; ".join(wrong) + "; expected a directory")
    inodes = {(path.stat().st_dev, path.stat().st_ino) for path in directories}
    if len(inodes) < len(directories):
        raise UsageError(f"found the directory {directories[0]} twice; expected two directories to compare")
    for path in directories:
        try:
            str(path.resolve()).encode()
        except UnicodeEncodeError as error:
            raise UsageError(
                f"found {str(path)!r}, whose name is not UTF-8; expected UTF-8, as in an experiment file: rename it"
            ) from error


def target_names(directories: Sequence[Path]) -> list[str]:
    """Short names: the last part of each path as far as a target may be called so, numbered where they are alike."""
    parts = [path.resolve().name or "root" for path in directories]
    names = [re.sub(r"[^\w.+-]+", "-", part)[:LONGEST_NAME].strip("-") or "directory" for part in parts]
    return names if len(set(names)) == len(names) else [f"{name}-{number}" for number, name in enumerate(names, 1)]
