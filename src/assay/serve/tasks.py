"""What the worker does: a query over a notebook, the page of a report. Each is a function for a process of its own."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from assay.notebook.sql import QueryLimits, query
from assay.serve.chart import Chart, chart, plain

QUERY_S = 10.0
FILL_S = 60.0
"""Before a query DuckDB takes the rows from the files: most of the time of a large notebook."""
QUERY_BYTES = 256 << 20
MOST_ROWS = 1000
"""So many rows are shown."""


@dataclass(frozen=True, kw_only=True)
class Answer:
    """The answer to a query, as its page shows it."""

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    numbers: tuple[bool, ...]
    """Whether a column holds numbers alone."""
    is_cut: bool
    """Whether there are more rows than are shown."""
    element: str
    """The chart as SVG; empty where there is nothing to draw."""


def ask(lab: str, text: str, choice: Chart) -> Answer:
    """Answer a query over a notebook. Raises UsageError."""
    limits = QueryLimits(seconds=QUERY_S, memory_bytes=QUERY_BYTES, rows=MOST_ROWS + 1)
    found = query(Path(lab), text, limits)
    rows = found.rows[:MOST_ROWS]
    drawn = chart(found.columns, rows, choice)
    return Answer(
        columns=found.columns,
        rows=tuple(tuple(plain(value) for value in row) for row in rows),
        numbers=tuple(all(isinstance(row[at], int | float | None) for row in rows) for at in range(len(found.columns))),
        is_cut=len(found.rows) > MOST_ROWS,
        element=drawn.element if drawn else "",
    )


def report(folder: str) -> bytes:
    """Make the page of a report by the rules of this version; nothing is written. Raises AssayError."""
    from assay.laboratory import pages
    from assay.laboratory.results import current
    from assay.notebook import read
    from assay.report import page

    place = Path(folder)
    results, load = current(place), read.remembered(place)
    return page.render(results, load, pages.pictures(place, results, load)).encode()
