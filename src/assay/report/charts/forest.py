"""Every comparison as a row of one picture: its ratio, its interval, the band in which differences do not matter."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape

from assay.answer import marks
from assay.records import Conclusion, Experiment, Results
from assay.report import forest
from assay.report.charts.figure import Drawn, Figure, Table
from assay.report.charts.matrix import PLAIN, QUIET, Style, text
from assay.report.forest import Axis, Ratio, Ratios

NAMES, TRACK, FIGURES, SAID = 200, 330, 150, 230
"""Pixels: conditions, the field of the intervals, ratio with interval, conclusion with verdict."""
ROW, HEAD, TOP = 24, 30, 22
GAP = 14
NAME = "comparisons"
BOLD = Style(fill="--ink", weight=600)


def figure(results: Results) -> Figure | None:
    """The picture with its table; None where nothing was compared."""
    axis, groups = forest.axis(results), forest.ratios(results)
    if axis is None or not groups:
        return None
    rows = [row for group in groups for row in group.rows]
    said = "; ".join(f"{row.condition}: {row.text} ({row.interval}), {row.comparison.conclusion.value}" for row in rows)
    return Figure(
        name=NAME,
        title="Every comparison",
        caption=forest.caption(groups, results.experiment.matters_share),
        panels=(),
        drawn=Drawn(
            width=NAMES + TRACK + FIGURES + SAID + 3 * GAP,
            height=TOP + HEAD * len(groups) + ROW * len(rows) + 10,
            inside="".join(_parts(axis, groups)),
            description=said,
        ),
        table=_table(results.experiment, groups),
        wide=True,
    )


def _parts(axis: Axis, groups: Sequence[Ratios]) -> Iterator[str]:
    for at, label in axis.ticks:
        yield text(_x(at), 14, label, Style(anchor="middle", size=11))
    y = TOP
    for group in groups:
        yield text(0, y + 20, group.title, BOLD) + text(_x(100) + GAP, y + 20, group.better, Style(size=11))
        y += HEAD
        left, right = _x(axis.matter_left), _x(axis.matter_right)
        high = ROW * len(group.rows)
        yield f'<rect x="{left:.1f}" y="{y}" width="{right - left:.1f}" height="{high}" fill="var(--grid)" fill-opacity="0.6"/>'
        yield f'<line x1="{_x(axis.one):.1f}" x2="{_x(axis.one):.1f}" y1="{y}" y2="{y + high}" stroke="var(--axis)"/>'
        for row in group.rows:
            yield f"<g><title>{escape(row.why)}</title>{''.join(_row(row, y + ROW / 2))}</g>"
            y += ROW


def _row(row: Ratio, y: float) -> Iterator[str]:
    matters = row.comparison.conclusion is Conclusion.MATTERS
    colour = "var(--ink)" if matters else "var(--muted)"
    inner = colour if matters else "var(--paper)"
    left, right = _x(row.left), _x(row.right)
    yield text(NAMES - 6, y + 4, row.condition, PLAIN)
    if right > left or not row.outside:
        yield f'<rect x="{left:.1f}" y="{y - 1.5}" width="{max(2.0, right - left):.1f}" height="3" rx="1.5" fill="{colour}"/>'
    if not row.outside:
        yield f'<circle cx="{_x(row.at):.1f}" cy="{y}" r="4.5" fill="{inner}" stroke="{colour}" stroke-width="2"/>'
    yield from _arrows(row, y, colour)
    yield text(_x(100) + GAP, y + 4, row.text, BOLD) + text(_x(100) + GAP + 48, y + 4, row.interval, QUIET)
    yield text(
        _x(100) + 2 * GAP + FIGURES, y + 4, f"{row.comparison.conclusion.value} · {row.state.value}", BOLD if matters else QUIET
    )


def _arrows(row: Ratio, y: float, colour: str) -> Iterator[str]:
    """Heads of arrows at the ends of the axis, for what goes on beyond them."""
    for shown, at, back in ((row.before, 0, 8), (row.after, 100, -8)):
        if shown:
            yield f'<path d="M{_x(at):.1f} {y}l{back} -5v10z" fill="{colour}"/>'


def _x(percent: float) -> float:
    """Pixels of a place on the axis."""
    return NAMES + GAP + TRACK * percent / 100


def _table(experiment: Experiment, groups: Sequence[Ratios]) -> Table:
    rows = (
        (
            group.title,
            ", ".join(
                filter(
                    None, (marks.levels(experiment, {row.comparison.factor: row.comparison.candidate}), _where(experiment, row))
                )
            ),
            row.text,
            row.interval,
            row.comparison.conclusion.value,
            row.state.value,
            row.why,
        )
        for group in groups
        for row in group.rows
    )
    return Table(head=("measure", "compared", "ratio", "interval", "conclusion", "verdict", "why"), rows=tuple(rows))


def _where(experiment: Experiment, row: Ratio) -> str:
    """Against which level, under which conditions."""
    conditions = f" at {marks.levels(experiment, row.comparison.within)}" if row.comparison.within else ""
    return f"against {marks.level(experiment, row.comparison.factor, row.comparison.baseline)}{conditions}"
