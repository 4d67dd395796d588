"""Reads the file of a prediction: production by operation and hour, the machine that is to carry it, and the platforms."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path as FilePath

from assay import toml_document
from assay.errors import UsageError
from assay.frozen import dataclass
from assay.prediction import values as values_of
from assay.prediction.platform import Capacities, Lookup, capacities, platform, table
from assay.prediction.question import MachineCapacity, Production, Question
from assay.toml_document import Document, Path, Point, load, one_of, shown
from assay.units import Refusal, Unit, attempt

PRODUCTION = ("production",)
PRODUCTION_KEYS = ("operations", "busiest", "used", "cpus", "mix")
PRODUCTION_EXPECTED = "a table [production] with the load"
COLUMNS = "a table with a line of names (hour, then the operations) and a line for each hour"
Texts = Callable[[str], str | Refusal]
"""The text of a file that the file names, or why it cannot be read."""
Rates = Mapping[str, tuple[float, ...]]
Line = tuple[int, tuple[str, ...]]
"""The number of a line in its file, and its cells."""
SEPARATORS = ",;\t"


def production(document: Document, value: object, text_of: Texts) -> Production:
    """Return what is done now."""
    values = toml_document.table(document, PRODUCTION, value, PRODUCTION_KEYS, PRODUCTION_EXPECTED)
    if isinstance(value, dict) and ("operations" in values) == ("used" in values):
        found = "both operations and used" if "used" in values else "neither operations nor used"
        document.wrong(PRODUCTION, found, 'one of them: operations = { read = "900 /s" }, or used = "8 % to 12 %"', Point.KEY)
    counted = "used" in values or "cpus" in values
    hours, operations = done(document, values.get("operations"), text_of) if "operations" in values else ((), {})
    return Production(
        operations=operations,
        hours=hours,
        busiest=busiest(document, values, operations, by_default=1 if hours else None) if operations else None,
        used=values_of.shares(document, (*PRODUCTION, "used"), values["used"]) if "used" in values else None,
        cpus=values_of.count(document, (*PRODUCTION, "cpus"), values) if counted else 1,
        mix=values_of.mix(document, (*PRODUCTION, "mix"), values["mix"]) if "mix" in values else None,
    )


def busiest(document: Document, values: Mapping[str, object], operations: Rates, by_default: int | None) -> int | None:
    """Return how many of the hours count, those in which most is used; None where all do."""
    value = values.get("busiest", by_default)
    if value is None:
        return None
    there = max((len(rates) for rates in operations.values()), default=0)
    if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= max(1, there):
        document.wrong((*PRODUCTION, "busiest"), shown(value), f"how many of the {there} hours count: busiest = 1")
        return None
    return value


def done(document: Document, value: object, text_of: Texts) -> tuple[tuple[str, ...], Rates]:
    """Return the names of the hours where they have some, and operations/s of each hour by operation."""
    path = (*PRODUCTION, "operations")
    if not isinstance(value, str):
        return (), values_of.rates(document, path, value)
    text = text_of(value)
    if isinstance(text, Refusal):
        document.wrong(path, text.found, text.expected)
        return (), {}
    return of_table(document, path, value, tuple(lines(text)))


def lines(text: str) -> Iterator[Line]:
    """Yield the lines that are not empty, with their numbers; cells are parted by what parts the first line."""
    first = next((line for line in text.splitlines() if line.strip()), "")
    apart = max(SEPARATORS, key=first.count)
    reader = csv.reader(io.StringIO(text.removeprefix("\ufeff")), delimiter=apart)
    for row in reader:
        if any(cell.strip() for cell in row):
            yield reader.line_num, tuple(cell.strip() for cell in row)


def of_table(document: Document, path: Path, file: str, rows: Sequence[Line]) -> tuple[tuple[str, ...], Rates]:
    """Return the same of a table; every cell that is no rate is noted, with its line and which cell of it it is."""
    names = rows[0][1][1:] if rows else ()
    if len(rows) <= 1 or not names or not all(names) or len(set(names)) < len(names):
        twice = " (some empty or repeated)" if names else ""
        document.wrong(path, f"{file} with {len(rows)} lines and {len(names)} names of operations{twice}", COLUMNS)
        return (), {}
    for line, row in rows[1:]:
        if len(row) != len(names) + 1:
            document.wrong(path, f"{file}, line {line}: {len(row)} cells", f"{len(names) + 1}, as in the first line")
            return (), {}
    table = [list(cells(document, path, (f"{file}, line {line}", row), names)) for line, row in rows[1:]]
    return tuple(row[0] for _, row in rows[1:]), dict(zip(names, zip(*table, strict=True), strict=True))


def cells(document: Document, path: Path, line: tuple[str, Sequence[str]], names: Sequence[str]) -> Iterator[float]:
    """Yield the rates of one hour: numbers of operations a second, or rates with their unit."""
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


TOP = ("title", "question", "production", "machine", "old", "new", "multiplier")


@dataclass(frozen=True, kw_only=True)
class Laboratory:
    """Where what was measured is found; the command line hands it over."""

    samples: Lookup
    capacities: Capacities
    texts: Texts


def read(path: FilePath, laboratory: Laboratory) -> Question:
    """Return the question of a file. Raises UsageError where it cannot be read, InputErrors with every mistake in it."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "no text in UTF-8"
        raise UsageError(f"found {path} ({why}); expected a file that describes a production load") from error
    return parse(text, str(path), laboratory)


