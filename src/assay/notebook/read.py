"""Read a notebook: what is whole is read, what is damaged is named and left out; readers never write and never wait."""

from __future__ import annotations

import functools
import gc
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from assay import plain
from assay.errors import DamagedError, UsageError
from assay.notebook import files, layout, stored
from assay.notebook.annotations import readable
from assay.records import (
    Cell,
    Comparison,
    Course,
    Dip,
    Experiment,
    Fact,
    Finding,
    Gap,
    Judged,
    Missing,
    Observations,
    Plan,
    Ranking,
    RequirementResult,
    Results,
    Run,
    Scaling,
    Sensitivity,
    TimeSpent,
    Verdict,
)

if TYPE_CHECKING:
    import duckdb

Load = Callable[[str], Observations]

PLANS = (layout.PLAN, layout.PLAN_COPY)
MOST_REMEMBERED = 64
"""Runs whose evidence stays in memory, 2.4 MB each (200 series of 500 points): a large notebook's page shows about so many."""


@dataclass(frozen=True, kw_only=True)
class Scan:
    """The runs of an experiment that are whole, in order of trial and attempt, and what is wrong with the others."""

    runs: tuple[Run, ...]
    damaged: Mapping[str, str]
    """Folder below the experiment's (`trials/0007/attempt-1`) -> what is wrong."""


def read_plan(folder: Path) -> tuple[Experiment, Plan]:
    """Return the experiment and its schedule, from their copy where the file is damaged. Raises DamagedError."""
    try:
        return plan_in(folder / layout.PLAN)
    except DamagedError:
        with suppress(DamagedError):
            return plan_in(folder / layout.PLAN_COPY)
        raise


def plan_in(path: Path) -> tuple[Experiment, Plan]:
    """Return the experiment and the schedule in a file. Raises DamagedError."""
    found = files.read_json(path)
    try:
        return stored.read(Experiment, stored.experiment, found["experiment"]), stored.read(Plan, stored.plan, found["plan"])
    except (TypeError, KeyError) as error:
        raise DamagedError(f"{path}: no plan") from error


def broken(folder: Path) -> dict[str, str]:
    """Return what is wrong with the files of an experiment besides its runs, as `Scan.damaged`."""
    found = {}
    if not (folder / layout.TRIALS).is_dir():
        found[layout.TRIALS] = "removed, with every run. Restore it from a copy, or measure again with `assay run --resume`."
    if (folder / layout.PLAN_COPY).is_file() and not is_alike(folder / layout.PLAN, folder / layout.PLAN_COPY):
        try:
            plan_in(folder / layout.PLAN)
        except DamagedError as error:
            found[layout.PLAN] = f"{error} {layout.PLAN_COPY} is read instead; `assay audit` restores it."
    return found


def is_alike(one: Path, other: Path) -> bool:
    """Whether two files have the same bytes; False where one cannot be read."""
    with suppress(OSError):
        return one.read_bytes() == other.read_bytes()
    return False


def folders(lab: Path) -> tuple[Path, ...]:
    """Return the experiments of a lab, the one written to last at the end. Raises UsageError where there is no lab."""
    if not lab.is_dir():
        raise UsageError(
            f"found no notebook at {lab}; expected a folder that `assay run` or `assay quick` wrote (--lab, $ASSAY_LAB)"
        )
    paths = (path for name in PLANS for path in lab.glob(f"*/{name}"))
    found = {path.parent for path in paths if not path.parent.name.startswith(layout.TEMPORARY)}
    return tuple(sorted(found, key=lambda folder: (newest(folder), folder.name)))


def newest(folder: Path) -> int:
    """When the last run of an experiment was kept, or its plan where there is none (ns of the file system's clock)."""
    times = [0]
    for path in (*(folder / name for name in PLANS), *(folder / layout.TRIALS).glob("*")):
        with suppress(OSError):
            times.append(path.stat().st_mtime_ns)
    return max(times)


def choose(lab: Path, which: str | None) -> Path:
    """Return one experiment of a lab: the newest, or the one whose folder name begins with, or whose digest is, `which`.

    Raises UsageError naming the experiments that there are.
    """
    found = folders(lab)
    if not found:
        raise UsageError(f"{lab}: no experiment. Run `assay quick` or `assay run FILE`.")
    if which is None:
        return found[-1]
    exact = [folder for folder in found if folder.name == which or folder == Path(which)]
    alike = exact or [
        folder for folder in found if which and (folder.name.startswith(which) or folder.name.endswith(f"-{which}"))
    ]
    if len(alike) != 1:
        names = ", ".join(sorted(folder.name for folder in alike or found))
        raise UsageError(f"found {len(alike)} experiments for {which!r}; expected one of: {names}")
    return alike[0]


