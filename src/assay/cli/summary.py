"""An experiment's answer on the terminal: the tables in their order, many combinations of two factors as grids."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from assay.answer.answer import answer
from assay.answer.trust import own_state
from assay.answer.wording import hosts, scaling
from assay.answer.wording.labels import usual
from assay.answer.wording.summary import following, opening, remarks
from assay.answer.wording.trust import deleted, noisy, trusted
from assay.cli import tables
from assay.measures.text import word
from assay.records import Cell, Judged, Results, VerdictState
from assay.terminal.output import Row, table

LEAST_CELLS = 9
"""Fewer have a line each, with their intervals."""
MARKS: Mapping[VerdictState, str] = {
    VerdictState.SOUND: "",
    VerdictState.BOUNDED: " b",
    VerdictState.UNVERIFIED: " ?",
    VerdictState.TAINTED: " t",
    VerdictState.INVALID: " X",
}


def summary(results: Results) -> str:
    """The first line of the answer and what belongs to it; then verdict counts, every table, and why what is doubtful is so."""
    verdicts = [one for judged in results.runs for one in judged.verdicts.values()]
    found = answer(results)
    first = f"{opening(found)} [{found.state.value}]" if found.state else ""
    parts = [
        "\n".join((first, *following(found))) if first else "",
        f"{results.experiment.title}: {trusted(found)}",
        results.experiment.question,
        "\n".join((*hosts.of_runs(results.runs), *remarks(found), *noisy(found))),
        tables.comparison_table(results),
        tables.effect_tables(results),
        tables.requirement_table(results),
        tables.dip_lines(results),
        "\n".join(scaling.statement(results.experiment, one) for one in results.scaling),
        tables.cell_table(results, gridded(results)),
        grids(results),
        tables.reasons([*verdicts, *results.comparison_verdicts.values()], results.findings),
        tables.failures(results.runs),
        tables.damage(results.damaged),
        "\n".join(deleted(found.losses)),
    ]
    return "\n\n".join(part for part in parts if part)


def gridded(results: Results) -> tuple[str, ...]:
    """Names of the measures that are shown as grids: many cells over two factors or more."""
    return tuple(
        measure.name
        for measure in results.experiment.measures
        if len(found := _cells(results, measure.name)) >= LEAST_CELLS and len(varying(found)) > 1
    )


def grids(results: Results) -> str:
    """Every measure of many cells; what the letters mean stands below. Empty where there is none."""
    by_id = {judged.id: judged for judged in results.runs}
    found = [grid for name in gridded(results) for grid in of_measure(results, name, _cells(results, name), by_id)]
    legend = ", ".join(f"{mark.strip()} {state.value}" for state, mark in MARKS.items() if mark)
    return "\n\n".join((*found, f"Unmarked figures are SOUND; {legend}. Intervals are in the report.")) if found else ""


def of_measure(results: Results, name: str, cells: Sequence[Cell], runs: Mapping[str, Judged]) -> Iterator[str]:
    """A grid for each combination of the factors beyond the last two."""
    experiment = results.experiment
    *fixed_factors, down, across = varying(cells)
    for fixed in dict.fromkeys(tuple((path, cell.levels[path]) for path in fixed_factors) for cell in cells):
        here = {(cell.levels[down], cell.levels[across]): cell for cell in cells if dict(fixed).items() <= cell.levels.items()}
        rows = list(dict.fromkeys(first for first, _ in here))
        columns = list(dict.fromkeys(second for _, second in here))
        lines = [
            Row(cells=(word(experiment, down, row), *(marked(results, here.get((row, column))) for column in columns)))
            for row in rows
        ]
        header = (f"{down} \\ {across}", *(word(experiment, across, column) for column in columns))
        where = f" at {tables.levels_text(experiment, dict(fixed))}" if fixed else ""
        yield "\n".join((f"{name}{where}", table(header, lines, range(1, len(header))), *label(here.values(), runs)))


def label(cells: Iterable[Cell], runs: Mapping[str, Judged]) -> Iterator[str]:
    """What most of these figures really are, without what is added of the single figure."""
    found = [verdict for cell in cells if cell.values for verdict in tables.verdicts_of(cell, runs)]
    if found:
        yield f"    {usual(found)}"


def varying(cells: Sequence[Cell]) -> tuple[str, ...]:
    """The factors of which these cells have more than one level, those with the most levels last."""
    names = dict.fromkeys(name for cell in cells for name in cell.levels)
    counts = {name: len({cell.levels.get(name) for cell in cells}) for name in names}
    return tuple(sorted((name for name in names if counts[name] > 1), key=lambda name: counts[name]))


def marked(results: Results, cell: Cell | None) -> str:
    """The estimate with the mark of its verdict."""
    return "-" if cell is None else tables.value_text(cell) + MARKS[own_state(results, cell)]


def _cells(results: Results, name: str) -> tuple[Cell, ...]:
    return tuple(cell for cell in results.cells if cell.measure == name)
