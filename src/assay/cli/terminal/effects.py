"""What each factor does to a measure, on the terminal: the answer, then every effect with its interval."""

from __future__ import annotations

from assay.answer.wording import names
from assay.cli.terminal.tables import ratio_text
from assay.records import FactorEffect, Results, Sensitivity
from assay.terminal.table import Row, table

HEADER = ("effect of", "level", "ratio", "95 % interval", "conclusion")


def answers(results: Results) -> str:
    """A sentence a measure, with the verdict of what it stands on; empty where the experiment has no design."""
    return "\n".join(f"{one.verdict.value} {one.statement}" for one in results.sensitivity)


def effects(results: Results) -> str:
    """The effects, a table for each measure, and how many were held together; empty where there are none."""
    found = [f"{one.measure}\n{table(HEADER, [row(each) for each in one.effects], (2, 3))}" for one in results.sensitivity]
    return "\n\n".join([*found, *map(together, results.sensitivity[:1])])


def together(one: Sensitivity) -> str:
    """How many effects were looked at."""
    return f"{one.looked_at} effects were looked at: one counts where it holds among all of them (Holm)"


def row(one: FactorEffect) -> Row:
    """One line: the factor or the two, their levels against the baselines, the ratio."""
    return Row(
        cells=(
            " with ".join(step.factor for step in one.steps),
            ", ".join(f"{names.level(step.level)} / {names.level(step.baseline)}" for step in one.steps),
            *ratio_text(one.ratio),
            one.conclusion.value,
        ),
        note=f"or of {mixed(one)}: not told apart" if one.mixed_with else "",
    )


def mixed(one: FactorEffect) -> str:
    """`a with b, c with d`: what the design cannot tell from it."""
    return ", ".join(" with ".join(step.factor for step in steps) for steps in one.mixed_with)
