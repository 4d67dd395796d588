"""[production] of the file of `assay predict`: operations/s of busy hours or of a whole day's table, or how busy a machine is."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterator, Mapping, Sequence

from assay.prediction import values as values_of
from assay.prediction.question import Production
from assay.toml_document import Document, Path, Point, shown
from assay.units import Refusal, Unit, attempt

PATH = ("production",)
KEYS = ("operations", "busiest", "used", "processors", "mix")
EXPECTED = "[production], what is done there"
COLUMNS = "a table with a line of names (hour, then the operations) and a line for each hour"
Texts = Callable[[str], str | Refusal]
"""The text of a file that the file names, or why it cannot be read."""
Rates = Mapping[str, tuple[float, ...]]
Line = tuple[int, tuple[str, ...]]
"""The number of a line in its file, and its cells."""
SEPARATORS = ",;\t"


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
        busiest=busiest(document, values, operations, by_default=1 if hours else None) if operations else None,
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
    return of_table(document, path, told, tuple(lines(text)))


def lines(text: str) -> Iterator[Line]:
    """The lines that are not empty, with their numbers; cells are parted by what parts the first line."""
    first = next((line for line in text.splitlines() if line.strip()), "")
    apart = max(SEPARATORS, key=first.count)
    reader = csv.reader(io.StringIO(text.removeprefix("\ufeff")), delimiter=apart)
    for row in reader:
        if any(cell.strip() for cell in row):
            yield reader.line_num, tuple(cell.strip() for cell in row)


def of_table(document: Document, path: Path, file: str, rows: Sequence[Line]) -> tuple[tuple[str, ...], Rates]:
    """The same of a table; every cell that is no rate is noted, with its line and which cell of it it is."""
    names = rows[0][1][1:] if rows else ()
    if len(rows) <= 1 or not names or not all(names) or len(set(names)) < len(names):
        twice = " (some are empty or there twice)" if names else ""
        document.wrong(path, f"{file} with {len(rows)} lines and {len(names)} names of operations{twice}", COLUMNS)
        return (), {}
    for line, row in rows[1:]:
        if len(row) != len(names) + 1:
            document.wrong(path, f"{file}, line {line}: {len(row)} cells", f"{len(names) + 1}, as in the first line")
            return (), {}
    table = [list(cells(document, path, (f"{file}, line {line}", row), names)) for line, row in rows[1:]]
    return tuple(row[0] for _, row in rows[1:]), dict(zip(names, zip(*table, strict=True), strict=True))


def cells(document: Document, path: Path, line: tuple[str, Sequence[str]], names: Sequence[str]) -> Iterator[float]:
    """The rates of one hour: numbers of operations a second, or rates with their unit."""
    for place, (name, cell) in enumerate(zip(names, line[1][1:], strict=True), 2):
        found = rate(cell)
        if found is None:
            document.wrong(path, f"{line[0]}, cell {place} ({name}): {cell!r}", "operations a second, such as 900 or 1.2 kIOPS")
        yield found or 0.0


def rate(cell: str) -> float | None:
    """`900`, `0.5` or `1.2 kIOPS`; None where it is none of them."""
    if cell.replace(".", "", 1).isdecimal():
        return float(cell)
    found = attempt(cell, Unit.PER_S)
    return None if isinstance(found, Refusal) else float(found)
