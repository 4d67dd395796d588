"""[production] of the file of `assay predict`: operations/s of busy hours or of a whole day's table, or how busy a machine is."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterator, Mapping, Sequence

from assay.analysis import predict_values as values_of
from assay.analysis.predict_question import Production
from assay.document import Document, Path, Point, shown
from assay.units import Refusal, Unit, attempt

PATH = ("production",)
KEYS = ("operations", "busiest", "used", "processors", "mix")
EXPECTED = "[production], what is done there"
COLUMNS = "a table with a line of names (hour, then the operations) and a line for each hour"
Texts = Callable[[str], str | Refusal]
"""The text of a file that the file names, or why it cannot be read."""
Rates = Mapping[str, tuple[float, ...]]


def production(document: Document, told: object, text_of: Texts) -> Production:
    """What is done now."""
    values = values_of.table(document, PATH, told, KEYS, EXPECTED)
    if isinstance(told, dict) and ("operations" in values) == ("used" in values):
        found = "both operations and used" if "used" in values else "neither operations nor used"
        document.wrong(PATH, found, 'one of them: operations = { read = "900 /s" }, or used = "8 % to 12 %"', Point.KEY)
    counted = "used" in values or "processors" in values
    hours, operations = done(document, values.get("operations"), text_of) if "operations" in values else ((), {})
    return Production(
        operations=operations,
        hours=hours,
        busiest=busiest(document, values, operations, by_default=1 if hours else None),
        used=values_of.shares(document, (*PATH, "used"), values["used"]) if "used" in values else None,
        processors=values_of.count(document, (*PATH, "processors"), values) if counted else 1,
        mix=values_of.mix(document, (*PATH, "mix"), values["mix"]) if "mix" in values else None,
    )


def busiest(document: Document, values: Mapping[str, object], operations: Rates, by_default: int | None) -> int | None:
    """How many of the hours count, those in which most is used; None where all do."""
    told = values.get("busiest", by_default)
    if told is None:
        return None
    there = max((len(rates) for rates in operations.values()), default=0)
    if not isinstance(told, int) or isinstance(told, bool) or not 1 <= told <= max(1, there):
        document.wrong((*PATH, "busiest"), shown(told), f"how many of the {there} hours count: busiest = 1")
        return None
    return told


def done(document: Document, told: object, text_of: Texts) -> tuple[tuple[str, ...], Rates]:
    """The names of the hours where they have some, and operations/s of each hour by operation."""
    path = (*PATH, "operations")
    if not isinstance(told, str):
        return (), values_of.rates(document, path, told)
    text = text_of(told)
    if isinstance(text, Refusal):
        document.wrong(path, text.found, text.expected)
        return (), {}
    return of_table(document, path, [row for row in csv.reader(io.StringIO(text)) if any(cell.strip() for cell in row)])


def of_table(document: Document, path: Path, rows: Sequence[Sequence[str]]) -> tuple[tuple[str, ...], Rates]:
    """The same of a table of comma-separated values; every cell that is no rate is noted."""
    names = [name.strip() for name in rows[0][1:]] if rows else []
    if len(rows) <= 1 or not names or not all(names) or len(set(names)) < len(names):
        document.wrong(path, f"{len(rows)} lines with {len(names)} operations, or names that are empty or twice there", COLUMNS)
        return (), {}
    for place, row in enumerate(rows[1:], 2):
        if len(row) != len(names) + 1:
            document.wrong(path, f"{len(row)} cells in line {place}", f"{len(names) + 1}, as in the first line")
            return (), {}
    table = [list(cells(document, path, (place, row), names)) for place, row in enumerate(rows[1:], 2)]
    return tuple(row[0].strip() for row in rows[1:]), dict(zip(names, zip(*table, strict=True), strict=True))


def cells(document: Document, path: Path, line: tuple[int, Sequence[str]], names: Sequence[str]) -> Iterator[float]:
    """The rates of one hour: numbers of operations a second, or rates with their unit."""
    for name, cell in zip(names, line[1][1:], strict=True):
        found = rate(cell.strip())
        if found is None:
            document.wrong(path, f"{cell!r} for {name} in line {line[0]}", "operations a second, such as 900")
        yield found or 0.0


def rate(cell: str) -> float | None:
    """`900`, `0.5` or `1.2 kIOPS`; None where it is none of them."""
    if cell.replace(".", "", 1).isdecimal():
        return float(cell)
    found = attempt(cell, Unit.PER_S)
    return None if isinstance(found, Refusal) else float(found)
