"""Size distributions of files: number of files by size, as a survey of a real tree found them.

    title = "Home directories"
    source = "surveyed on a file server in March"
    sizes = [
        { up_to = "4 KiB", files = 1234, bytes = 3456789 },     # larger than the row before allows, up to this
        { files = 7, bytes = 12000000 },                        # the last row may be open
    ]

A file that is made from a row has the row's mean size.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from assay import units
from assay.errors import InputErrors, Mistake
from assay.toml_document import Document, Point, known, load, required_quantity, required_text
from assay.toml_document import Path as Where
from assay.units import Unit

SHIPPED = Path(__file__).parent.parent / "size_distributions"
"""Directory of the shipped size distributions, one file each; the file's stem is the name."""


@dataclass(frozen=True, kw_only=True)
class SizeClass:
    """Files of similar size: above the previous band, up to `up_to` bytes (None: no upper edge)."""

    files: int
    bytes: int
    up_to: int | None = None

    @property
    def mean_bytes(self) -> int:
        """Mean size of its files, rounded to a byte (half up); 0 without files."""
        return (2 * self.bytes + self.files) // (2 * self.files) if self.files else 0


@dataclass(frozen=True, kw_only=True)
class SizeDistribution:
    """Number of files by size, smallest first, and the source of the numbers."""

    title: str
    source: str
    sizes: tuple[SizeClass, ...]
    survey: Mapping[str, object] = field(default_factory=dict)
    """Free facts about the survey."""

    @property
    def weights(self) -> Mapping[int, int]:
        """Size of a created file in bytes -> number of files of the tree that it represents."""
        weights: dict[int, int] = {}
        for band in self.sizes:
            if band.files:
                weights[band.mean_bytes] = weights.get(band.mean_bytes, 0) + band.files
        return weights

    @property
    def identity(self) -> str:
        """Everything that decides which files are created."""
        return json.dumps(list(self.weights.items()), separators=(",", ":"))


def shipped() -> tuple[str, ...]:
    """Return the names of the shipped size distributions, sorted."""
    return tuple(sorted(path.stem for path in SHIPPED.glob("*.toml")))


def read(name: str) -> SizeDistribution:
    """Read the shipped size distribution of this name, else the file at this path (relative to the current directory).

    Raises InputErrors with every mistake in it, or if it cannot be read.
    """
    path = SHIPPED / f"{name}.toml" if name in shipped() else Path(name)
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not UTF-8"
        found, expected = f"no size distribution there ({reason})", f"a TOML file, or one of: {', '.join(shipped())}"
        raise InputErrors([Mistake(file=name, line=None, column=None, found=found, expected=expected)]) from error
    return parse(text, name)


def parse(text: str, file: str) -> SizeDistribution:
    """Parse a size distribution; `file` is the name in mistakes. Raises InputErrors with every mistake in it."""
    sheet = load(text, file)
    known(sheet, (), sheet.values, ("title", "source", "sizes", "survey"))
    title, source = (required_text(sheet, (key,), sheet.values.get(key)) for key in ("title", "source"))
    survey = sheet.values.get("survey", {})
    if not isinstance(survey, dict):
        sheet.wrong(("survey",), repr(survey), "a table of facts")
    sizes = bands(sheet, sheet.values.get("sizes"))
    sheet.refuse_if_wrong()
    return SizeDistribution(title=title, source=source, sizes=sizes, survey=survey if isinstance(survey, dict) else {})


def bands(sheet: Document, rows: object) -> tuple[SizeClass, ...]:
    """Return the valid rows; note the mistakes in and between the others."""
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        sheet.wrong(("sizes",), "no sizes" if rows is None else repr(rows), "rows [[sizes]] with up_to, files and bytes")
        return ()
    before = len(sheet.mistakes)
    found = [band(sheet, row, ("sizes", number)) for number, row in enumerate(rows)]
    lower = 0
    for number, one in enumerate(found):
        if one is not None:
            check_edges(sheet, ("sizes", number), one, lower)
            lower = lower if one.up_to is None else one.up_to
    for number, row in enumerate(rows[:-1]):
        if "up_to" not in row:
            sheet.wrong(("sizes", number), "no up_to before the last row", "an up_to in every row but the last", Point.KEY)
    if len(sheet.mistakes) == before and not any(one and one.files for one in found):
        sheet.wrong(("sizes",), "no files", "at least one row with files")
    return tuple(one for one in found if one is not None)


def band(sheet: Document, row: Mapping[str, object], at: Where) -> SizeClass | None:
    """Return one row; None if it has a mistake."""
    before = len(sheet.mistakes)
    known(sheet, at, row, ("up_to", "files", "bytes"))
    files, size = (count(sheet, (*at, key), row.get(key)) for key in ("files", "bytes"))
    up_to = required_quantity(sheet, (*at, "up_to"), row["up_to"], Unit.BYTES) if "up_to" in row else None
    return (
        SizeClass(files=files, bytes=size, up_to=None if up_to is None else int(up_to)) if len(sheet.mistakes) == before else None
    )


def count(sheet: Document, at: Where, value: object) -> int:
    """Return a required whole number; note a mistake and return 0 if it is missing or wrong."""
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= units.MOST:
        return value
    sheet.wrong(at, f"no {at[-1]}" if value is None else repr(value), f"{at[-1]} = a whole number, at least 0")
    return 0


def check_edges(sheet: Document, at: Where, one: SizeClass, lower: int) -> None:
    """Note an edge that is not above the previous one, and files that do not fit into their band."""
    found = f"{one.bytes} bytes in {one.files} files"
    if one.up_to is not None and at[-1] and one.up_to <= lower:
        least = units.format(lower, Unit.BYTES)
        sheet.wrong((*at, "up_to"), units.format(one.up_to, Unit.BYTES), f"more than {least}: ascending rows")
    elif one.up_to is not None and one.bytes > one.files * one.up_to:
        sheet.wrong((*at, "bytes"), found, f"at most {units.format(one.up_to, Unit.BYTES)} for each of them")
    elif one.bytes < one.files * lower:
        sheet.wrong((*at, "bytes"), found, f"at least {units.format(lower, Unit.BYTES)} for each of them")
