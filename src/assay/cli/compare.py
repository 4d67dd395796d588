"""Show the comparisons with interval and conclusion."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from assay.answer.plainly import answers
from assay.answer.wording import scaling
from assay.cli.terminal import effects, tables
from assay.errors import UsageError
from assay.laboratory.gate import Gate, status
from assay.laboratory.results import current
from assay.notebook import read as notebook
from assay.plain import to_plain
from assay.prediction import wording
from assay.prediction.demand import DemandGroup, groups
from assay.prediction.wording import linear
from assay.records import Results
from assay.report.runs import arms
from assay.terminal.output import deliver
from assay.terminal.table import Row, table


def compare(lab: Path, which: str | None, *, json_to: str | None, gate: Gate) -> int:
    """Show what an experiment compares. Raises UsageError where it compares nothing."""
    folder = notebook.choose(lab, which)
    results = current(folder)
    found = groups(results, notebook.load(folder))
    if not (results.comparisons or found or results.sensitivity or results.scaling):
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
        **answers(results),
        "verdicts": to_plain(results.comparison_verdicts),
        "requirements": to_plain(results.requirements),
    }


def answer_text(results: Results) -> str:
    """The answer for people."""
    parts = (
        effects.answers(results),
        tables.comparison_table(results),
        tables.requirement_table(results),
        "\n".join(scaling.statement(results.experiment, one) for one in results.scaling),
        effects.effects(results),
        difference_text(results),
        tables.reasons(results.comparison_verdicts.values()),
        tables.damage(results.damaged),
    )
    return "\n\n".join(part for part in parts if part)


def demand_text(found: Sequence[DemandGroup]) -> str:
    """What one operation uses, and which rates that bounds; empty where the experiment varies no mix."""
    return "\n\n".join(
        f"{title}\n{table(head, [Row(cells=row) for row in lines], width=10_000)}" for title, head, lines in wording.tables(found)
    )


def group_as_plain(group: DemandGroup) -> dict[str, object]:
    """One arm's demands as plain values."""
    return {
        "factor": group.factor,
        "level": group.level,
        "resources": [
            {
                "resource": one.resource,
                "unit": one.unit,
                "operations": {name: to_plain(estimate) for name, estimate in one.estimates.items()},
                "background": None if one.background is None else to_plain(one.background),
                "linear": linear(one),
            }
            for one in group.demands
        ],
        "bounds": [{**asdict(one), "at_most": to_plain(one.at_most)} for one in group.bounds],
    }


MOST_NAMED = 12
"""So many facts that differ are named on the terminal; the report has all."""


def difference_text(results: Results) -> str:
    """How the arms differ, also where they differ in nothing but the factor; empty where nothing was compared."""
    lines = []
    for one in arms(results):
        named = [*one.beside, *(f"changed during a run: {text}" for text in one.changed)]
        more = [f"and {len(named) - MOST_NAMED} more: the report has all"] if len(named) > MOST_NAMED else []
        lines += [f"{one.title}: {one.sentence}", *(f"    {text}" for text in (*named[:MOST_NAMED], *more))]
    return "\n".join(("How the arms differ", *lines)) if lines else ""
