"""Where the time went: client above server above devices, each part as long as its share, and what the limit was."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence

from assay.answer import marks
from assay.answer.scales import share
from assay.answer.wording import time_spent
from assay.records import Experiment, Results, TimePart, TimeSpent
from assay.report.charts.figure import BOLD, INK, ChartFigure, Drawn, Style, Table, text

WIDE, LEFT = 560, 2
"""Pixels of the whole time, and on both sides of it."""
LINE, ROW, BAR, GAP = 17, 19, 11, 22
NAMES = 330
"""Pixels of the column of names."""
LETTERS = 84
"""Letters of a line above the bars."""
MOST = 5
"""So many parts of a group are drawn; the table has all."""
LEDE = (
    "Looks at the threads of the load and of its server at random moments, and the time in which devices had requests."
    " Shares of each group add up to 100 %; means over the runs that count, with half of their 95 % interval."
    " The limit is what had more than half of the time; it is SOUND where every run surely says so."
)
RIGHT = Style(anchor="end", fill="--ink")
COLOURS = {"load": "--gold", "server": "--s0", "devices": "--muted"}


def figures(results: Results) -> tuple[ChartFigure, ...]:
    """One figure for each phase, with all combinations of levels."""
    found: dict[str, list[TimeSpent]] = {}
    for one in results.times:
        found.setdefault(one.phase, []).append(one)
    return tuple(_figure(results.experiment, phase, here) for phase, here in found.items())


def _figure(experiment: Experiment, phase: str, here: Sequence[TimeSpent]) -> ChartFigure:
    blocks = [(one, _head(experiment, one), tuple(_rows(one))) for one in here]
    return ChartFigure(
        name=f"time-{phase}",
        title=phase,
        alone=LEDE,
        caption="",
        panels=(),
        drawn=Drawn(
            width=WIDE + 2 * LEFT,
            height=sum(LINE * len(head) + ROW * len(rows) + GAP for _, head, rows in blocks),
            inside="".join(_drawn(blocks)),
            description=" ".join(" ".join(head) for _, head, _ in blocks),
        ),
        table=Table(
            head=("levels", "of", "part", "share", "95 % interval", "threads"),
            rows=tuple(row for one in here for row in _table(experiment, one)),
        ),
        wide=True,
    )


def _head(experiment: Experiment, one: TimeSpent) -> tuple[str, ...]:
    """Levels and limit, in lines."""
    where = marks.levels(experiment, one.levels)
    words = f"limit: {time_spent.of_runs(one)} [{one.state.value}]"
    return (*([where] if where else ()), *textwrap.wrap(words, LETTERS))


def _rows(one: TimeSpent) -> Iterator[tuple[str, str, str, float]]:
    """Yield group, name, share in words and share of what is drawn."""
    for group, parts in (("load", one.load), ("server", one.server)):
        for part in parts[:MOST]:
            if part.share >= time_spent.LEAST_SHARE:
                yield group, time_spent.what(part), time_spent.amount(part), part.share
    for device, busy in sorted(one.devices.items(), key=lambda item: -item[1])[:MOST]:
        yield "devices", f"{device} busy", share(busy), busy


def _drawn(blocks: Sequence[tuple[TimeSpent, tuple[str, ...], tuple[tuple[str, str, str, float], ...]]]) -> Iterator[str]:
    y = 0
    for _, head, rows in blocks:
        for place, line in enumerate(head):
            yield text(LEFT, y + 13, line, BOLD if place == 0 else INK)
            y += LINE
        for group, name, words, part in rows:
            yield text(LEFT, y + 13, f"{group}: {name}" if group == "server" else name, Style(fill="--ink", size=11))
            yield text(LEFT + NAMES + 68, y + 13, words, RIGHT)
            left, full = LEFT + NAMES + 76, WIDE - NAMES - 76
            yield f'<rect x="{left}" y="{y + 4}" width="{full}" height="{BAR}" fill="var(--grid)" fill-opacity="0.5"/>'
            long = max(1.0, full * min(part, 1.0))
            yield f'<rect x="{left}" y="{y + 4}" width="{long:.1f}" height="{BAR}" fill="var({COLOURS[group]})"/>'
            y += ROW
        y += GAP


def _table(experiment: Experiment, one: TimeSpent) -> Iterator[tuple[str, ...]]:
    where = marks.levels(experiment, one.levels) or "all the same"
    yield where, "limit", f"{time_spent.of_runs(one)} [{one.state.value}]", "", "", ""
    groups: tuple[tuple[str, tuple[TimePart, ...]], ...] = (("load", one.load), ("server", one.server))
    for group, parts in groups:
        for part in parts:
            low, high = max(0.0, part.share - part.error), min(1.0, part.share + part.error)
            yield where, group, time_spent.what(part), share(part.share), f"{share(low)} to {share(high)}", f"{part.threads:.2g}"
    for device, busy in one.devices.items():
        yield where, "devices", f"{device} busy", share(busy), "", ""
