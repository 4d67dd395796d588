"""A chain of parts as SVG: below each other in the order of the data, each as far filled as the load uses it."""

from __future__ import annotations

import math
from collections.abc import Iterator
from html import escape

from assay.frozen import dataclass
from assay.report.charts.figure import INK, PLAIN, QUIET, Drawn, Style, text

LEFT, WIDE, RIGHT = 190, 470, 110
"""Pixels: names, the bars' field, the figures behind it."""
ROW, BAR = 52, 22
TOP, BELOW = 26, 26


@dataclass(frozen=True, kw_only=True)
class Bar:
    """One part: which share of it the load uses (0.., infinite where nothing of it is left)."""

    name: str
    speed: str
    used: float
    is_first: bool
    label: str


@dataclass(frozen=True, kw_only=True)
class Drawing:
    """The parts with a title and the sentence that says what is seen."""

    title: str
    sentence: str
    bars: tuple[Bar, ...]


def drawn(chain: Drawing) -> Drawn:
    """Draw the chain."""
    return Drawn(
        width=LEFT + WIDE + RIGHT,
        height=TOP + ROW * len(chain.bars) + BELOW,
        inside="".join(_parts(chain)),
        description=chain.sentence,
        title=chain.title,
    )


def _parts(chain: Drawing) -> Iterator[str]:
    most = _most(chain)
    foot = TOP + ROW * len(chain.bars)
    for place, bar in enumerate(chain.bars):
        yield f"<g><title>{escape(bar.label)}</title>{''.join(_bar(bar, TOP + ROW * place, most))}</g>"
        if place:
            y = TOP + ROW * place
            yield f'<line x1="{LEFT - 16}" y1="{y - 32}" x2="{LEFT - 16}" y2="{y + 8}" stroke="var(--axis)"/>'
    for share in _marks(most):
        x = LEFT + WIDE * share / most
        is_full = share == 1
        yield f'<line x1="{x:.1f}" y1="{TOP - 6}" x2="{x:.1f}" y2="{foot}" stroke="var({"--ink" if is_full else "--grid"})"/>'
        yield text(x, foot + 16, f"{100 * share:.0f} %", Style(anchor="middle", fill="--ink" if is_full else "--muted"))
    yield text(LEFT - 26, foot + 16, "used", Style(anchor="end"))


def _bar(bar: Bar, y: int, most: float) -> Iterator[str]:
    shown = most if math.isinf(bar.used) else bar.used
    colour = "--alarm" if bar.used > 1 else "--gold" if bar.is_first else "--s0"
    long = max(WIDE * shown / most, 1.0 if bar.used else 0.0)
    yield text(LEFT - 26, y + 13, bar.name, PLAIN)
    yield text(LEFT - 26, y + 28, bar.speed, Style(anchor="end", size=11))
    yield f'<circle cx="{LEFT - 16}" cy="{y + 14}" r="4" fill="var({colour})"/>'
    yield f'<rect x="{LEFT}" y="{y + 3}" width="{WIDE}" height="{BAR}" fill="var(--grid)" fill-opacity="0.35"/>'
    yield f'<rect x="{LEFT}" y="{y + 3}" width="{long:.1f}" height="{BAR}" fill="var({colour})"/>'
    yield text(LEFT + WIDE + 10, y + 19, bar.label.rsplit(", ", 1)[-1], INK if bar.is_first else QUIET)


def _most(chain: Drawing) -> float:
    """The share at the right end: at least all of a part."""
    finite = [bar.used for bar in chain.bars if math.isfinite(bar.used)]
    return max(1.0, *finite) * 1.05 if finite else 1.05


def _marks(most: float) -> Iterator[float]:
    step = next(one for one in (0.25, 0.5, 1, 2, 5, 10, 20, 50, 100, 10.0 ** math.ceil(math.log10(most))) if most / one <= 6)
    count = int(most / step)
    yield from sorted({*(step * place for place in range(count + 1)), 1.0})
