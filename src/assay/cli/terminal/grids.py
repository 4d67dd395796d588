"""Measures over two factors as grids on the terminal: a row a level of the first, a column a level of the second."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from assay.answer.wording.labels import usual
from assay.cli.terminal import tables
from assay.measures.text import word
from assay.records import Cell, Experiment, Judged, Results, Value, VerdictState, worst
from assay.terminal.table import Row, table

LEAST_CELLS = 9
"""Fewer are told a line each, with their intervals."""
MARKS: Mapping[VerdictState, str] = {
    VerdictState.SOUND: "",
    VerdictState.BOUNDED: " b",
    VerdictState.UNVERIFIED: " ?",
    VerdictState.TAINTED: " t",
    VerdictState.INVALID: " X",
}
Levels = Mapping[str, Value]


def gridded(results: Results) -> tuple[str, ...]:
    """Names of the measures that are told as grids: many cells over two factors or more."""
    return tuple(
        measure.name
        for measure in results.experiment.measures
        if len(found := _cells(results, measure.name)) >= LEAST_CELLS and len(varying(found)) > 1
    )


def grids(results: Results) -> str:
    """Every measure of many cells; what the letters mean stands below. Empty where there is none."""
    by_id = {judged.id: judged for judged in results.runs}
    found = [grid for name in gridded(results) for grid in of_measure(results.experiment, name, _cells(results, name), by_id)]
    legend = ", ".join(f"{mark.strip()} {state.value}" for state, mark in MARKS.items() if mark)
    return "\n\n".join((*found, f"Unmarked figures are SOUND; {legend}. Intervals are in the report.")) if found else ""


def of_measure(experiment: Experiment, name: str, cells: Sequence[Cell], runs: Mapping[str, Judged]) -> Iterator[str]:
    """A grid for each combination of the factors beyond the last two."""
    *others, down, across = varying(cells)
    apart = list(dict.fromkeys(tuple((other, cell.levels[other]) for other in others) for cell in cells))
    for fixed in apart:
        here = {(cell.levels[down], cell.levels[across]): cell for cell in cells if dict(fixed).items() <= cell.levels.items()}
        rows = list(dict.fromkeys(first for first, _ in here))
        columns = list(dict.fromkeys(second for _, second in here))
        told = [
            Row(
                cells=(word(experiment, down, row), *(marked(here.get((row, column)), runs) for column in columns)),
            )
            for row in rows
        ]
        header = (f"{down} \\ {across}", *(word(experiment, across, column) for column in columns))
        where = f" at {tables.levels_text(experiment, dict(fixed))}" if fixed else ""
        yield "\n".join((f"{name}{where}", table(header, told, range(1, len(header))), *label(here.values(), runs)))


def label(cells: Iterable[Cell], runs: Mapping[str, Judged]) -> Iterator[str]:
    """What most of these figures really are, without what is added of the single figure."""
    found = [
        verdict for cell in cells for run in cell.values if run in runs and (verdict := runs[run].verdicts.get(cell.measure))
    ]
    if found:
        yield f"    {usual(found)}"


def varying(cells: Sequence[Cell]) -> tuple[str, ...]:
    """The factors of which these cells have more than one level, those with the most levels last."""
    names = dict.fromkeys(name for cell in cells for name in cell.levels)
    counts = {name: len({cell.levels.get(name) for cell in cells}) for name in names}
    return tuple(sorted((name for name in names if counts[name] > 1), key=lambda name: counts[name]))


def marked(cell: Cell | None, runs: Mapping[str, Judged]) -> str:
    """The estimate with the mark of the worst verdict that it stands on."""
    if cell is None:
        return "-"
    names = list(cell.values) or list(cell.excluded)
    states = [verdict.state for run in names if run in runs and (verdict := runs[run].verdicts.get(cell.measure))]
    return tables.value_text(cell) + (MARKS[worst(states)] if states else " ?")


def _cells(results: Results, name: str) -> tuple[Cell, ...]:
    return tuple(cell for cell in results.cells if cell.measure == name)
