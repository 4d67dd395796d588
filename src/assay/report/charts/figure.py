"""What a picture is made of: panels that share their scales or a drawing of our own, a description, a table of its numbers."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from html import escape

from assay.frozen import dataclass
from assay.report.charts import theme
from assay.report.charts.theme import Spec

LINE = 6.6
"""Pixels of a character of a caption, on average."""
MARGIN = 14
"""Pixels of paper on both sides of a document."""
BRIEF_S = 1.0
"""Phases under a second have few samples: their pictures are folded."""
TITLE, STEP = 26, 17
"""Pixels down to the title of a document, and from one line of its caption to the next."""


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
class Style:
    """How a text is set; `fill` is a CSS variable or a colour."""

    anchor: str = "start"
    fill: str = "--muted"
    size: int = 12
    weight: int = 400


QUIET = Style()
INK = Style(fill="--ink")
BOLD = Style(fill="--ink", weight=600)
PLAIN = Style(anchor="end", fill="--ink")


def text(x: float, y: float, words: str, style: Style) -> str:
    """A text of SVG."""
    colour = f"var({style.fill})" if style.fill.startswith("--") else style.fill
    how = f'text-anchor="{style.anchor}" font-size="{style.size}" font-weight="{style.weight}" fill="{colour}"'
    return f'<text x="{x:.1f}" y="{y:.1f}" {how}>{escape(words)}</text>'


@dataclass(frozen=True, kw_only=True)
class Drawn:
    """A drawing of our own: what stands inside an SVG element of this size (pixels), its colours CSS variables."""

    width: int
    height: int
    inside: str
    description: str
    title: str = ""
    """Of a drawing with a page of its own."""

    @property
    def element(self) -> str:
        """The element for a page, which gives the variables their colours."""
        frame = f'viewBox="0 0 {self.width} {self.height}" width="{self.width}"'
        return f'<svg {frame} role="img" aria-label="{escape(self.description)}">{self.inside}</svg>'


@dataclass(frozen=True, kw_only=True)
class ChartFigure:
    """One or more panels in a grid, or a drawing, with a caption and a table.

    `stacked` panels share the axis of x and stand in a column.
    """

    name: str
    title: str
    caption: str
    panels: tuple[Panel, ...]
    table: Table
    drawn: Drawn | None = None
    stacked: bool = False
    alone: str = ""
    """What a file of it says besides, where the page says it once for all figures of this kind."""
    wide: bool = False
    """Whether it takes the whole width of the page."""
    lone: bool = False
    """Whether it shows a single figure with its runs: nothing is compared in it."""
    seconds: float | None = None
    """How long the phase was that it shows; None where it shows no single phase."""

    @property
    def brief(self) -> bool:
        """Whether its phase was too short for a course: the page folds it."""
        return self.seconds is not None and self.seconds < BRIEF_S

    @property
    def seen(self) -> bool:
        """Whether there is a picture, and not only a table."""
        return bool(self.panels) or self.drawn is not None


def document(title: str, caption: str, drawn: Drawn) -> str:
    """An SVG document of its own on light paper: title, caption, drawing."""
    lines = textwrap.wrap(caption, int((drawn.width - MARGIN) / LINE))
    top = TITLE + STEP * len(lines) + 22
    subtitle = "".join(f'<text x="{MARGIN}" y="{TITLE + 22 + STEP * at}">{escape(line)}</text>' for at, line in enumerate(lines))
    width = drawn.width + 2 * MARGIN
    size = f'width="{width}" height="{drawn.height + top}" viewBox="0 0 {width} {drawn.height + top}"'
    return theme.without_variables(
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="{theme.CONFIG["font"]}">'
        f'<rect width="100%" height="100%" fill="var(--paper)"/>'
        f'<text x="{MARGIN}" y="{TITLE}" font-size="17" font-weight="600" fill="var(--ink)">{escape(title)}</text>'
        f'<g font-size="13" fill="var(--muted)">{subtitle}</g><g transform="translate({MARGIN} {top})">{drawn.inside}</g></svg>\n'
    )


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
