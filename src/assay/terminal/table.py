"""A table on the terminal: aligned columns, notes below a row, as wide as the terminal."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

GAP = "  "


@dataclass(frozen=True, kw_only=True)
class Row:
    """One line of a table with a note, which goes to a line of its own where the width has no room for it."""

    cells: tuple[str, ...]
    note: str = ""


def table(header: Sequence[str], rows: Sequence[Row], right: Iterable[int] = (), width: int | None = None) -> str:
    """Aligned lines; the columns in `right` are aligned to the right. Width is that of the terminal (80 where there is none)."""
    lines = [tuple(header), *(row.cells for row in rows)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(header))]
    flush_right = frozenset(right)
    room = width or shutil.get_terminal_size().columns
    made: list[str] = []
    for line, note in zip(lines, ["", *(row.note for row in rows)], strict=True):
        text = GAP.join(
            cell.rjust(size) if column in flush_right else cell.ljust(size)
            for column, (cell, size) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        made.extend(with_note(text, note, sum(widths) + len(GAP) * len(widths), room))
    return "\n".join(made)


def with_note(text: str, note: str, start: int, room: int) -> Iterator[str]:
    """A line with its note: beside it where there is room, else indented below it."""
    if not note:
        yield text
    elif start + len(note) <= room:
        yield text.ljust(start) + note
    else:
        yield text
        yield f"    {note}"
