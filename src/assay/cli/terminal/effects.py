"""What each factor does to a measure, on the terminal: the answer, then every effect with its interval."""

from __future__ import annotations

from assay.answer.wording import effects as words
from assay.cli.terminal.tables import ratio_text
from assay.measures.text import level
from assay.records import Experiment, FactorEffect, Results, Sensitivity
from assay.terminal.table import Row, table

HEADER = ("effect of", "level", "ratio", "95 % interval", "conclusion")


def answers(results: Results) -> str:
    """A sentence a measure, with the verdict of what it stands on; empty where the experiment has no design."""
    return "\n".join(f"{one.verdict.value} {words.statement(results.experiment, one)}" for one in results.sensitivity)


def effects(results: Results) -> str:
    """The effects, a table for each measure, and how many were tested together; empty where there are none."""
    rows = ((one.measure, [row(results.experiment, each) for each in one.effects]) for one in results.sensitivity)
    found = [f"{measure}\n{table(HEADER, lines, (2, 3))}" for measure, lines in rows]
    return "\n\n".join([*found, *map(together, results.sensitivity[:1])])


def together(one: Sensitivity) -> str:
    """How many effects were tested."""
    return f"{one.tested} effects tested; p-values are Holm-adjusted."


def row(experiment: Experiment, one: FactorEffect) -> Row:
    """One line: the factor or the two, their levels against the baselines, the ratio."""
    return Row(
        cells=(
            " with ".join(step.factor for step in one.steps),
            ", ".join(
                " / ".join(level(experiment, step.factor, each) for each in (step.level, step.baseline)) for step in one.steps
            ),
            *ratio_text(one.ratio),
            one.conclusion.value,
        ),
        note=f"aliased with {mixed(one)}" if one.mixed_with else "",
    )


def mixed(one: FactorEffect) -> str:
    """`a with b, c with d`: what the design cannot tell from it."""
    return ", ".join(" with ".join(step.factor for step in steps) for steps in one.mixed_with)
