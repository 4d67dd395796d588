"""Show the comparisons with interval and conclusion: of one experiment, or of two notebooks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path

from assay.analysis.across import Joined, Names, UnlikeKind, join, of_candidate, unanswered
from assay.answer.answer import answer
from assay.answer.plainly import answers
from assay.answer.wording import scaling
from assay.answer.wording.comparison import unlike
from assay.cli import tables
from assay.errors import UsageError
from assay.laboratory.gate import UNMET, Gate, status
from assay.laboratory.results import answered, current
from assay.notebook import layout
from assay.notebook import read as notebook
from assay.plain import to_plain
from assay.prediction.demand import DemandGroup, groups
from assay.records import Observations, Results
from assay.report.arms import arms
from assay.rulekit.pairs import NOTEBOOK
from assay.terminal.output import deliver

MOST_NAMED = 12
"""So many facts that differ are named on the terminal; the report has all."""


def compare(lab: Path, which: str | None, *, json_to: str | None, gate: Gate) -> int:
    """Show what an experiment compares. Raises UsageError where it compares nothing."""
    folder = notebook.choose(lab, which)
    results = current(folder)
    found = groups(results, notebook.load(folder))
    if not (results.comparisons or found or results.sensitivity or results.scaling):
        tables.warn_of_damage(folder, results.damaged)
        raise UsageError(
            f"found nothing compared in {folder.name}; expected `compare` or `design` in the file and runs of two levels"
        )
    deliver(
        json_to,
        "compare",
        lambda: {**as_plain(results), "demands": [group_as_plain(one) for one in found]},
        lambda: "\n\n".join(part for part in (answer_text(results), demand_text(found)) if part),
    )
    return status(results, gate)


def as_plain(results: Results) -> dict[str, object]:
    """The answer as plain values."""
    return {
        **answers(results, answer(results)),
        "verdicts": to_plain(results.comparison_verdicts),
        "requirements": to_plain(results.requirements),
    }


def answer_text(results: Results) -> str:
    """The answer for people."""
    parts = (
        tables.effect_answers(results),
        tables.comparison_table(results),
        tables.requirement_table(results),
        "\n".join(scaling.statement(results.experiment, one) for one in results.scaling),
        tables.effect_tables(results),
        difference_text(results),
        tables.reasons(results.comparison_verdicts.values()),
        tables.damage(results.damaged),
    )
    return "\n\n".join(part for part in parts if part)


def demand_text(found: Sequence[DemandGroup]) -> str:
    """What one operation uses, and which rates that bounds; empty where the experiment varies no mix."""
    if not found:
        return ""
    from assay.prediction import wording  # imports much, and few experiments vary a mix

    return "\n\n".join(tables.titled(*one) for one in wording.tables(found))


def group_as_plain(group: DemandGroup) -> dict[str, object]:
    """One arm's demands as plain values."""
    from assay.prediction import wording  # imports much, and few experiments vary a mix

    return {
        "factor": group.factor,
        "level": group.level,
        "resources": [
            {
                "resource": one.resource,
                "unit": one.unit,
                "operations": {name: to_plain(estimate) for name, estimate in one.estimates.items()},
                "background": None if one.background is None else to_plain(one.background),
                "linear": wording.linear(one),
            }
            for one in group.demands
        ],
        "bounds": [{**asdict(one), "at_most": to_plain(one.at_most)} for one in group.bounds],
    }


def difference_text(results: Results) -> str:
    """How the arms differ, also where they differ in nothing but the factor; empty where nothing was compared."""
    lines = []
    for one in arms(results):
        named = [*one.beside, *(f"changed during a run: {text}" for text in one.changed)]
        more = [f"and {len(named) - MOST_NAMED} more: the report has all"] if len(named) > MOST_NAMED else []
        lines += [f"{one.title}: {one.sentence}", *(f"    {text}" for text in (*named[:MOST_NAMED], *more))]
    return "\n".join(("How the arms differ", *lines)) if lines else ""


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
        found = "; ".join(unshared(joined, names)) or "no valid runs"
        raise UsageError(f"found nothing in common ({found}); expected a measure at the same levels in both notebooks")
    return replace(results, requirements=of_candidate(results.requirements, names))


def renumbered(joined: Joined, names: Names) -> str:
    """How the trials of the second notebook are counted, which a reason may name; empty where it has no run."""
    pairs = ((layout.split_run_id(run), layout.split_run_id(own)) for run, (side, own) in joined.origin.items() if side)
    (here, _), (own, _) = min(pairs, default=((0, 0), (0, 0)))
    return f"Trials of {names[1]} are renumbered: its trial {own} is {here} here" if here else ""


def unshared(joined: Joined, names: Names) -> list[str]:
    """Name the measures, claims and levels that only one has; settings may differ in a comparison."""
    apart = [one for one in joined.unlike if one.kind is not UnlikeKind.SETTING]
    named = [unlike(joined.results.experiment, one, names) for one in apart[:MOST_NAMED]]
    return [*named, *([f"and {len(apart) - MOST_NAMED} more"] if len(apart) > MOST_NAMED else [])]


def different(joined: Joined, names: Names) -> list[str]:
    """What was left out, and how the experiments differ."""
    return [unlike(joined.results.experiment, one, names) for one in joined.unlike]


def differences(joined: Joined, names: Names) -> str:
    """The same below a title; empty where they are the same."""
    lines = [f"    {one}" for one in different(joined, names)]
    return "\n".join(("Differences between the notebooks", *lines)) if lines else ""
