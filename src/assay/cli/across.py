"""Hold two notebooks against each other: two machines, two branches of one job, yesterday and today."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

from assay.analysis.across import Joined, Names, join, of_candidate
from assay.cli.compare import shown, told
from assay.cli.gate import Gate, status
from assay.cli.judging import answered, current
from assay.errors import UsageError
from assay.notebook import layout
from assay.notebook import read as notebook
from assay.pairs import NOTEBOOK
from assay.records import Observations, Results


def across(baseline: str, candidate: str, *, as_json: bool, gate: Gate) -> int:
    """Show the second notebook against the first; nothing is written.

    Each is a notebook, of which the experiment written to last is taken (of the second the same as of the first, where it
    has that), or the folder of an experiment. Raises UsageError where the two have nothing in common.
    """
    folders = chosen(Path(baseline), Path(candidate))
    names: Names = (baseline.rstrip("/"), candidate.rstrip("/"))
    joined = join(current(folders[0]), current(folders[1]), names)
    results = compared(joined, folders, names)
    if as_json:
        print(json.dumps(told(results) | {"notebooks": [str(folder) for folder in folders], "unlike": joined.unlike}))
    else:
        print("\n\n".join(part for part in (shown(results), beside(joined)) if part))
    return status(results, gate)


def chosen(baseline: Path, candidate: Path) -> tuple[Path, Path]:
    """The folders of the two experiments. Raises UsageError where they are one and the same."""
    first = folder_of(baseline, None)
    second = folder_of(candidate, first.name)
    if first.resolve() == second.resolve():
        raise UsageError(f"found one experiment twice, {first}; expected two notebooks, or two folders of experiments")
    return first, second


def folder_of(path: Path, alike: str | None) -> Path:
    """The experiment at a path: itself, else that with the name `alike` in this notebook, else the newest in it."""
    if (path / layout.PLAN).is_file():
        return path
    if alike is not None and (path / alike / layout.PLAN).is_file():
        return path / alike
    return notebook.choose(path, None)


def compared(joined: Joined, folders: tuple[Path, Path], names: Names) -> Results:
    """The two with their answers. Raises UsageError where nothing can be compared."""
    if any(factor.path == NOTEBOOK for factor in joined.results.experiment.factors[:-1]):
        raise UsageError(f"found a factor {NOTEBOOK!r} in {folders[0]}; expected another name: it stands for the two themselves")

    loads = [notebook.load(folder) for folder in folders]

    def load(run: str) -> Observations:
        side, own = joined.origin[run]
        return loads[side](own)

    results = answered(joined.results, load)
    if not results.comparisons:
        found = "; ".join(joined.unlike) or "no runs that count"
        raise UsageError(f"found nothing in common ({found}); expected a measure at the same levels in both notebooks")
    return replace(results, requirements=of_candidate(results.requirements, names))


def beside(joined: Joined) -> str:
    """What was left out, and how the experiments differ; empty where they are the same."""
    return "\n".join(("Not the same in both notebooks", *(f"    {one}" for one in joined.unlike))) if joined.unlike else ""