def scan(folder: Path) -> Scan:
    """Look at every run of an experiment and hold its files against their manifest."""
    runs, damaged = [], broken(folder)
    for path in attempts(folder):
        try:
            runs.append(read_whole(path))
        except DamagedError as error:
            damaged[str(path.relative_to(folder))] = str(error)
    return Scan(runs=tuple(runs), damaged=damaged)


def read_whole(path: Path) -> Run:
    """Return the run in an attempt's folder, of which all files are held against their manifest. Raises DamagedError."""
    files.check(path)
    return read_run(path)


def cut(folder: Path) -> Mapping[str, str]:
    """Return what is damaged as far as the lengths of files tell, as `Scan.damaged`; no run is read for it."""
    damaged = broken(folder)
    for path in attempts(folder):
        try:
            files.check_lengths(path)
        except DamagedError as error:
            damaged[str(path.relative_to(folder))] = str(error)
    return damaged


def attempts(folder: Path) -> tuple[Path, ...]:
    """Return the folders of attempts, in order of trial and attempt; what is named otherwise is none of ours."""
    found = []
    for path in (folder / layout.TRIALS).glob("*/attempt-*"):
        trial, attempt = path.parent.name, path.name.removeprefix("attempt-")
        if path.is_dir() and trial.isdecimal() and attempt.isdecimal():
            found.append((int(trial), int(attempt), path))
    return tuple(path for _, _, path in sorted(found))


def read_run(path: Path) -> Run:
    """Return the run in an attempt's folder. Raises DamagedError, also where it belongs to another place."""
    run = stored.read(Run, stored.run, files.read_json(path / layout.RUN))
    if (f"{run.trial.id:04d}", f"attempt-{run.attempt}") != (path.parent.name, path.name):
        raise DamagedError(f"{path} holds run {layout.run_id(run.trial.id, run.attempt)}, not the run in its name")
    return run


def runs(folder: Path) -> tuple[Run, ...]:
    """Return the runs of an experiment that are whole."""
    return scan(folder).runs


def observations(folder: Path, run: str) -> Observations:
    """Return the evidence of a run (`0007/1`). Raises DamagedError, UsageError."""
    connection = files.connect()
    try:
        return through(connection, folder, run)
    finally:
        connection.close()


def through(connection: duckdb.DuckDBPyConnection, folder: Path, run: str) -> Observations:
    """Return the evidence of a run, read through a connection. Raises DamagedError, UsageError."""
    path = layout.attempt_folder(folder, run)
    if not path.is_dir():
        raise UsageError(f"{folder}: no run {run}. `assay list {folder.name}` shows the runs.")
    files.check(path)
    found = files.read_json(path / layout.FACTS)
    try:
        rest = stored.facts(found)
        return Observations(
            readings=files.read_readings(connection, path / layout.READINGS),
            series=files.read_series(connection, path / layout.SERIES),
            histograms=files.read_histograms(connection, path / layout.HISTOGRAMS),
            facts=tuple(plain.from_plain(Fact, fact) for fact in rest["facts"]),
            missing=tuple(plain.from_plain(Missing, one) for one in rest["missing"]),
            gaps=tuple(plain.from_plain(Gap, one) for one in rest["gaps"]),
        )
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise DamagedError(f"{path}: evidence does not fit this version ({error})") from error


def facts(folder: Path, run: str) -> tuple[Fact, ...]:
    """Return the facts of a run, without the rest of its evidence. Raises DamagedError."""
    found = files.read_json(layout.attempt_folder(folder, run) / layout.FACTS)
    try:
        return tuple(plain.from_plain(Fact, fact) for fact in found["facts"])
    except (KeyError, TypeError) as error:
        raise DamagedError(f"{folder}: no facts of run {run}") from error


def missing(folder: Path, run: str) -> tuple[Missing, ...]:
    """Return what is missing of the evidence of a run, by host, without the rest. Raises DamagedError."""
    found = files.read_json(layout.attempt_folder(folder, run) / layout.FACTS)
    try:
        return tuple(plain.from_plain(Missing, one) for one in stored.facts(found)["missing"])
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise DamagedError(f"{folder}: missing evidence of run {run} unknown") from error


def load(folder: Path) -> Load:
    """Return a function from run id to evidence. Each thread reads all runs through one connection of its own.

    To open a connection takes longer than to read a run. It is closed with the function.
    """
    own = threading.local()

    def read(run: str) -> Observations:
        if not hasattr(own, "connection"):
            own.connection = files.connect()
        return through(own.connection, folder, run)

    return read


def remembered(folder: Path) -> Load:
    """As `load`, but the last runs asked for are kept: the only cache of evidence, for all stages."""
    return functools.lru_cache(MOST_REMEMBERED)(load(folder))


