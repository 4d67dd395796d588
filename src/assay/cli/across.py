"""Hold two notebooks against each other: two machines, two branches of one job, yesterday and today."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from assay.analysis.across import Joined, Names, join, of_candidate, unanswered
from assay.answer.wording.comparison import unlike
from assay.cli.compare import answer_text, as_plain
from assay.errors import UsageError
from assay.laboratory.gate import UNMET, Gate, status
from assay.laboratory.results import answered, current
from assay.notebook import layout
from assay.notebook import read as notebook
from assay.records import Observations, Results
from assay.rulekit.pairs import NOTEBOOK
from assay.terminal.output import deliver


def across(baseline: str, candidate: str, *, json_to: str | None, gate: Gate) -> int:
    """Show the second notebook against the first; nothing is written.

    Each is a notebook, of which the experiment written to last is taken (of the second the same as of the first, where it
    has that), or the folder of an experiment. A gate fails where the second was not to measure what the first one's file
    requires. Raises UsageError where the two have nothing in common.
    """
    folders = chosen(Path(baseline), Path(candidate))
    names: Names = (baseline.rstrip("/"), candidate.rstrip("/"))
    first, second = (current(folder) for folder in folders)
    joined, missing = join(first, second, names), unanswered(first, second, names)
    results = compared(joined, folders, names)
    results = replace(results, requirements=(*results.requirements, *missing))
    deliver(
        json_to,
        "compare",
        lambda: as_plain(results) | {"notebooks": [str(folder) for folder in folders], "unlike": different(joined, names)},
        lambda: "\n\n".join(
            part for part in (answer_text(results), renumbered(joined, names), differences(joined, names)) if part
        ),
    )
    return status(results, gate) or (UNMET if missing and gate is not Gate.OFF else 0)


def chosen(baseline: Path, candidate: Path) -> tuple[Path, Path]:
    """The folders of the two experiments. Raises UsageError where they are one and the same."""
    first = folder_of(baseline, None)
    second = folder_of(candidate, first.name)
    if first.resolve() == second.resolve():
        raise UsageError(f"found one experiment twice, {first}; expected two notebooks, or two directories of experiments")
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
        raise UsageError(
            f"found a factor {NOTEBOOK!r} in {folders[0]}; expected another name: this one is reserved for the two notebooks"
        )

    loads = [notebook.load(folder) for folder in folders]

    def load(run: str) -> Observations:
        side, own = joined.origin[run]
        return loads[side](own)

    results = answered(joined.results, load)
    if not results.comparisons:
        found = "; ".join(different(joined, names)) or "no valid runs"
        raise UsageError(f"found nothing in common ({found}); expected a measure at the same levels in both notebooks")
    return replace(results, requirements=of_candidate(results.requirements, names))


def renumbered(joined: Joined, names: Names) -> str:
    """How the trials of the second notebook are counted, which a reason may name; empty where it has no run."""
    places = [(trial(run), trial(own)) for run, (side, own) in joined.origin.items() if side]
    here, own = min(places, default=(0, 0))
    return f"Trials of {names[1]} are renumbered: its trial {own} is {here} here" if places else ""


def trial(run: str) -> int:
    """The number of a run's trial."""
    return int(run.partition("/")[0])


def different(joined: Joined, names: Names) -> list[str]:
    """What was left out, and how the experiments differ."""
    return [unlike(joined.results.experiment, one, names) for one in joined.unlike]


def differences(joined: Joined, names: Names) -> str:
    """The same below a title; empty where they are the same."""
    lines = [f"    {one}" for one in different(joined, names)]
    return "\n".join(("Differences between the notebooks", *lines)) if lines else ""
