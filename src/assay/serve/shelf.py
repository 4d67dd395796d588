"""What the pages know of a notebook: its experiments and runs, from the index where that is whole, else from the files.

Nothing is written, and no name of a page becomes a path: a name is looked up among those that are there, and a folder that a
symbolic link leads out of the notebook is not there.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from assay.answer import marks
from assay.errors import AssayError, DamagedError
from assay.notebook import index, layout, read
from assay.notebook.annotations import Annotations, readable
from assay.notebook.index import IndexedRun
from assay.records import Experiment, Judged, Outcome, Plan, Value, VerdictState

Stamp = tuple[object, ...]
"""Changes when one of the files behind a page does."""
RUN = re.compile(r"\d{1,9}/\d{1,6}")
LOCKS = Path("/proc/locks")
CHANGING = (layout.PLAN, layout.TRIALS, layout.INDEX)
"""What a new run changes."""


@dataclass(frozen=True, kw_only=True)
class ListedRun:
    """A run in a list."""

    run: str
    outcome: str
    started_utc: str
    levels: str
    verdicts: tuple[tuple[str, str, float | None, str], ...]
    """Measure, state, figure and unit."""

    @cached_property
    def states(self) -> tuple[tuple[VerdictState, int], ...]:
        """How many measures have which verdict."""
        return counted(Counter(state for _, state, _, _ in self.verdicts))

    @cached_property
    def figures(self) -> Mapping[str, tuple[VerdictState, float | None, str]]:
        """Measure -> its verdict, figure and unit."""
        return {measure: (VerdictState(state), value, unit) for measure, state, value, unit in self.verdicts}


@dataclass(frozen=True, kw_only=True)
class Listed:
    """An experiment with its runs."""

    name: str
    experiment: Experiment | None
    """None where its plan cannot be read."""
    damaged: str = ""
    trials: int = 0
    runs: tuple[ListedRun, ...] = ()
    ruleset: str = ""
    is_indexed: bool = True
    """Whether the index knows all runs: without it verdicts are not listed."""
    is_running: bool = False
    added: Annotations = field(default_factory=Annotations)
    """Notes, tags, and runs that were deleted."""

    @property
    def title(self) -> str:
        """Its title, or the name of its folder."""
        return self.experiment.title if self.experiment else self.name

    @property
    def finished(self) -> int:
        """How many trials have a run that finished."""
        return len({one.run.partition("/")[0] for one in self.runs if one.outcome == Outcome.FINISHED})

    @property
    def last_utc(self) -> str:
        """When the last run began; empty where there is none."""
        return max((one.started_utc for one in self.runs), default="")

    @cached_property
    def states(self) -> tuple[tuple[VerdictState, int], ...]:
        """How many measures of runs have which verdict."""
        return counted(Counter(state for one in self.runs for _, state, _, _ in one.verdicts))

    @cached_property
    def measures(self) -> tuple[str, ...]:
        """The measures that have verdicts, in the order of the experiment."""
        found = {measure for one in self.runs for measure, *_ in one.verdicts}
        known = [one.name for one in self.experiment.measures] if self.experiment else []
        return tuple(name for name in dict.fromkeys((*known, *sorted(found))) if name in found)


def counted(states: Mapping[str, int]) -> tuple[tuple[VerdictState, int], ...]:
    """Return the counts from the best verdict to the worst; those that occur."""
    return tuple((state, states[state.value]) for state in marks.MEANING if states.get(state.value))


@dataclass(kw_only=True)
class Shelf:
    """The experiments of one notebook; plans and lists are kept until their files change."""

    lab: Path
    _plans: dict[Path, tuple[Stamp, Experiment, Plan]] = field(default_factory=dict)
    _lists: dict[Path, tuple[Stamp, Listed]] = field(default_factory=dict)

    def folders(self) -> tuple[Path, ...]:
        """Return the folders of experiments inside the notebook, the newest first."""
        names = (one.name for one in self.lab.iterdir()) if self.lab.is_dir() else ()
        found = [folder for name in names if (folder := self.folder(name))]
        return tuple(sorted(found, key=lambda one: (max(times(one / file)[2:] for file in CHANGING), one.name), reverse=True))

    def folder(self, name: str) -> Path | None:
        """Return the folder of this name; None where there is none."""
        if not name or "/" in name or "\0" in name or name.startswith("."):
            return None
        place = self.lab / name
        try:
            is_inside = place.resolve().parent == self.root and any((place / name).is_file() for name in read.PLANS)
            is_inside = is_inside and all(self.is_inside(one) for one in place.iterdir() if one.is_symlink())
        except OSError:  # a name that is too long
            return None
        return place if is_inside else None

    def stamp(self) -> Stamp:
        """Return what changes with any experiment."""
        return tuple(self.stamp_of(folder) for folder in self.folders())

    def stamp_of(self, folder: Path) -> Stamp:
        """Return what changes with the list of runs of an experiment."""
        wal = folder / f"{layout.INDEX}-wal"
        places = (folder / layout.PLAN, folder / layout.INDEX, wal, folder / layout.TRIALS, folder / layout.DERIVED)
        return (folder.name, *(times(one) for one in places), is_written(folder), times(folder / layout.NOTES))

    def listed(self, folder: Path) -> Listed:
        """Return an experiment with its runs."""
        stamp = self.stamp_of(folder)
        if (kept := self._lists.get(folder)) and kept[0] == stamp:
            return kept[1]
        made = self._listed(folder)
        self._lists[folder] = (stamp, made)
        return made

    def _listed(self, folder: Path) -> Listed:
        try:
            experiment, plan = self.plan(folder)
        except AssayError as error:
            return Listed(name=folder.name, experiment=None, damaged=str(error))
        known = read.rulesets(folder)
        ruleset = known[-1] if known else ""
        found, there = index.indexed(folder, ruleset), self.attempts(folder)
        is_indexed = found is not None and len(found) == len(there)
        runs = found if found is not None and is_indexed else unindexed(filter(self.is_whole, there))
        levels = {trial.id: trial.levels for trial in plan.trials}
        return Listed(
            name=folder.name,
            experiment=experiment,
            trials=sum(trial.block < plan.blocks for trial in plan.trials),
            runs=tuple(listed_run(experiment, levels, one) for one in runs),
            ruleset=ruleset,
            is_indexed=is_indexed,
            is_running=is_written(folder),
            added=readable(folder),
        )

    def is_whole(self, place: Path) -> bool:
        """Whether nothing of an attempt is outside the notebook."""
        return self.is_inside(place) and not any(layout.leading_out(place, self.root))

    @cached_property
    def root(self) -> Path:
        """The notebook without links in its path."""
        return self.lab.resolve()

    def is_inside(self, path: Path) -> bool:
        """Whether no link of this path leads out of the notebook."""
        return path.resolve().is_relative_to(self.root)

    def attempts(self, folder: Path) -> tuple[Path, ...]:
        """Return the folders of attempts that no link leads out of the notebook."""
        there = read.attempts(folder)
        out = {one.name for one in (folder / layout.TRIALS).glob("*") if one.is_symlink() and not self.is_inside(one)}
        return tuple(one for one in there if one.parent.name not in out) if out else there

    def plan(self, folder: Path) -> tuple[Experiment, Plan]:
        """Return the experiment and its schedule. Raises DamagedError."""
        stamp = tuple(times(folder / name) for name in read.PLANS)
        kept = self._plans.get(folder)
        if kept is None or kept[0] != stamp:
            kept = (stamp, *read.read_plan(folder))
            self._plans[folder] = kept
        return kept[1], kept[2]

    def run(self, folder: Path, run: str) -> tuple[Judged, str] | None:
        """Return a run with its verdicts, and the ruleset of these; None where it is not there. Raises DamagedError."""
        if not RUN.fullmatch(run):
            return None
        place = layout.attempt_folder(folder, run)
        known = read.rulesets(folder)
        ruleset = known[-1] if known else ""
        verdicts = layout.derived_folder(folder, ruleset) / "verdicts" / "{:04d}-{}.json".format(*layout.split_run_id(run))
        if not place.is_dir() or not self.is_whole(place) or not self.is_inside(verdicts):
            return None
        found = read.one_result(folder, run, ruleset)
        return (found, ruleset) if found else None


def listed_run(experiment: Experiment, levels: Mapping[int, Mapping[str, Value]], one: IndexedRun) -> ListedRun:
    """Return a run of the index with the levels of its trial."""
    trial = layout.split_run_id(one.run)[0]
    return ListedRun(
        run=one.run,
        outcome=one.outcome,
        started_utc=one.started_utc,
        levels=marks.levels(experiment, levels.get(trial, {})),
        verdicts=one.verdicts,
    )


def unindexed(places: Iterable[Path]) -> Iterator[IndexedRun]:
    """Yield the runs by their files, without verdicts: the next writer makes the index anew."""
    for place in places:
        name = layout.run_id(*layout.split_attempt(place))
        try:
            run = read.read_run(place)
        except DamagedError:
            yield IndexedRun(run=name, outcome="damaged", started_utc="", ended_utc="", verdicts=())
            continue
        yield IndexedRun(run=name, outcome=run.outcome.value, started_utc=run.started_utc, ended_utc=run.ended_utc, verdicts=())


def times(path: Path) -> Stamp:
    """Return inode, size and time of a file; nothing where there is none."""
    try:
        found = path.stat()
    except OSError:
        return ()
    return (found.st_ino, found.st_size, found.st_mtime_ns)


def is_written(folder: Path) -> bool:
    """Return whether a writer on this machine holds the experiment: seen in the list of locks, so that none is taken."""
    try:
        inode = (folder / layout.LOCK).stat().st_ino
        holder = str(json.loads((folder / layout.LOCK).read_text(encoding="utf-8"))["pid"])
        lines = [line.split() for line in LOCKS.read_text(encoding="utf-8").splitlines()]
    except (OSError, ValueError, KeyError, TypeError):
        return False
    return any(
        words[1:5] == ["FLOCK", "ADVISORY", "WRITE", holder] and words[5].rpartition(":")[2] == str(inode) for words in lines
    )
