"""Populations of files: how many there are of which size, as a survey of a real tree found them.

    title = "Home directories"
    source = "surveyed on a file server in March"
    sizes = [
        { up_to = "4 KiB", files = 1234, bytes = 3456789 },     # larger than the row before allows, up to this
        { files = 7, bytes = 12000000 },                        # the last row may be open
    ]

A file that is made from a row has the row's mean size.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from assay import units
from assay._core import parse_toml
from assay.errors import InputErrors, Mistake
from assay.units import Refusal, Unit

SHIPPED = Path(__file__).parent.parent / "populations"
"""Where the populations are that come with the laboratory, one file each; the file's stem is the name."""

TEXT_KEYS = ("title", "source")
ROW_KEYS = ("up_to", "files", "bytes")

Where = tuple[str | int, ...]
Places = Mapping[Where, tuple[tuple[int, int], tuple[int, int]]]


@dataclass(frozen=True, kw_only=True)
class Band:
    """Files of about one size: those above the band before and up to `up_to` bytes (None: no upper edge)."""

    files: int
    bytes: int
    up_to: int | None = None

    @property
    def mean_bytes(self) -> int:
        """The mean size of its files, rounded to a byte (halves upwards); 0 where there are none."""
        return (2 * self.bytes + self.files) // (2 * self.files) if self.files else 0


@dataclass(frozen=True, kw_only=True)
class Population:
    """How many files there are of which size, smallest first, and where that was found."""

    title: str
    source: str
    sizes: tuple[Band, ...]
    survey: Mapping[str, object] = field(default_factory=dict)
    """Free facts about the survey."""

    @property
    def weights(self) -> Mapping[int, int]:
        """Size of a file that is made, in bytes -> how many files of the tree it stands for."""
        weights: dict[int, int] = {}
        for band in self.sizes:
            if band.files:
                weights[band.mean_bytes] = weights.get(band.mean_bytes, 0) + band.files
        return weights


def shipped() -> tuple[str, ...]:
    """The names of the populations that come with the laboratory, sorted."""
    return tuple(sorted(path.stem for path in SHIPPED.glob("*.toml")))


def read(name: str) -> Population:
    """The population of this name that is shipped, else of the file at this path (from the current directory where relative).

    Raises InputErrors with every mistake in it, or that it cannot be read.
    """
    path = SHIPPED / f"{name}.toml" if name in shipped() else Path(name)
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not UTF-8"
        found, expected = f"no population there ({reason})", f"a TOML file, or one of: {', '.join(shipped())}"
        raise InputErrors([Mistake(file=name, line=None, column=None, found=found, expected=expected)]) from error
    return parse(text, name)


def parse(text: str, file: str) -> Population:
    """The population in a TOML text; `file` is what mistakes name. Raises InputErrors with every mistake in it."""
    values, places, errors = parse_toml(text)
    if errors:
        raise InputErrors(
            Mistake(file=file, line=line, column=column, found=message.partition(", expected")[0], expected="valid TOML")
            for line, column, message in errors
        )
    page = _Page(file=file, places=places)
    for key in values:
        if key not in (*TEXT_KEYS, "survey", "sizes"):
            page.wrong((key,), f"unknown {key!r}", "title, source, survey or sizes", part=0)
    title, source = (_text(page, values, key) for key in TEXT_KEYS)
    survey = values.get("survey", {})
    if not isinstance(survey, dict):
        page.wrong(("survey",), repr(survey), "a table of facts")
    bands = _bands(page, values.get("sizes"))
    if page.mistakes:
        raise InputErrors(page.mistakes)
    return Population(title=title, source=source, sizes=bands, survey=survey if isinstance(survey, dict) else {})


