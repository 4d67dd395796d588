"""Ladders of bytes as one drawing for documents, and their steps as a table; the page sets its own from the same sketch."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from html import escape

from assay.answer.wording.labels import label
from assay.report.charts.figure import BOLD, INK, ChartFigure, Drawn, Style, Table, text
from assay.report.ladder import BAR, WIDE, Ladder, Ladders, PlacedRung, Sketch

ACROSS = 400
"""Pixels of one ladder."""
BETWEEN, LEFT = 48, 0
HEAD, FOOT, LINE = 30, 26, 15
LETTERS = 68
"""Letters of a line below a ladder."""
COLUMNS = 2
NAME = "bytes"
RIGHT = Style(anchor="end", fill="--ink")
REMARK = Style(anchor="end", fill="--gold-deep", size=11)
SHORE = Style(fill="--ink", size=9)


def figure(shown: Ladders | None) -> ChartFigure | None:
    """All ladders in two columns with their table; None where nothing was moved."""
    if shown is None:
        return None
    sketches = [one for group in (*shown.groups, *shown.folded) for one in group.sketches]
    rows = [sketches[at : at + COLUMNS] for at in range(0, len(sketches), COLUMNS)]
    return ChartFigure(
        name=NAME,
        title="Ladder of bytes",
        caption="100 % is the count of the application; bytes missing below were answered, or are still held, above."
        " Pale with a dashed edge: came after the clock had stopped.",
        panels=(),
        drawn=Drawn(
            width=2 * LEFT + ACROSS * COLUMNS + BETWEEN,
            height=sum(_high(row) for row in rows),
            inside="".join(_rows(rows)),
            description=". ".join(f"{one.ladder.phase} {one.ladder.levels}: {one.ladder.sentence}" for one in sketches),
        ),
        table=Table(
            head=("phase", "way", "run", "levels", "layer", "amount", "share", "after the clock"),
            rows=tuple(row for one in sketches for row in _steps(one.ladder)),
        ),
        wide=True,
    )


def _steps(one: Ladder) -> Iterator[tuple[str, ...]]:
    for step in one.steps:
        layer = f"{step.name} {step.detail}".rstrip()
        yield (
            one.phase,
            one.direction,
            one.run,
            one.levels or "all the same",
            layer,
            step.amount,
            step.part,
            step.late_text.removeprefix("+ ").removesuffix(" later"),
        )


def _high(row: Sequence[Sketch]) -> int:
    return HEAD + max(one.height + LINE * len(_foot(one.ladder)) for one in row) + FOOT


def _rows(rows: Sequence[Sequence[Sketch]]) -> Iterator[str]:
    y = 0
    for row in rows:
        for place, one in enumerate(row):
            inside = "".join(_ladder(one))
            yield f'<g transform="translate({LEFT + place * (ACROSS + BETWEEN)} {y})">{inside}</g>'
        y += _high(row)


def _ladder(one: Sketch) -> Iterator[str]:
    named = " · ".join(part for part in (one.ladder.phase, one.ladder.levels, f"run {one.ladder.run}") if part)
    yield text(0, 16, named, BOLD)
    yield f'<g transform="translate(0 {HEAD})"><title>{escape(one.ladder.sentence)}</title>'
    yield _box("ghost", (0, one.first, one.whole, one.height - one.first - 2))
    for points in one.streams:
        pairs = (point.split(",") for point in points.split())
        corners = " ".join(f"{_px(float(x)):.1f},{y}" for x, y in pairs)
        yield f'<polygon points="{corners}" fill="var(--gold)" fill-opacity="0.25"/>'
    for placed in one.placed:
        yield from _rung(placed)
    yield "</g>"
    for place, line in enumerate(_foot(one.ladder)):
        yield text(0, HEAD + one.height + 16 + LINE * place, line, Style(size=11))


def _rung(one: PlacedRung) -> Iterator[str]:
    if one.late:
        yield _box("late", (one.width, one.bar, one.late, BAR))
    yield _box("bar" if one.known else "unknown", (0, one.bar, one.width, BAR))
    if one.shore is not None:
        yield f'<line x1="0" x2="{ACROSS}" y1="{one.shore + 13}" y2="{one.shore + 13}" stroke="var(--ink)" stroke-width="1.5"/>'
        yield text(4, one.shore + 10, "↑ MEMORY", SHORE)
        yield text(ACROSS - 4, one.shore + 22, "STORAGE ↓", Style(anchor="end", fill="--ink", size=9))
    if one.step.remark:
        yield text(ACROSS - 4, one.remark + 14, one.step.remark, REMARK)
    late = f" {one.step.late_text}" if one.step.late_text else ""
    yield text(4, one.text + 18, f"{one.step.name} {one.step.detail}".rstrip(), INK)
    yield text(ACROSS - 4, one.text + 18, f"{one.step.amount}{late}  {one.step.part}", RIGHT)


LOOKS = {
    "ghost": 'fill="var(--grid)" fill-opacity="0.35"',
    "bar": 'fill="var(--gold)"',
    "late": 'fill="var(--gold)" fill-opacity="0.35" stroke="var(--gold)" stroke-dasharray="3 2"',
    "unknown": 'fill="none" stroke="var(--gold)" stroke-dasharray="2 3"',
}


def _box(look: str, place: tuple[float, float, float, float]) -> str:
    x, y, width, height = place
    return f'<rect x="{_px(x):.1f}" y="{y}" width="{_px(width):.1f}" height="{height}" {LOOKS[look]}/>'


def _px(units: float) -> float:
    """Pixels of the units of a sketch."""
    return units * ACROSS / WIDE


def _foot(one: Ladder) -> list[str]:
    """Give the text below a ladder, in lines."""
    verdict = f"{one.verdict.state.value}: {label(one.verdict)}" if one.verdict else ""
    return [line for part in (verdict, *one.foot) for line in textwrap.wrap(part, LETTERS)]
