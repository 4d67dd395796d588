"""Chains of limits: below each other in the order of the data, each part as far filled as the load used it."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import replace

from assay import measures
from assay.analysis.bottlenecks import NEAR, Chain, ChainLink, Part, chains
from assay.answer import marks
from assay.answer.scales import share
from assay.records import Direction, Experiment, Judged, Observations
from assay.report.charts.figure import BOLD, INK, ChartFigure, Drawn, Style, Table, text
from assay.units import Unit

NOUNS = {
    (Direction.READ, Unit.BYTES_PER_S): " read",
    (Direction.READ, Unit.PER_S): " reads",
    (Direction.WRITE, Unit.BYTES_PER_S): " written",
    (Direction.WRITE, Unit.PER_S): " writes",
}


def name(link: ChainLink) -> str:
    """`CPUs`, `CPUs of filer`, `loop0`."""
    if link.part is Part.CPU:
        return f"CPUs of {link.name}" if link.name else "CPUs"
    return link.name


def use(link: ChainLink) -> str:
    """`user and system time`, `busiest of 30 load hosts`, `of the declared 50 MB/s written`."""
    if link.among > 1:
        return f"busiest of {link.among} load hosts"
    if link.part is not Part.DECLARED or link.limit is None:
        return link.part.value
    noun = NOUNS.get((link.direction, link.unit), "") if link.direction else ""
    return f"of the declared {measures.with_unit(link.limit, link.unit)}{noun}"


def sentence(experiment: Experiment, chain: Chain) -> str:
    """Which part was nearest to its limit."""
    where = ", ".join(part for part in (chain.phase, marks.levels(experiment, chain.levels), f"run {chain.run}") if part)
    most = f"{name(chain.nearest)}, {share(chain.nearest.used)}"
    if chain.nearest.used < NEAR:
        return f"{where}: no part was near its limit; highest: {most}."
    return f"{where}: nearest to its limit: {most} ({use(chain.nearest)})."


WIDE, LEFT = 360, 2
"""Pixels of a bar that is wholly used, and on both sides of it."""
OVER = 1.0
"""Above it a bar is red and full; the figure beside it says how far."""
ROW, BAR, LINE, GAP = 40, 11, 18, 20
LETTERS = 52
"""Letters of a line above a chain."""
RIGHT = Style(anchor="end", fill="--ink", weight=600)


def figures(experiment: Experiment, observed: Sequence[tuple[Judged, Observations]]) -> tuple[ChartFigure, ...]:
    """One figure for each phase, with a chain for each run."""
    found: dict[str, list[Chain]] = {}
    for chain in chains(observed):
        found.setdefault(chain.phase, []).append(chain)
    phases = [phase for judged, _ in observed for phase in judged.run.phases]
    seconds = {name: max(one.lasted_ns / 1e9 for one in phases if one.name == name) for name in found}
    return tuple(replace(_figure(experiment, phase, here), seconds=seconds[phase]) for phase, here in found.items())


def _figure(experiment: Experiment, phase: str, here: Sequence[Chain]) -> ChartFigure:
    return ChartFigure(
        name=f"limits-{phase}",
        title=phase,
        alone="How far the load used each part that its data passed.",
        caption=_caption(experiment, here),
        panels=(),
        drawn=Drawn(
            width=WIDE + 2 * LEFT,
            height=sum(LINE * len(_head(experiment, chain)) + ROW * len(chain.links) + GAP for chain in here),
            inside="".join(_chains(experiment, here)),
            description=" ".join(sentence(experiment, chain) for chain in here),
        ),
        table=Table(
            head=("run", "levels", "part", "what", "used"),
            rows=tuple(
                (chain.run, marks.levels(experiment, chain.levels) or "all the same", name(link), use(link), share(link.used))
                for chain in here
                for link in chain.links
            ),
        ),
    )


def _caption(experiment: Experiment, here: Sequence[Chain]) -> str:
    """`Nearest to its limit: vda`, once where it is the same in all runs; empty where no part was near."""
    names = [name(chain.nearest) if chain.nearest.used >= NEAR else "none" for chain in here]
    if set(names) == {"none"}:
        return ""
    if len(set(names)) == 1:
        return f"Nearest to its limit: {names[0]}."
    texts = (f"{one} ({marks.levels(experiment, chain.levels) or chain.run})" for one, chain in zip(names, here, strict=True))
    return f"Nearest to its limit: {', '.join(texts)}."


def _chains(experiment: Experiment, here: Sequence[Chain]) -> Iterator[str]:
    y = 0
    for chain in here:
        for line in _head(experiment, chain):
            yield text(LEFT, y + 14, line, BOLD)
            y += LINE
        foot = y + ROW * len(chain.links)
        full = LEFT + WIDE
        yield f'<line x1="{full}" x2="{full}" y1="{y}" y2="{foot - 6}" stroke="var(--axis)" stroke-dasharray="2 3"/>'
        for place, link in enumerate(chain.links):
            yield from _link(link, y + ROW * place, is_nearest=link is chain.nearest)
        y = foot + GAP


def _head(experiment: Experiment, chain: Chain) -> list[str]:
    """Levels and run, in lines."""
    return textwrap.wrap(
        " · ".join(part for part in (marks.levels(experiment, chain.levels), f"run {chain.run}") if part), LETTERS
    )


def _link(link: ChainLink, y: int, *, is_nearest: bool) -> Iterator[str]:
    colour = "--alarm" if link.used > OVER else "--gold" if is_nearest and link.used >= NEAR else "--muted"
    long = max(1.0, WIDE * min(link.used, OVER))
    yield text(LEFT, y + 14, name(link), INK) + text(LEFT + WIDE, y + 14, share(link.used), RIGHT)
    # names and what was used are on one line: letters are 6.6 pixels wide on average
    yield text(LEFT + 10 + 6.6 * len(name(link)), y + 14, use(link), Style(size=11))
    yield f'<rect x="{LEFT}" y="{y + 20}" width="{WIDE}" height="{BAR}" fill="var(--grid)" fill-opacity="0.5"/>'
    yield f'<rect x="{LEFT}" y="{y + 20}" width="{long:.1f}" height="{BAR}" fill="var({colour})"/>'
