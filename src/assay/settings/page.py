"""A small TOML file of Assay or of its user: values with their positions, and the mistakes in them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from assay import units
from assay._core import parse_toml
from assay.errors import InputErrors, Mistake
from assay.units import Refusal, Unit

Where = tuple[str | int, ...]
"""Position of a value: keys and indices from the top of the file."""
KEY, VALUE = 0, 1
"""Part of an entry that a mistake points at."""


@dataclass(frozen=True, kw_only=True)
class Page:
    """The values of a file, their positions, and a growing list of mistakes."""

    file: str
    values: Mapping[str, object]
    places: Mapping[Where, tuple[tuple[int, int], tuple[int, int]]]
    mistakes: list[Mistake] = field(default_factory=list)

    def wrong(self, at: Where, found: str, expected: str, part: int = VALUE) -> None:
        """Note a mistake at a value or its key; if it is not in the file, at the table around it or the beginning."""
        where = at
        while where and where not in self.places:
            where, part = where[:-1], KEY
        line, column = self.places[where][part] if where else (1, 1)
        self.mistakes.append(Mistake(file=self.file, line=line, column=column, found=found, expected=expected))

    def refuse_if_wrong(self) -> None:
        """Raise InputErrors with all mistakes noted so far."""
        if self.mistakes:
            raise InputErrors(self.mistakes)

    def only(self, at: Where, table: Mapping[str, object], known: Iterable[str]) -> None:
        """Note unknown keys of a table."""
        names = tuple(known)
        for key in table:
            if key not in names:
                self.wrong((*at, key), f"unknown {key!r}", f"one of {', '.join(names)}", KEY)

    def text(self, at: Where, value: object) -> str:
        """Return a required text; note a mistake and return an empty text if it is missing or wrong."""
        if isinstance(value, str) and value.strip():
            return value
        self.wrong(at, f"no {at[-1]}" if value is None else repr(value), f'{at[-1]} = "...", a text')
        return ""

    def quantity(self, at: Where, value: object, unit: Unit) -> int | float | None:
        """Return a quantity written as a text; note a mistake and return None if it is missing or wrong."""
        if not isinstance(value, str):
            self.wrong(at, f"no {at[-1]}" if value is None else repr(value), f"{at[-1]}, {units.EXAMPLES[unit]}, as a text")
            return None
        read = units.attempt(value, unit)
        if isinstance(read, Refusal):
            self.wrong(at, read.found, read.expected)
            return None
        return read


def load(text: str, file: str) -> Page:
    """Parse a TOML text; `file` is the name in mistakes. Raises InputErrors with every syntax error."""
    values, places, errors = parse_toml(text)
    if errors:
        raise InputErrors(
            Mistake(file=file, line=line, column=column, found=message.partition(", expected")[0], expected="valid TOML")
            for line, column, message in errors
        )
    return Page(file=file, values=values, places=places)