def parse(text: str, file: str, laboratory: Laboratory) -> Question:
    """Return the question of a text. Raises InputErrors with every mistake."""
    document = load(text, file)
    document.refuse_other_kinds("production")
    values = toml_document.known(document, (), document.values, TOP)
    done = production(document, values.get("production"), laboratory.texts)
    tables = {name: table(document, (name,), values[name], laboratory.samples) for name in ("new", "old") if name in values}
    new, old = tables.get("new"), tables.get("old")
    there = capacities(document, values.get("machine"), new, laboratory.capacities)
    machine = values.get("machine")
    speed = machine.get("speed", 1.0) if isinstance(machine, dict) else 1.0
    question = Question(
        title=toml_document.text(document, ("title",), values, "A load on another platform"),
        question=toml_document.text(document, ("question",), values, ""),
        production=done,
        old=None if old is None else platform(document, old, old.cpus),
        multiplier=values_of.bounds(document, ("multiplier",), values["multiplier"]) if "multiplier" in values else None,
        capacities=there,
        speed=float(speed) if isinstance(speed, int | float) else 1.0,
    )
    fits_together(document, values, done)
    all_measured(document, there, done)
    document.refuse_if_wrong()
    return question


def fits_together(document: Document, values: Mapping[str, object], done: Production) -> None:
    """What a load told as operations needs, and one told as a utilisation."""
    if done.operations and "new" not in values:
        document.wrong(("production", "operations"), "operations without [new]", "[new], a notebook with their demands")
    if done.operations and "multiplier" in values:
        document.wrong(("multiplier",), "a multiplier beside operations", "none: operations have demands of their own")
    value = values.get("production")
    if isinstance(value, dict) and "used" in value and "operations" not in value:
        of_a_share(document, values)
    elif done.operations and done.mix is not None:
        document.wrong(("production", "mix"), "a mix beside operations", "none: operations have rates of their own", Point.KEY)


def of_a_share(document: Document, values: Mapping[str, object]) -> None:
    """What a load needs that is told as a utilisation of CPUs: something to carry it over, and nothing else to carry."""
    both = "old" in values and "new" in values
    if both == ("multiplier" in values):
        found = "both a multiplier and notebooks" if both else "a utilisation without multiplier or notebooks"
        document.wrong(("production", "used"), found, "[old] and [new], or multiplier = 7")
    machine = values.get("machine")
    for name in machine if isinstance(machine, dict) else ():
        if name not in ("cpus", "speed"):
            found = "a load given as CPU utilisation"
            document.wrong(("machine", name), found, "[production] operations, for their use of other resources", Point.KEY)
    if isinstance(machine, dict) and "cpus" not in machine:
        document.wrong(("machine",), "no CPUs", "cpus = 4: the utilisation is of CPUs", Point.KEY)


def all_measured(document: Document, there: tuple[MachineCapacity, ...], done: Production) -> None:
    """Whether every operation of production has a demand of every resource."""
    known = [capacity.platform.demand.operations for capacity in there if capacity.platform is not None]
    for key, names in (("operations", done.operations), ("mix", done.mix or {})):
        for name in names:
            lacks = next((each for each in known if name not in each), None)
            if lacks is not None:
                document.wrong(("production", key, name), f"{name!r}, which was not measured", one_of(lacks, name), Point.KEY)
