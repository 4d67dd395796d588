"""What a statistical picture is made of: panels that share their scales, a description, a table of the same numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from assay.report.charts.theme import Spec


@dataclass(frozen=True, kw_only=True)
class Table:
    """The numbers of a figure for those who read instead of look, or have no JavaScript."""

    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, kw_only=True)
class Panel:
    """One chart: a Vega-Lite specification without config, as wide as its place, `height` pixels high."""

    heading: str
    spec: Spec
    height: int
    description: str


@dataclass(frozen=True, kw_only=True)
class Figure:
    """One or more panels in a grid with a caption and a table; `stacked` panels share the axis of x and stand in a column."""

    name: str
    title: str
    caption: str
    panels: tuple[Panel, ...]
    table: Table
    stacked: bool = False
    wide: bool = False
    """Whether it takes the whole width of the page."""


def end_labels(ends: Sequence[tuple[str, float]], low: float, high: float, apart: float) -> dict[str, float]:
    """Where labels at the ends of lines stand: at their line's value, moved apart to `apart` shares of the axis.

    Returns label -> position in the axis' own unit (linear). Labels keep the order of their lines.
    """
    step = (high - low) * apart
    placed: dict[str, float] = {}
    floor = -float("inf")
    for name, value in sorted(ends, key=lambda end: end[1]):
        floor = max(value, floor + step)
        placed[name] = floor
    over = max(0.0, floor - high)
    return {name: value - over for name, value in placed.items()} if over else placed
