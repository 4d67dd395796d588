"""Two kinds of bands against each other as SVG: a field of shares with the shares of each band along its sides."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from html import escape

from assay.frozen import dataclass
from assay.report.charts.figure import PLAIN, QUIET, Drawn, Style, text

LEFT, COLUMN, ROW = 150, 55, 30
"""Pixels: the names of the rows; a cell's width and height."""
ABOVE, BESIDE = 76, 150
"""Pixels of the bars above and beside the field."""
GAP = 14
BELOW = 50
"""Pixels of the names of the columns and their title."""
BAR, SLIM = 0.46, 0.16
"""Parts of a cell that the bars of bytes and of files are wide."""
PALE = 0.05
"""Opacity of a cell that has files, but hardly any of the bytes."""
DARK_FROM = 0.66
"""Opacity of the gold above which dark text is easier to read on it than the light text of dark paper."""
DARK = "#22211f"


@dataclass(frozen=True, kw_only=True)
class Share:
    """Shares (0..1) of the bytes and of the files that one cell or one band has, with its words."""

    bytes: float
    files: float
    label: str


@dataclass(frozen=True, kw_only=True)
class Matrix:
    """The shares of every cell, [row][column], and of every row and column."""

    title: str
    sentence: str
    """What it shows, for the reader who does not see it."""
    row_title: str
    column_title: str
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    cells: tuple[tuple[Share, ...], ...]
    row_shares: tuple[Share, ...]
    column_shares: tuple[Share, ...]
    reaching_title: str
    reaching: tuple[str, ...]
    """For each row, the share that it and all rows below it have, in words."""


def drawn(matrix: Matrix) -> Drawn:
    """Draw the matrix."""
    return Drawn(
        width=LEFT + COLUMN * len(matrix.columns) + GAP + BESIDE + 70,
        height=ABOVE + GAP + ROW * len(matrix.rows) + BELOW,
        inside="".join(_parts(matrix)),
        description=matrix.sentence,
        title=matrix.title,
    )


def _parts(matrix: Matrix) -> Iterator[str]:
    yield from _key()
    yield from _upright_bars(matrix)
    yield from _field(matrix)
    yield from _lying_bars(matrix)
    yield from _names(matrix)


def _key() -> Iterator[str]:
    """Which bar is which, in the corner."""
    for place, (colour, name) in enumerate((("--gold", "share of the bytes"), ("--muted", "share of the files"))):
        y = 22 + 20 * place
        yield f'<rect x="12" y="{y - 9}" width="{10 if not place else 4}" height="10" fill="var({colour})"/>'
        yield text(28, y, name, QUIET)


def _field(matrix: Matrix) -> Iterator[str]:
    most = max((cell.bytes for row in matrix.cells for cell in row), default=0.0) or 1.0
    for down, row in enumerate(matrix.cells):
        for right, cell in enumerate(row):
            x, y = LEFT + COLUMN * right, ABOVE + GAP + ROW * down
            yield f"<g><title>{escape(cell.label)}</title>{_cell(x, y, cell, most)}</g>"


def _cell(x: int, y: int, cell: Share, most: float) -> str:
    """Gold by the root of the share, so that small shares can still be told from none."""
    place = f'x="{x + 1}" y="{y + 1}" width="{COLUMN - 2}" height="{ROW - 2}" rx="2"'
    if not cell.files:
        return f'<rect {place} fill="var(--grid)" fill-opacity="0.3"/>'
    strength = PALE + (1 - PALE) * math.sqrt(cell.bytes / most)
    label = percent(cell.bytes)
    ink = DARK if strength > DARK_FROM else "--ink"
    inside = text(x + COLUMN / 2, y + ROW / 2 + 4, label, Style(anchor="middle", fill=ink)) if cell.bytes >= 0.005 else ""
    return f'<rect {place} fill="var(--gold)" fill-opacity="{strength:.3f}" stroke="var(--gold)" stroke-opacity="0.35"/>{inside}'