@dataclass(frozen=True, kw_only=True)
class _Page:
    """A file with the places of its values, and what is wrong with it so far."""

    file: str
    places: Places
    mistakes: list[Mistake] = field(default_factory=list)

    def wrong(self, at: Where, found: str, expected: str, part: int = 1) -> None:
        """Note a mistake at a value (part 1) or its key (part 0); at the nearest table around it where it is not written."""
        where = at
        while where and where not in self.places:
            where, part = where[:-1], 0
        line, column = self.places[where][part] if where else (None, None)
        self.mistakes.append(Mistake(file=self.file, line=line, column=column, found=found, expected=expected))


def _text(page: _Page, values: Mapping[str, object], key: str) -> str:
    value = values.get(key)
    if isinstance(value, str) and value.strip():
        return value
    page.wrong((key,), f"no {key}" if value is None else repr(value), f'a line {key} = "..."' if value is None else "a text")
    return ""


def _bands(page: _Page, rows: object) -> tuple[Band, ...]:
    """The rows that are right; notes what is wrong with the others and between them."""
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        page.wrong(("sizes",), "no sizes" if rows is None else repr(rows), "rows [[sizes]] with up_to, files and bytes")
        return ()
    known = len(page.mistakes)
    bands = [_band(page, row, number) for number, row in enumerate(rows)]
    lower: int = 0
    for number, band in enumerate(bands):
        if band is None:
            continue
        _check_edges(page, number, band, (lower, number == len(bands) - 1))
        lower = band.up_to if band.up_to is not None else lower
    if len(page.mistakes) == known and not any(band and band.files for band in bands):
        page.wrong(("sizes",), "no files", "at least one row with files")
    return tuple(band for band in bands if band is not None)


def _band(page: _Page, row: Mapping[str, object], number: int) -> Band | None:
    """One row, None where something in it is wrong."""
    known = len(page.mistakes)
    at: Where = ("sizes", number)
    for key in row:
        if key not in ROW_KEYS:
            page.wrong((*at, key), f"unknown {key!r}", "up_to, files or bytes", part=0)
    files, size = (_count(page, row, (*at, key)) for key in ("files", "bytes"))
    edge = row.get("up_to")
    up_to = None if edge is None else units.attempt(edge, Unit.BYTES) if isinstance(edge, str) else repr(edge)
    if isinstance(up_to, Refusal):
        page.wrong((*at, "up_to"), up_to.found, up_to.expected)
    elif isinstance(up_to, str):
        page.wrong((*at, "up_to"), up_to, 'bytes such as "4 KiB", as a text')
    if len(page.mistakes) > known:
        return None
    return Band(files=files, bytes=size, up_to=up_to if isinstance(up_to, int) else None)


def _count(page: _Page, row: Mapping[str, object], at: Where) -> int:
    value = row.get(str(at[-1]))
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= units.MOST:
        return value
    page.wrong(at, f"no {at[-1]}" if value is None else repr(value), f"{at[-1]} = a whole number, at least 0")
    return 0


def _check_edges(page: _Page, number: int, band: Band, neighbours: tuple[int, bool]) -> None:
    """Notes edges that do not rise, and files that cannot be in their band. `neighbours`: edge below, whether it is the last."""
    lower, is_last = neighbours
    at: Where = ("sizes", number)
    if band.up_to is None and not is_last:
        page.wrong(at, "no up_to before the last row", "an up_to in every row but the last", part=0)
    if band.up_to is not None and number > 0 and band.up_to <= lower:
        page.wrong(
            (*at, "up_to"), units.format(band.up_to, Unit.BYTES), f"more than {units.format(lower, Unit.BYTES)}: ascending rows"
        )
    elif band.up_to is not None and band.bytes > band.files * band.up_to:
        most = units.format(band.up_to, Unit.BYTES)
        page.wrong((*at, "bytes"), f"{band.bytes} bytes in {band.files} files", f"at most {most} for each of them")
    elif band.bytes < band.files * lower:
        least = units.format(lower, Unit.BYTES)
        page.wrong((*at, "bytes"), f"{band.bytes} bytes in {band.files} files", f"at least {least} for each of them")
