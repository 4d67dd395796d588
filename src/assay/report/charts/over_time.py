"""Figures over time as SVG: one line a series, steps of equal intervals, its own scale."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from html import escape

from assay.frozen import dataclass
from assay.report.charts.figure import INK, PLAIN, Drawn, Style, text
from assay.report.charts.theme import SERIES

WIDTH, HEIGHT = 860, 220
LEFT, RIGHT, ABOVE, BELOW = 90, 20, 40, 40
TICKS = 4
"""Lines of the scale, about."""
BESIDE, BELOW_TITLE = 18, 34
"""Where the names of the lines are: beside the title, or below it where they would run into it."""
TITLE_LETTER = 9
"""Pixels of a letter of the title, at most."""


@dataclass(frozen=True, kw_only=True)
class TimeLine:
    """A figure of each interval; None where there is none."""

    name: str
    values: tuple[float | None, ...]


@dataclass(frozen=True, kw_only=True)
class OverTime:
    """Lines over one time."""

    title: str
    sentence: str
    """What it shows, for the reader who does not see it."""
    interval_s: float
    lines: tuple[TimeLine, ...]
    shown: Callable[[float], str]
    """A value with its unit."""
    limit: tuple[str, float] | None = None
    """Name and height of a line that the others are to be held against."""


def drawn(chart: OverTime) -> Drawn:
    """Draw the lines."""
    return Drawn(
        width=WIDTH,
        height=ABOVE + HEIGHT + BELOW,
        inside="".join(_parts(chart)),
        description=chart.sentence,
        title=chart.title,
    )


def _parts(chart: OverTime) -> Iterator[str]:
    found = [value for line in chart.lines for value in line.values if value is not None]
    top = max([*found, chart.limit[1] if chart.limit else 0.0]) or 1.0
    step = nice(top / TICKS)
    top = math.ceil(top / step) * step
    yield text(LEFT, 18, chart.title, Style(fill="--ink", weight=600, size=13))
    yield from _key(chart)
    for at in range(round(top / step) + 1):
        y = _height(at * step, top)
        yield f'<line x1="{LEFT}" y1="{y:.1f}" x2="{WIDTH - RIGHT}" y2="{y:.1f}" stroke="var(--grid)"/>'
        yield text(LEFT - 8, y + 4, chart.shown(at * step), PLAIN)
    yield from _times(chart)
    for place, line in enumerate(chart.lines):
        yield f"<g><title>{escape(line.name)}</title>{_path(line, top, place)}</g>"
    if chart.limit:
        y = _height(chart.limit[1], top)
        yield f'<line x1="{LEFT}" y1="{y:.1f}" x2="{WIDTH - RIGHT}" y2="{y:.1f}" stroke="var(--alarm)" stroke-dasharray="6 4"/>'
        yield text(WIDTH - RIGHT, y - 5, chart.limit[0], Style(anchor="end", fill="--alarm"))


def _key(chart: OverTime) -> Iterator[str]:
    x = WIDTH - RIGHT - sum(_key_width(line) for line in chart.lines)
    y = BESIDE if x > LEFT + TITLE_LETTER * len(chart.title) else BELOW_TITLE
    for place, line in enumerate(chart.lines):
        yield f'<line x1="{x}" y1="{y - 5}" x2="{x + 14}" y2="{y - 5}" stroke-width="4" {_stroke(place)}/>'
        yield text(x + 18, y, line.name, INK)
        x += _key_width(line)


def _key_width(line: TimeLine) -> int:
    return 30 + 7 * len(line.name)


def _stroke(place: int) -> str:
    """Return a colour; lines beyond the colours are dashed."""
    dashes = ' stroke-dasharray="4 3"' if place >= SERIES else ""
    return f'stroke="var(--s{place % SERIES})"{dashes}'


def _times(chart: OverTime) -> Iterator[str]:
    whole_s = chart.interval_s * _count(chart)
    step_s = nice(whole_s / 6)
    base = ABOVE + HEIGHT
    for at in range(math.floor(whole_s / step_s + 1e-9) + 1):
        x = LEFT + (WIDTH - LEFT - RIGHT) * at * step_s / whole_s
        yield f'<line x1="{x:.1f}" y1="{base}" x2="{x:.1f}" y2="{base + 5}" stroke="var(--axis)"/>'
        yield text(x, base + 20, f"{at * step_s:g} s", Style(anchor="middle"))


def _count(chart: OverTime) -> int:
    return max((len(line.values) for line in chart.lines), default=0) or 1


def _path(line: TimeLine, top: float, place: int) -> str:
    wide = (WIDTH - LEFT - RIGHT) / (len(line.values) or 1)
    steps: list[str] = []
    pen = False
    for at, value in enumerate(line.values):
        if value is None:
            pen = False
            continue
        x, y = LEFT + wide * at, _height(value, top)
        steps.append(f"{'L' if pen else 'M'}{x:.1f} {y:.1f}H{x + wide:.1f}")
        pen = True
    return f'<path d="{"".join(steps)}" fill="none" stroke-width="1.6" {_stroke(place)}/>'


def _height(value: float, top: float) -> float:
    return ABOVE + HEIGHT * (1 - value / top)


def nice(value: float) -> float:
    """Return the next of 1, 2, 5, 10, ... that is not smaller."""
    power = 10.0 ** math.floor(math.log10(value))
    return next(step * power for step in (1, 2, 5, 10) if step * power >= value * (1 - 1e-9))


def table_rows(chart: OverTime, most: int) -> tuple[tuple[str, ...], ...]:
    """Return the numbers, at most so many rows: the start of each interval and its values; a mark where there is none."""
    step = max(1, -(-_count(chart) // most))
    rows: Sequence[int] = range(0, _count(chart), step)
    return tuple((f"{at * chart.interval_s:g} s", *(_cell(chart, line, at) for line in chart.lines)) for at in rows)


def _cell(chart: OverTime, line: TimeLine, at: int) -> str:
    value = line.values[at]
    return "-" if value is None else chart.shown(value)
