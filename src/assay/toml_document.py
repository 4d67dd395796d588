"""A TOML text with the place of every value, and the mistakes found in it so far."""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import Enum

from assay._core import parse_toml
from assay.errors import InputErrors, Mistake, Obstacle, UsageError
from assay.units import EXAMPLES, Refusal, Unit, attempt

KINDS = {
    "targets": "an experiment. Use: assay plan {file}, then assay run {file}",
    "part": "a chain of parts. Use: assay size {file}",
    "production": "a production load. Use: assay predict {file}",
}
"""Table that only one kind of file has -> what the file is, and the verbs for it."""

Path = tuple[str | int, ...]
"""Where a value stands: keys and indices from the top of the file."""


class Point(Enum):
    """What a mistake points at."""

    KEY = 0
    VALUE = 1


@dataclass(frozen=True, kw_only=True)
class Document:
    """The values of a file, where each stands, and a growing list of what is wrong with them."""

    file: str
    values: Mapping[str, object]
    places: Mapping[Path, tuple[tuple[int, int], tuple[int, int]]]
    mistakes: list[Mistake] = field(default_factory=list)
    wrong_at: list[Path] = field(default_factory=list)
    """Where each mistake was noted."""

    def wrong(self, path: Path, found: str, expected: str, point: Point = Point.VALUE) -> None:
        """Note a mistake at a path; where the path itself is not written, at the nearest table around it."""
        line, column = self._place(path, point)
        self.mistakes.append(Mistake(file=self.file, line=line, column=column, found=found, expected=expected))
        self.wrong_at.append(path)

    def obstructed(self, obstacles: Iterable[Obstacle]) -> None:
        """Note what hosts have against the file, each thing at its place."""
        for one in obstacles:
            line, column = self._place(one.at, Point.VALUE)
            self.mistakes.append(Mistake(file=self.file, line=line, column=column, found="", expected="", obstacle=one.text))
            self.wrong_at.append(one.at)

    def refuse_other_kinds(self, own: str) -> None:
        """Raises UsageError where this is a file for another verb: a list of all its unknown keys would help nobody."""
        kind = next((one for one in KINDS if one in self.values), own)
        if kind != own and own not in self.values:
            raise UsageError(f"{self.file}: this file describes {KINDS[kind].format(file=self.file)}")

    def clean(self, path: Path) -> bool:
        """Whether nothing wrong was noted at this place so far."""
        places = {self._place(path, Point.KEY), self._place(path, Point.VALUE)}
        return not any((mistake.line, mistake.column) in places for mistake in self.mistakes)

    def refuse_if_wrong(self) -> None:
        """Raises InputErrors with all mistakes noted so far, each once."""
        if self.mistakes:
            raise InputErrors(dict.fromkeys(self.mistakes))

    def _place(self, path: Path, point: Point) -> tuple[int | None, int | None]:
        while path and path not in self.places:
            path, point = path[:-1], Point.KEY
        return self.places[path][point.value] if path else (None, None)


def load(text: str, file: str) -> Document:
    """Read a TOML text. Raises InputErrors with every syntax error: what else is wrong can only be seen without them."""
    values, places, errors = parse_toml(text)
    if errors:
        raise InputErrors(_syntax(file, text, line, column, message) for line, column, message in errors)
    return Document(file=file, values=values, places=places)


def _syntax(file: str, text: str, line: int, column: int, message: str) -> Mistake:
    """A syntax error, with what stands there: "string values must be quoted, expected literal string"."""
    lines = text.splitlines()
    there = lines[line - 1][column - 1 :].strip() if line <= len(lines) else ""
    what, _, expected = message.partition(", expected ")
    shown = repr(there[:40]) if there else "the end of the line"
    return Mistake(file=file, line=line, column=column, found=f"{shown} ({what})", expected=expected or "valid TOML")


def table(document: Document, path: Path, value: object, keys: Iterable[str], expected: str) -> Mapping[str, object]:
    """Return a table with these keys; note a mistake and return an empty one where it is none."""
    if not isinstance(value, dict):
        document.wrong(path, shown(value) if value is not None else f"no [{path[-1]}]", expected)
        return {}
    return known(document, path, value, keys)


def known(document: Document, path: Path, values: Mapping[str, object], keys: Iterable[str]) -> Mapping[str, object]:
    """Return the values; note keys that there are not."""
    names = tuple(keys)
    for key in values:
        if key not in names:
            document.wrong((*path, key), f"unknown key {key!r}", one_of(names, key), Point.KEY)
    return values


def text(document: Document, path: Path, values: Mapping[str, object], default: str) -> str:
    """Return a text at the end of the path; note a mistake and return the default where it is none."""
    value = values.get(str(path[-1]), default)
    if not isinstance(value, str):
        document.wrong(path, shown(value), "a text")
        return default
    return value.strip()


def required_text(document: Document, path: Path, value: object) -> str:
    """Return a text that must be there; note a mistake and return an empty one where it is missing or wrong."""
    if isinstance(value, str) and value.strip():
        return value
    document.wrong(path, f"no {path[-1]}" if value is None else repr(value), f'{path[-1]} = "...", a text')
    return ""


def required_quantity(document: Document, path: Path, value: object, unit: Unit) -> int | float | None:
    """Return a quantity written as a text; note a mistake and return None where it is missing or wrong."""
    if not isinstance(value, str):
        document.wrong(path, f"no {path[-1]}" if value is None else repr(value), f"{path[-1]}, {EXAMPLES[unit]}, as a text")
        return None
    found = attempt(value, unit)
    if isinstance(found, Refusal):
        document.wrong(path, found.found, found.expected)
        return None
    return found


def one_of(names: Iterable[str], found: str | None = None) -> str:
    """What may stand here: "one of a, b, c", the nearest to what was found first in words."""
    known = tuple(names)
    if not known:
        return "none (there are none)"
    listed = f"one of {', '.join(known)}" if len(known) > 1 else known[0]
    near = difflib.get_close_matches(found or "", known, n=1)
    return f"{listed} (did you mean {near[0]!r}?)" if near else listed


def shown(value: object) -> str:
    """A value of the file as its author wrote it, short."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, dict):
        return "a table"
    if isinstance(value, list):
        return "an empty list" if not value else f"a list of {len(value)}" if len(value) > 3 else repr(value)
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


def quoted(text: str) -> str:
    """A basic string of TOML 1.0: as in JSON, which leaves only DEL bare where TOML does not."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
