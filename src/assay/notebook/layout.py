"""Names in a notebook: folders of experiments, of trials and their attempts, of what was derived by a ruleset.

Also how a value that is no number or text is written in a column of its tables.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import unicodedata
from collections.abc import Iterable, Iterator
from pathlib import Path

from assay import plain
from assay.errors import UsageError
from assay.records import Experiment

SCHEMA = 2
"""Version of the files of one attempt and of the plan; a reader refuses a later one and names the trial.

1: evidence that was missing, gaps, caches, the wait for quiet and the drain were kept without their host (`older`).
"""

BEGUN_IN = "directory"
"""Key of the plan: in which directory the experiment was begun; older notebooks have none."""
EXPERIMENT = "experiment.toml"
PLAN = "plan.json"
PLAN_COPY = "plan-copy.json"
"""The same bytes: without a plan nobody knows what the runs of an experiment are."""
TRIALS = "trials"
DERIVED = "derived"
INDEX = "index.sqlite"
LOCK = "writer.lock"
NOTES = "notes.json"
TRASH = ".trash"
MANIFEST = "manifest.json"
RUN = "run.json"
FACTS = "facts.json"
READINGS = "readings.parquet"
SERIES = "series.parquet"
HISTOGRAMS = "histograms.parquet"
TEMPORARY = ".unfinished-"
"""Names that begin so are being written, or were when a writer died; readers pass over them."""

ENCODER = json.JSONEncoder(sort_keys=True)

LONGEST_SLUG = 40
DIGEST_LETTERS = 8


def slug(title: str) -> str:
    """Return a title as a folder's name: lower-case ASCII letters, digits and single hyphens, at most 40 of them."""
    ascii_title = unicodedata.normalize("NFKD", title).encode("ascii", "ignore").decode().lower()
    return re.sub(r"[^a-z0-9]+", "-", ascii_title).strip("-")[:LONGEST_SLUG].rstrip("-") or "experiment"


def digest(experiment: Experiment) -> str:
    """Return the experiment's own digest; the SHA-256 of its canonical JSON where it carries none."""
    if experiment.digest:
        return experiment.digest
    values = plain.to_plain(experiment)
    assert isinstance(values, dict)
    if values["bound_factor"] is None:  # came later: older experiments keep their folders
        del values["bound_factor"]
    canonical = json.dumps(values, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(canonical.encode()).hexdigest()


def folder_name(experiment: Experiment) -> str:
    """`TITLE-DIGEST`: the same experiment has the same folder, a changed one another."""
    return f"{slug(experiment.title)}-{digest(experiment)[:DIGEST_LETTERS]}"


def to_text(value: object) -> str:
    """Plain JSON in a column; nothing is as common as an object that has nothing."""
    return "{}" if value == {} else ENCODER.encode(plain.to_plain(value))


def leading_out(folder: Path, root: Path) -> Iterator[Path]:
    """Yield the symbolic links in a folder, at any depth, that lead out of a directory without links in its path."""
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_symlink():
                if not Path(entry.path).resolve().is_relative_to(root):
                    yield Path(entry.path)
            elif entry.is_dir():
                yield from leading_out(Path(entry.path), root)


def refuse_link(folder: Path) -> None:
    """Raise UsageError for a symbolic link: to move it would break it, or leave behind what it leads to."""
    if folder.is_symlink():
        raise UsageError(f"found {folder}, a symbolic link to {folder.resolve()}; expected the folder of an experiment")


def run_id(trial: int, attempt: int) -> str:
    """`0007/1`."""
    return f"{trial:04d}/{attempt}"


def split_run_id(text: str) -> tuple[int, int]:
    """Trial and attempt of a run id. Raises UsageError."""
    match = re.fullmatch(r"(\d+)/(\d+)", text)
    if match is None:
        raise UsageError(
            f"found run {text!r}; expected trial and attempt, for example 0007/1 (`assay list EXPERIMENT` shows the runs)"
        )
    return int(match[1]), int(match[2])


def attempt_folder(folder: Path, run: str) -> Path:
    """Return where the files of a run are."""
    trial, attempt = split_run_id(run)
    return folder / TRIALS / f"{trial:04d}" / f"attempt-{attempt}"


def existing_runs(folder: Path, runs: Iterable[str]) -> tuple[str, ...]:
    """Return the runs by their full names (`7/1` is `0007/1`). Raises UsageError naming those that are not there."""
    named = tuple(dict.fromkeys(run_id(*split_run_id(run)) for run in runs))
    if lacking := [run for run in named if not attempt_folder(folder, run).is_dir()]:
        raise UsageError(
            f"found no run {', '.join(lacking)} in {folder.name}; expected runs that `assay list {folder.name}` shows"
        )
    return named


def split_attempt(path: Path) -> tuple[int, int]:
    """Trial and attempt of an attempt's folder."""
    return int(path.parent.name), int(path.name.removeprefix("attempt-"))


def derived_folder(folder: Path, ruleset: str) -> Path:
    """Return where findings, verdicts and comparisons by a ruleset are; letters that no file name should have are replaced."""
    return folder / DERIVED / (re.sub(r"[^A-Za-z0-9._+-]", "_", ruleset) or "none")
