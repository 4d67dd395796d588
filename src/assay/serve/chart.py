"""Charts of a few columns as SVG of our own: bars, lines or points; no JavaScript, and every text is escaped."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from enum import StrEnum

from assay.report.charts.figure import INK, PLAIN, Drawn, Style, text
from assay.report.charts.over_time import nice

WIDTH, HEIGHT = 860, 260
LEFT, RIGHT, ABOVE, BELOW = 90, 20, 34, 40
COLOURS = ("--s0", "--s1", "--s2", "--s3", "--s4", "--s5")
MOST_BARS = 60
BAR = 18
"""Pixels down from one bar to the next."""
LABEL = 240
"""Pixels for the labels of bars."""
LETTERS = 34
MOST_POINTS = 4000
TICKS = 4


class ChartKind(StrEnum):
    """The form of a chart."""

    AUTO = "auto"
    BARS = "bars"
    LINES = "lines"
    POINTS = "points"
    NONE = "none"


@dataclass(frozen=True, kw_only=True)
class Chart:
    """What a user wants to see; empty names are chosen by the columns."""

    kind: ChartKind = ChartKind.AUTO
    x: str = ""
    y: str = ""


Rows = Sequence[Sequence[object]]


def plain(value: object) -> str:
    """Return a value as the text of a cell."""
    if value is None:
        return "-"
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def number(value: object) -> float | None:
    """Return a value as a finite number; a time in seconds; None where it is neither."""
    if isinstance(value, datetime):
        return value.timestamp()
    if isinstance(value, date):
        return float(value.toordinal()) * 86400
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if math.isfinite(value) else None


def chart(columns: Sequence[str], rows: Rows, choice: Chart) -> Drawn | None:
    """Draw the rows; None where no column has numbers, or no chart is wanted."""
    numeric = [at for at in range(len(columns)) if any(number(row[at]) is not None for row in rows)]
    if choice.kind is ChartKind.NONE or not numeric:
        return None
    named = {name: at for at, name in reversed(list(enumerate(columns)))}
    words = [at for at in range(len(columns)) if at not in numeric]
    x = named.get(choice.x, words[0] if words and choice.kind in (ChartKind.AUTO, ChartKind.BARS) else numeric[0])
    others = [at for at in numeric if at != x] or numeric[:1]
    y = [named[choice.y]] if choice.y in named else others
    if choice.kind is ChartKind.BARS or (choice.kind is ChartKind.AUTO and (x not in numeric or len(numeric) == 1)):
        return bars([(plain(row[x]), number(row[y[0]])) for row in rows], columns[y[0]])
    points = choice.kind is ChartKind.POINTS
    lines = {
        columns[at]: [(left, up) for row in rows if (left := number(row[x])) is not None and (up := number(row[at])) is not None]
        for at in y[: len(COLOURS)]
    }
    return curves(lines, columns[x], points=points)


def bars(values: Sequence[tuple[str, float | None]], title: str) -> Drawn:
    """A bar a row, from zero."""
    shown = [(name, value) for name, value in values[:MOST_BARS] if value is not None]
    low, high = min([0.0, *(value for _, value in shown)]), max([0.0, *(value for _, value in shown)])
    wide = (WIDTH - LABEL - 90) / ((high - low) or 1)
    left = len(values) - len(shown)
    more = f" ({left} more rows)" if left > 0 else ""
    parts = [text(LABEL, 18, f"{title}{more}", Style(fill="--ink", weight=600, size=13))]
    for at, (name, value) in enumerate(shown):
        y = ABOVE + at * BAR
        x = LABEL + (min(value, 0.0) - low) * wide
        parts.append(f'<rect x="{x:.1f}" y="{y}" width="{max(abs(value) * wide, 0.5):.1f}" height="12" fill="var(--s0)"/>')
        parts.append(text(LABEL - 8, y + 10, name[:LETTERS], PLAIN))
        parts.append(text(x + abs(value) * wide + 6, y + 10, f"{value:,.4g}", Style(size=11)))
    height = ABOVE + max(len(shown), 1) * BAR + 8
    return Drawn(width=WIDTH, height=height, inside="".join(parts), description=f"Bars of {title}, one a row", title=title)


def curves(lines: dict[str, list[tuple[float, float]]], along: str, *, points: bool = False) -> Drawn:
    """A line or a cloud of points for each name; the axis of y begins at zero where no value is below."""
    every = [point for line in lines.values() for point in line[:MOST_POINTS]]
    ends_x = (min((x for x, _ in every), default=0.0), max((x for x, _ in every), default=1.0))
    low, high = min([0.0, *(y for _, y in every)]), max([0.0, *(y for _, y in every)])
    ends_y = (low, nice(high / TICKS) * TICKS if high > 0 == low else high)
    wide = (WIDTH - LEFT - RIGHT) / ((ends_x[1] - ends_x[0]) or 1)
    tall = HEIGHT / ((ends_y[1] - ends_y[0]) or 1)
    parts = [*grid(ends_x, ends_y, along)]
    for place, (name, line) in enumerate(lines.items()):
        colour = f"var({COLOURS[place % len(COLOURS)]})"
        spots = [(LEFT + (x - ends_x[0]) * wide, ABOVE + HEIGHT - (y - ends_y[0]) * tall) for x, y in line[:MOST_POINTS]]
        if points or len(spots) == 1:
            parts += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="2.6" fill="{colour}"/>' for x, y in spots]
        else:
            path = " ".join(f"{x:.1f},{y:.1f}" for x, y in spots)
            parts.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="1.8"/>')
        parts.append(f'<rect x="{LEFT + place * 180}" y="8" width="12" height="12" fill="{colour}"/>')
        parts.append(text(LEFT + place * 180 + 18, 18, name[:24], INK))
    said = f"{'Points' if points else 'Lines'} of {', '.join(lines)} along {along}"
    return Drawn(width=WIDTH, height=ABOVE + HEIGHT + BELOW, inside="".join(parts), description=said, title=said)


def grid(ends_x: tuple[float, float], ends_y: tuple[float, float], along: str) -> Iterator[str]:
    """Yield the lines of the grid with their numbers."""
    for at in range(TICKS + 1):
        y = ABOVE + HEIGHT * (1 - at / TICKS)
        yield f'<line x1="{LEFT}" y1="{y:.1f}" x2="{WIDTH - RIGHT}" y2="{y:.1f}" stroke="var(--grid)"/>'
        yield text(LEFT - 8, y + 4, short(ends_y[0] + (ends_y[1] - ends_y[0]) * at / TICKS), PLAIN)
        x = LEFT + (WIDTH - LEFT - RIGHT) * at / TICKS
        yield text(x, ABOVE + HEIGHT + 18, short(ends_x[0] + (ends_x[1] - ends_x[0]) * at / TICKS), Style(anchor="middle"))
    yield text(LEFT, ABOVE + HEIGHT + 34, along, Style())


def short(value: float) -> str:
    """`1.2 G`: a number of an axis."""
    for name, factor in (("T", 1e12), ("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if abs(value) >= factor:
            return f"{value / factor:.4g} {name}"
    return f"{value:.4g}"
