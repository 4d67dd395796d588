"""Write a notebook: one folder an experiment, one writer, raw data once and never again.

A run is written under a temporary name, flushed and renamed, so that a reader, a crash or an interrupt meets either no
run or a whole one. The layout is in docs/notebook.md.
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import socket
import sqlite3
from collections import defaultdict
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import IO, Self

from assay import plain
from assay.errors import AssayError, BusyError, DamagedError, RefusedError
from assay.notebook import files, folders, index, layout, read, stored
from assay.notebook.layout import LOCK
from assay.records import Course, Experiment, Observations, Plan, Results, Run, Verdict


def acquire_lock(folder: Path) -> IO[str]:
    """Hold the folder's lock until the returned file is closed. Raises BusyError naming the holder.

    The lock is flock(2). Linux carries it to the server on NFS (but not with `local_lock=flock`) and on SMB (not with
    `nobrl`); on other network file systems it holds between processes of one machine only.
    """
    try:
        handle = (folder / LOCK).open("a+", encoding="utf-8")
    except OSError as error:
        raise RefusedError(f"{folder}: not writable ({error.strerror}). Name another --lab.") from error
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        found = lock_holder(handle)
        handle.close()
        raise BusyError(f"{folder} is being written by {found}. Wait for it, or end it.") from error
    except OSError as error:
        handle.close()
        raise RefusedError(f"{folder}: no locks on this file system ({error.strerror}). Name a --lab elsewhere.") from error
    handle.seek(0)
    handle.truncate()
    record = {"pid": os.getpid(), "host": socket.gethostname(), "since_utc": datetime.now(UTC).isoformat(timespec="seconds")}
    handle.write(json.dumps(record))
    handle.flush()
    return handle


def lock_holder(handle: IO[str]) -> str:
    """Who wrote itself into the lock file, in words."""
    handle.seek(0)
    try:
        record = json.loads(handle.read())
        return f"process {record['pid']} on {record['host']} since {record['since_utc']}"
    except (ValueError, KeyError, TypeError):
        return "another process"


@dataclass(kw_only=True)
class Store:
    """A notebook's folder of one experiment, held by its only writer until `close`."""

    folder: Path
    experiment: Experiment
    plan: Plan
    """The schedule that was stored first; it stands over any later one."""
    resumed: bool
    """Whether the folder was there before."""
    note: str | None = None
    """What the user should know: that an experiment of the same title, but another text, is kept elsewhere."""
    handle: IO[str] = field(repr=False)
    database: sqlite3.Connection = field(repr=False)

    @classmethod
    def create(cls, lab: Path, experiment: Experiment, plan: Plan, text: str, *, fresh: bool = False) -> Self:
        """Return the experiment's folder in a lab, made where there is none.

        The same experiment finds its folder again, unless `fresh` asks for another (`-2`, `-3`, ...). Raises BusyError,
        RefusedError, DamagedError.
        """
        folder = lab / layout.folder_name(experiment)
        if fresh:
            folder = folders.unused(folder)
        note = None if folder.exists() else changed(lab, experiment)
        if not folder.exists():
            folders.make_folder(folder, experiment, plan, text)
            return cls.open(folder, resumed=False, note=note)
        return cls.open(folder)

    @classmethod
    def open(cls, folder: Path, *, resumed: bool = True, note: str | None = None) -> Self:
        """Hold an experiment's folder for writing and clear away what a dead writer left half done."""
        read.read_plan(folder)  # else a lock would be put into a folder that is no experiment's
        handle = acquire_lock(folder)
        try:
            experiment, plan = read.read_plan(folder)  # another writer may have made it longer until now
            clear(folder)
            folders.keep_plan(folder)
            database = index.connect(folder)
            refill(database, folder)
        except BaseException:
            handle.close()
            raise
        return cls(folder=folder, experiment=experiment, plan=plan, resumed=resumed, note=note, handle=handle, database=database)

    def extend(self, experiment: Experiment, plan: Plan) -> None:
        """Put a longer schedule in the place of the former, for runs that none was drawn for. Raises RefusedError.

        What is there must stay: experiments grow by levels, plans by trials, and the folder keeps its name.
        """
        if plan.trials[: len(self.plan.trials)] != self.plan.trials or experiment.digest != self.experiment.digest:
            raise RefusedError(f"{self.folder} has another schedule: a schedule can only grow at its end")
        folders.write_plan(self.folder, files.to_json(folders.plan_of(experiment, plan)))
        self.experiment, self.plan = experiment, plan

    def add(self, run: Run, observations: Observations) -> str:
        """Keep a run with its evidence; its id. Raises RefusedError where it is there already or there is no room."""
        name = layout.run_id(run.trial.id, run.attempt)
        target = layout.attempt_folder(self.folder, name)
        if not (self.folder / layout.PLAN).exists():
            raise RefusedError(f"{self.folder}: removed while the experiment ran. Run the experiment again.")
        if target.exists():
            raise RefusedError(f"{self.folder} already has run {name}: raw data is never changed")
        try:
            with files.beside(target) as temporary:
                write_run(temporary, run, observations)
                temporary.rename(target)
                files.flush(target.parent)
                files.flush(target.parent.parent)
        except OSError as error:
            raise files.cannot_write(target, error) from error
        with suppress(sqlite3.Error):
            index.put_run(self.database, run)
        return name

    def judge(self, ruleset: str, verdicts: Iterable[Verdict], courses: Mapping[str, Mapping[str, Course]] | None = None) -> None:
        """Keep verdicts on measures of runs, one file a run, with the run's courses."""
        by_run: dict[str, dict[str, Verdict]] = defaultdict(dict)
        for verdict in verdicts:
            assert verdict.run is not None
            by_run[verdict.run][verdict.measure] = verdict
        for run, found in by_run.items():
            path = layout.derived_folder(self.folder, ruleset) / "verdicts" / f"{run.replace('/', '-')}.json"
            values = {
                "run": run,
                "verdicts": stored.plain_verdicts(found),
                "courses": plain.to_plain((courses or {}).get(run, {})),
            }
            files.write_whole(path, files.to_json(values))
            with suppress(sqlite3.Error):
                index.put_verdicts(
                    self.database, path.parent.parent.name, [(run, measure, verdict) for measure, verdict in found.items()]
                )

    def derive(self, ruleset: str, results: Results) -> None:
        """Keep what follows from all runs: cells, comparisons and their verdicts, requirements, the rest of the answers."""
        answers = {
            "runs": [judged.id for judged in results.runs],
            "cells": plain.to_plain(results.cells),
            "comparisons": plain.to_plain(results.comparisons),
            "comparison_verdicts": plain.to_plain(results.comparison_verdicts),
            "rankings": plain.to_plain(results.rankings),
            "requirements": plain.to_plain(results.requirements),
            "dips": plain.to_plain(results.dips),
            "scaling": plain.to_plain(results.scaling),
            "sensitivity": plain.to_plain(results.sensitivity),
            "times": plain.to_plain(results.times),
            "findings": plain.to_plain(results.findings),
        }
        files.write_whole(layout.derived_folder(self.folder, ruleset) / "answers.json", files.to_json(answers))

    def live(self, row: Mapping[str, object]) -> None:
        """Add a live row for watchers; never flushes, never fails a run."""
        with suppress(sqlite3.Error):
            index.put_live(self.database, row)

    def withdraw(self) -> None:
        """Remove the folder where this call made it and it holds no run: what was asked was wrong from the start."""
        if not self.resumed and not read.attempts(self.folder):
            shutil.rmtree(self.folder, ignore_errors=True)

    def close(self) -> None:
        """Let the folder go."""
        with suppress(sqlite3.Error):
            self.database.close()
        self.handle.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()


