"""Which runs are looked at closely: the counted runs of each combination of levels, and a representative of each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from assay.records import Cell, Judged, Outcome, Results, Value
from assay.report.charts.roles import Roles, roles

MERGED = 60
"""Most runs whose histograms are read for the latency figures; evenly spaced in their order above it."""
REPRESENTATIVES = 8
"""Most runs whose ladders are drawn."""


@dataclass(frozen=True, kw_only=True)
class Group:
    """The runs that count at one combination of levels, and the one nearest to the estimate of the first measure."""

    levels: Mapping[str, Value]
    runs: tuple[Judged, ...]
    representative: Judged


def groups(results: Results) -> tuple[Group, ...]:
    """One group for each combination of levels with at least one finished run, in the order of the cells or runs."""
    found: dict[tuple[tuple[str, Value], ...], list[Judged]] = {}
    for cell in results.cells:
        found.setdefault(tuple(cell.levels.items()), [])
    for judged in results.runs:
        if judged.run.outcome is Outcome.FINISHED:
            found.setdefault(tuple(judged.run.trial.levels.items()), []).append(judged)
    return tuple(
        Group(levels=dict(key), runs=tuple(runs), representative=_nearest(results, dict(key), runs))
        for key, runs in found.items()
        if runs
    )


def _nearest(results: Results, levels: Mapping[str, Value], runs: Sequence[Judged]) -> Judged:
    """The run whose first measure is nearest to that cell's estimate; the first run where there is none."""
    cell = next((cell for cell in results.cells if dict(cell.levels) == dict(levels) and cell.estimate and cell.values), None)
    return min(runs, key=lambda judged: _distance(cell, judged)) if cell else runs[0]


def _distance(cell: Cell, judged: Judged) -> float:
    assert cell.estimate is not None
    value = cell.values.get(judged.id)
    return float("inf") if value is None else abs(value - cell.estimate.value)


def representatives(results: Results, found: Sequence[Group]) -> tuple[Judged, ...]:
    """One run for each compared level and panel, at the highest level of the factor along the axis.

    Those that differ in nothing but the compared level stand beside each other: the first few are a fair comparison.
    """
    parts = roles(results.experiment)
    highest = _highest(parts, found)
    kept = [group for group in found if parts.along is None or group.levels.get(parts.along.path) == highest]
    panels = list(dict.fromkeys(parts.panel_levels(group.levels) for group in kept))
    kept.sort(key=lambda group: panels.index(parts.panel_levels(group.levels)))
    return tuple(group.representative for group in kept[:REPRESENTATIVES])


def beside(results: Results, looked_at: Sequence[Judged], most: int) -> tuple[Judged, ...]:
    """Of the representatives those that are drawn beside each other, at most so many: they differ in the compared level alone.

    Of more levels than that the first and the last are among them, and the others lie evenly between.
    """
    parts = roles(results.experiment)
    panels = [parts.panel_levels(judged.run.trial.levels) for judged in looked_at]
    alike = [judged for judged, panel in zip(looked_at, panels, strict=True) if panel == panels[0]]
    pool = alike if len(alike) > 1 else list(looked_at)
    if len(pool) <= most:
        return tuple(pool)
    return tuple(pool[round(place * (len(pool) - 1) / (most - 1))] for place in range(most))


def _highest(parts: Roles, found: Sequence[Group]) -> Value:
    if parts.along is None:
        return None
    seen = {group.levels.get(parts.along.path) for group in found}
    present = [level for level in parts.along.levels if level in seen and isinstance(level, int | float)]
    return max(present, key=float, default=None)


def merged(found: Sequence[Group]) -> tuple[tuple[Judged, ...], ...]:
    """The runs of each group whose histograms are read."""
    each = max(1, MERGED // max(1, len(found)))
    return tuple(group.runs[:: max(1, -(-len(group.runs) // each))] for group in found)
