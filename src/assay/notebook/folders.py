"""The folder of an experiment in a notebook: made at once with its text and its plan, which is kept twice.

A damaged plan is restored from its copy: one damaged byte would make every run of the experiment unreadable.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path

from assay import plain
from assay.errors import DamagedError
from assay.notebook import files, layout, read
from assay.records import Experiment, Plan
from assay.terminal.output import say


def make_folder(folder: Path, experiment: Experiment, plan: Plan, text: str) -> None:
    """A new experiment's folder, there at once with its text and its plan. Raises RefusedError."""
    try:
        with files.beside(folder) as temporary:
            (temporary / layout.TRIALS).mkdir()
            (temporary / layout.EXPERIMENT).write_text(text, encoding="utf-8")
            write_plan(temporary, files.to_json(plan_of(experiment, plan)))
            files.flush(temporary / layout.EXPERIMENT)
            temporary.rename(folder)
            files.flush(folder.parent)
    except OSError as error:
        if not (folder / layout.PLAN).is_file():
            raise files.cannot_write(folder, error) from error


def write_plan(folder: Path, data: bytes) -> None:
    """Write the plan and its copy, as far as they are not there so. Raises RefusedError."""
    for path in (folder / name for name in read.PLANS):
        if not (path.is_file() and path.read_bytes() == data):
            files.write_whole(path, data)


def keep_plan(folder: Path) -> None:
    """Make plan and copy alike again, from the one that is whole, and say so. Raises DamagedError, RefusedError."""
    try:
        read.plan_in(folder / layout.PLAN)
        whole = layout.PLAN
    except DamagedError as error:
        whole = layout.PLAN_COPY
        say(f"assay: {error} Restored from {whole}.", sys.stderr)
    write_plan(folder, files.read_bytes(folder / whole))


def plan_of(experiment: Experiment, plan: Plan) -> Mapping[str, object]:
    """Return what stands in `plan.json`; with the directory in which relative paths of the experiment begin."""
    here = {} if (directory := working_directory()) is None else {layout.BEGUN_IN: directory}
    return {"schema": layout.SCHEMA, "experiment": plain.to_plain(experiment), "plan": plain.to_plain(plan), **here}


def working_directory() -> str | None:
    """Return the directory in which the verb was called; None where it is gone."""
    try:
        return str(Path.cwd())
    except OSError:
        return None


def unused(folder: Path) -> Path:
    """Return the folder's name, or the first of `-2`, `-3`, ... that is free."""
    number, name = 1, folder
    while name.exists():
        number += 1
        name = folder.with_name(f"{folder.name}-{number}")
    return name
