"""An experiment's answer on the terminal: the tables in their order."""

from __future__ import annotations

from assay.answer.answer import answer
from assay.answer.wording import scaling
from assay.answer.wording.summary import following, opening
from assay.cli.terminal import effects, grids, tables
from assay.records import Results


def summary(results: Results) -> str:
    """The first line of the answer and what belongs to it; then verdict counts, every table, and why what is doubtful is so."""
    verdicts = [one for judged in results.runs for one in judged.verdicts.values()]
    found = answer(results)
    first = f"{opening(found)} [{found.leads[0].state.value}]" if found.leads else ""
    parts = [
        "\n".join((first, *following(found))) if first else "",
        f"{results.experiment.title}: {tables.counted(tables.verdict_counts(results.runs)) or 'no verdicts'}",
        results.experiment.question,
        tables.comparison_table(results),
        effects.effects(results),
        tables.requirement_table(results),
        tables.dip_lines(results),
        "\n".join(scaling.statement(results.experiment, one) for one in results.scaling),
        tables.cell_table(results, grids.gridded(results)),
        grids.grids(results),
        tables.reasons([*verdicts, *results.comparison_verdicts.values()]),
        tables.failures(results.runs),
        tables.damage(results.damaged),
    ]
    return "\n\n".join(part for part in parts if part)