def rulesets(folder: Path) -> tuple[str, ...]:
    """Return the rulesets by which something was derived, the newest last (names of folders)."""
    found = [path for path in (folder / layout.DERIVED).glob("*") if path.is_dir()]
    return tuple(path.name for path in sorted(found, key=lambda path: (path.stat().st_mtime_ns, path.name)))


def results(folder: Path, ruleset: str | None = None) -> Results:
    """Return everything that is stored of an experiment, by one ruleset (default: the newest). Raises DamagedError.

    Runs that were not judged have no verdicts. Answers (cells, comparisons, requirements) that were derived from other
    runs than are there now are left out: they are to be derived anew.
    """
    experiment, plan = read_plan(folder)
    found = scan(folder)
    known = rulesets(folder)
    chosen = ruleset if ruleset is not None else (known[-1] if known else "")
    derived = layout.derived_folder(folder, chosen)
    with uncollected():
        judged = tuple(judgement(derived, run) for run in found.runs)
    gone = readable(folder).deleted
    bare = Results(experiment=experiment, plan=plan, runs=judged, damaged=found.damaged, deleted=gone, ruleset=chosen)
    with suppress(DamagedError, KeyError, TypeError):
        return with_answers(bare, files.read_json(derived / "answers.json"))
    return bare


def answers(folder: Path) -> Results | None:
    """Return the stored answers of an experiment by the newest ruleset, without its runs; None where there are none.

    They may be of fewer runs than are there now.
    """
    known = rulesets(folder)
    with suppress(DamagedError, KeyError, TypeError, IndexError):
        experiment, plan = read_plan(folder)
        found = files.read_json(layout.derived_folder(folder, known[-1]) / "answers.json")
        return with_answers(Results(experiment=experiment, plan=plan, runs=(), ruleset=known[-1]), {**found, "runs": []})
    return None


@contextmanager
def uncollected() -> Iterator[None]:
    """No search for garbage meanwhile: records are kept and make no cycles, and searching among them took a fifth of the time."""
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.freeze()
            gc.unfreeze()  # the two put all that was made among the old, where the next search does not look
            gc.enable()


def one_result(folder: Path, run: str, ruleset: str) -> Judged | None:
    """Return a run (`0007/1`) with what is stored of it by a ruleset, no other one is read; None where it is not there.

    Raises DamagedError.
    """
    path = layout.attempt_folder(folder, run)
    return judgement(layout.derived_folder(folder, ruleset), read_whole(path)) if path.is_dir() else None


def judgement(derived: Path, run: Run) -> Judged:
    """Return a run with its stored verdicts and courses by measure; none where there are none, or where they are damaged.

    Courses that an older version kept otherwise are left out: verdicts can be read without them.
    """
    path = derived / "verdicts" / f"{run.trial.id:04d}-{run.attempt}.json"
    with suppress(DamagedError, ValueError, RecursionError, KeyError, TypeError, AttributeError):
        found, rest = stored.verdicts(files.read_bytes(path).decode())
        courses: Mapping[str, Course] = {}
        with suppress(DamagedError):
            courses = {measure: plain.from_plain(Course, course) for measure, course in rest.get("courses", {}).items()}
        return Judged(run=run, verdicts=found, courses=courses)
    return Judged(run=run, verdicts={})


def with_answers(bare: Results, found: Any) -> Results:  # noqa: ANN401 - plain values are any value
    """Return the results with stored answers, where they follow from the same runs. Raises DamagedError, KeyError, TypeError."""
    if found["runs"] != [judged.id for judged in bare.runs]:
        return bare
    return replace(
        bare,
        cells=tuple(plain.from_plain(Cell, cell) for cell in found["cells"]),
        comparisons=tuple(plain.from_plain(Comparison, comparison) for comparison in found["comparisons"]),
        comparison_verdicts={
            subject: plain.from_plain(Verdict, verdict) for subject, verdict in found["comparison_verdicts"].items()
        },
        rankings=tuple(plain.from_plain(Ranking, one) for one in found.get("rankings", ())),
        requirements=tuple(plain.from_plain(RequirementResult, result) for result in found["requirements"]),
        dips=tuple(plain.from_plain(Dip, one) for one in found["dips"]),
        scaling=tuple(plain.from_plain(Scaling, one) for one in found.get("scaling", ())),
        sensitivity=tuple(plain.from_plain(Sensitivity, one) for one in found.get("sensitivity", ())),
        times=tuple(plain.from_plain(TimeSpent, one) for one in found.get("times", ())),
        findings=tuple(plain.from_plain(Finding, finding) for finding in found["findings"]),
    )