def write_run(folder: Path, run: Run, observations: Observations) -> None:
    """All files of one attempt and their manifest, flushed."""
    connection = files.connect()
    try:
        files.write_table(connection, observations.readings, files.READING_COLUMNS, folder / layout.READINGS)
        files.write_table(connection, observations.series, files.SERIES_COLUMNS, folder / layout.SERIES)
        files.write_table(connection, observations.histograms, files.HISTOGRAM_COLUMNS, folder / layout.HISTOGRAMS)
    finally:
        connection.close()
    rest = {"facts": observations.facts, "missing": observations.missing, "gaps": observations.gaps}
    (folder / layout.FACTS).write_bytes(files.to_json(plain.to_plain(rest)))
    (folder / layout.RUN).write_bytes(files.to_json(plain.to_plain(run)))
    manifest = files.manifest_of(folder)
    (folder / layout.MANIFEST).write_bytes(files.to_json(manifest))
    for path in (*folder.iterdir(), folder):
        files.flush(path)


def refill(database: sqlite3.Connection, folder: Path) -> None:
    """List in the index what the files have and it has not, as after a loss of the index."""
    known = index.known(database)
    for path in read.attempts(folder):
        if (name := layout.run_id(*layout.split_attempt(path))) not in known:
            with suppress(DamagedError):
                run = read.read_whole(path)
                index.put_run(database, run)
                for derived in (folder / layout.DERIVED).glob("*"):
                    found = read.judgement(derived, run).verdicts
                    index.put_verdicts(database, derived.name, [(name, measure, one) for measure, one in found.items()])


def clear(folder: Path) -> None:
    """Remove what a writer that died left under temporary names; the lock must be held."""
    for left in (*folder.glob(f"{layout.TEMPORARY}*"), *folder.glob(f"*/*/{layout.TEMPORARY}*")):
        shutil.rmtree(left, ignore_errors=True)
        with suppress(OSError):
            left.unlink(missing_ok=True)


def changed(lab: Path, experiment: Experiment) -> str | None:
    """Return what to tell where the lab has experiments of this title from other texts."""
    mine, title = layout.folder_name(experiment), layout.slug(experiment.title)
    names = []
    for path in sorted(lab.glob(f"{title}-*/{layout.PLAN}")):
        with suppress(AssayError):
            if path.parent.name != mine and read.read_plan(path.parent)[0].title == experiment.title:
                names.append(path.parent.name)
    if not names:
        return None
    return f"the experiment differs from {', '.join(names)} of the same title: kept apart, in {mine}"
