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
    by_tens: bool = False
    """Whether values that are far apart are drawn by powers of ten."""


def drawn(chart: OverTime) -> Drawn:
    """Draw the lines."""
    return Drawn(
        width=WIDTH,
        height=ABOVE + HEIGHT + BELOW,
        inside="".join(_parts(chart)),
        description=chart.sentence,
        title=chart.title,
    )


@dataclass(frozen=True, kw_only=True)
class ValueScale:
    """Where values are drawn: from the lowest to the highest mark, or by the powers of ten between them."""

    marks: tuple[float, ...]
    by_tens: bool

    def height(self, value: float) -> float:
        """Return the place of a value, from above."""
        low, high = self.marks[0], self.marks[-1]
        share = math.log(max(value, low) / low) / math.log(high / low) if self.by_tens else value / high
        return ABOVE + HEIGHT * (1 - share)


FAR_APART = 30
"""Values that differ by more are drawn by powers of ten, where the chart allows it."""


def scale_of(chart: OverTime) -> ValueScale:
    """Return the scale for all values of a chart."""
    found = [value for line in chart.lines for value in line.values if value is not None]
    top = max([*found, chart.limit[1] if chart.limit else 0.0]) or 1.0
    least = min((value for value in found if value > 0), default=top)
    if chart.by_tens and top > FAR_APART * least:
        powers = range(math.floor(math.log10(least)), math.ceil(math.log10(top) - 1e-9) + 1)
        return ValueScale(marks=tuple(10.0**power for power in powers), by_tens=True)
    step = nice(top / TICKS)
    return ValueScale(marks=tuple(at * step for at in range(math.ceil(top / step - 1e-9) + 1)), by_tens=False)


def _parts(chart: OverTime) -> Iterator[str]:
    scale = scale_of(chart)
    yield text(LEFT, 18, chart.title, Style(fill="--ink", weight=600, size=13))
    yield from _key(chart)
    for mark in scale.marks:
        y = scale.height(mark)
        yield f'<line x1="{LEFT}" y1="{y:.1f}" x2="{WIDTH - RIGHT}" y2="{y:.1f}" stroke="var(--grid)"/>'
        yield text(LEFT - 8, y + 4, chart.shown(mark), PLAIN)
    yield from _times(chart)
    for place, line in enumerate(chart.lines):
        yield f"<g><title>{escape(line.name)}</title>{_path(line, scale, place)}</g>"
    if chart.limit:
        y = scale.height(chart.limit[1])
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


def _path(line: TimeLine, scale: ValueScale, place: int) -> str:
    wide = (WIDTH - LEFT - RIGHT) / (len(line.values) or 1)
    steps: list[str] = []
    pen = False
    for at, value in enumerate(line.values):
        if value is None:
            pen = False
            continue
        x, y = LEFT + wide * at, scale.height(value)
        steps.append(f"{'L' if pen else 'M'}{x:.1f} {y:.1f}H{x + wide:.1f}")
        pen = True
    return f'<path d="{"".join(steps)}" fill="none" stroke-width="1.6" {_stroke(place)}/>'


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
