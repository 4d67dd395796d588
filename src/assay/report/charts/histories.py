"""Histories as SVG: a panel for each figure with its values, their intervals and the levels between steps."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence

from assay.frozen import dataclass
from assay.report.charts.figure import INK, PLAIN, Drawn, Style, text

WIDTH, HEIGHT = 860, 120
LEFT, RIGHT, ABOVE, BELOW = 90, 20, 30, 34
PANEL = ABOVE + HEIGHT + BELOW
ROOM = 0.08
"""Air above and below the values, as a share of their range."""
LEAST_RANGE = 0.1
"""A panel spans at least so large a share of its middle: noise of one per cent shall look like it."""
MOST_NAMES = 8
"""So many executions are named below the panels."""
LETTERS = 14
"""Of a name."""


@dataclass(frozen=True, kw_only=True)
class HistoryMark:
    """One value with its interval."""

    name: str
    value: float | None
    low: float | None
    high: float | None
    is_unexpected: bool = False


@dataclass(frozen=True, kw_only=True)
class HistoryPanel:
    """One panel: marks in their order, and levels as (first mark, mark behind the last, value)."""

    title: str
    marks: tuple[HistoryMark, ...]
    levels: tuple[tuple[int, int, float], ...]
    shown: Callable[[float], str]
    """A value with its unit."""


def drawn(title: str, sentence: str, courses: Sequence[HistoryPanel]) -> Drawn:
    """Draw the panels, one below the other."""
    inside = "".join(
        f'<g transform="translate(0 {place * PANEL})">{"".join(_panel(course))}</g>' for place, course in enumerate(courses)
    )
    return Drawn(width=WIDTH, height=PANEL * max(len(courses), 1), inside=inside, description=sentence, title=title)


def _panel(course: HistoryPanel) -> Iterator[str]:
    low, high = _range(course)

    def height(value: float) -> float:
        return ABOVE + HEIGHT * (1 - (value - low) / (high - low))

    yield text(LEFT, 18, course.title, Style(fill="--ink", weight=600, size=13))
    for at in range(3):
        value = low + (high - low) * at / 2
        y = height(value)
        yield f'<line x1="{LEFT}" y1="{y:.1f}" x2="{WIDTH - RIGHT}" y2="{y:.1f}" stroke="var(--grid)"/>'
        yield text(LEFT - 8, y + 4, course.shown(value), PLAIN)
    for first, end, value in course.levels:
        edges = (_x(course, first - 0.4), _x(course, end - 0.6))
        y = height(value)
        yield f'<line x1="{edges[0]:.1f}" y1="{y:.1f}" x2="{edges[1]:.1f}" y2="{y:.1f}" stroke="var(--s1)" stroke-width="2"/>'
    for at, mark in enumerate(course.marks):
        yield from _mark(course, at, mark, height)
    every = max(1, math.ceil(len(course.marks) / MOST_NAMES))
    for at in range(len(course.marks) - 1, -1, -every):
        yield text(_x(course, at), ABOVE + HEIGHT + 18, course.marks[at].name[:LETTERS], Style(anchor="middle"))


def _mark(course: HistoryPanel, at: int, mark: HistoryMark, height: Callable[[float], float]) -> Iterator[str]:
    if mark.value is None:
        yield text(_x(course, at), ABOVE + HEIGHT - 4, "×", INK)
        return
    x, colour = _x(course, at), "var(--alarm)" if mark.is_unexpected else "var(--s0)"
    if mark.low is not None and mark.high is not None:
        ends = f'y1="{height(mark.low):.1f}" y2="{height(mark.high):.1f}"'
        yield f'<line x1="{x:.1f}" x2="{x:.1f}" {ends} stroke="{colour}" stroke-opacity="0.5"/>'
    yield f'<circle cx="{x:.1f}" cy="{height(mark.value):.1f}" r="3.2" fill="{colour}"/>'


def _x(course: HistoryPanel, at: float) -> float:
    wide = (WIDTH - LEFT - RIGHT) / max(len(course.marks), 1)
    return LEFT + wide * (at + 0.5)


def _range(course: HistoryPanel) -> tuple[float, float]:
    """The lowest and the highest that the panel shows; intervals beyond three times the range of the values are cut."""
    values = [mark.value for mark in course.marks if mark.value is not None] or [1.0]
    low, high = min(values), max(values)
    reach = high - low
    ends = [edge for mark in course.marks if mark.value is not None for edge in (mark.low, mark.high) if edge is not None]
    low = max([low - reach, min([low, *ends])]) if ends else low
    high = min([high + reach, max([high, *ends])]) if ends else high
    short = max(0.0, LEAST_RANGE * (low + high) / 2 - (high - low)) / 2
    air = ROOM * (high - low + 2 * short)
    return low - short - air, high + short + air