def _upright_bars(matrix: Matrix) -> Iterator[str]:
    top = _highest(matrix.column_shares)
    base, room = ABOVE, ABOVE - 20
    yield _line(LEFT, base, LEFT + COLUMN * len(matrix.columns), base)
    for right, one in enumerate(matrix.column_shares):
        x, high, slim = LEFT + COLUMN * right, room * one.bytes / top, room * one.files / top
        wide = COLUMN * BAR
        start = x + (COLUMN - wide - COLUMN * SLIM - 2) / 2
        yield f"<g><title>{escape(one.label)}</title>"
        yield _bar(start, base - high, wide, high, "--gold")
        yield _bar(start + wide + 2, base - slim, COLUMN * SLIM, slim, "--muted")
        if one.files:
            yield text(start + wide, base - high - 5, percent(one.bytes), Style(anchor="end"))
        yield "</g>"


def _lying_bars(matrix: Matrix) -> Iterator[str]:
    top = _highest(matrix.row_shares)
    base, room = LEFT + COLUMN * len(matrix.columns) + GAP, BESIDE - 52
    yield _line(base, ABOVE + GAP, base, ABOVE + GAP + ROW * len(matrix.rows))
    yield from _stacked(base + BESIDE + 56, ABOVE + GAP - 20, matrix.reaching_title, anchor="end")
    for down, one in enumerate(matrix.row_shares):
        y, long, slim = ABOVE + GAP + ROW * down, room * one.bytes / top, room * one.files / top
        wide = ROW * BAR
        start = y + (ROW - wide - ROW * SLIM - 2) / 2
        yield f"<g><title>{escape(one.label)}</title>"
        yield _bar(base, start, long, wide, "--gold")
        yield _bar(base, start + wide + 2, slim, ROW * SLIM, "--muted")
        if one.files:
            yield text(base + long + 5, start + wide / 2 + 4, percent(one.bytes), QUIET)
        yield f"</g>{text(base + BESIDE + 56, y + ROW / 2 + 4, matrix.reaching[down], PLAIN)}"


def _names(matrix: Matrix) -> Iterator[str]:
    yield text(LEFT - 10, ABOVE + GAP - 8, matrix.row_title, Style(anchor="end"))
    for down, name in enumerate(matrix.rows):
        yield text(LEFT - 10, ABOVE + GAP + ROW * down + ROW / 2 + 4, name, PLAIN)
    foot = ABOVE + GAP + ROW * len(matrix.rows)
    for right, name in enumerate(matrix.columns):
        yield from _stacked(LEFT + COLUMN * right + COLUMN / 2, foot + 16, name, anchor="middle")
    yield text(LEFT - 10, foot + 16, matrix.column_title, Style(anchor="end"))


def _stacked(x: float, y: float, name: str, anchor: str) -> Iterator[str]:
    """A name on two lines: the last word or two go below with what belongs to them (`256 KiB` above `to 1 MiB`)."""
    words = name.split()
    cut = len(words) - (3 if len(words) == 5 else 2)
    for place, line in enumerate((" ".join(words[:cut]), " ".join(words[cut:]))):
        yield text(x, y + 13 * place, line, Style(anchor=anchor, size=11))


def _highest(shares: Sequence[Share]) -> float:
    return max((max(one.bytes, one.files) for one in shares), default=0.0) or 1.0


def percent(share: float) -> str:
    """A share in whole percent, as a picture has room for it."""
    return f"{100 * share:.0f} %" if share >= 0.005 or share == 0 else "<1 %"


def _bar(x: float, y: float, width: float, height: float, colour: str) -> str:
    return f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" fill="var({colour})"/>'


def _line(x1: float, y1: float, x2: float, y2: float) -> str:
    return f'<line x1="{x1}" y1="{y1}" x2="{x2}" y2="{y2}" stroke="var(--axis)"/>'
