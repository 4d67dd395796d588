"""Which factor is told apart by colour, which lies along the axis, which makes small multiples."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from assay.answer import marks
from assay.frozen import dataclass
from assay.records import Experiment, Factor, Value
from assay.report.charts.theme import SERIES

Key = tuple[tuple[str, Value], ...]
"""Paths of factors with their levels: what one small multiple is of."""
CURVE = 3
"""Fewest compared numbers that are drawn as a curve."""


@dataclass(frozen=True, kw_only=True)
class Roles:
    """The parts that the factors play in the pictures of an experiment."""

    series: Factor | None
    along: Factor | None
    """A factor with numbers as levels, drawn along the axis of x."""
    panels: tuple[Factor, ...]
    experiment: Experiment

    def panel_levels(self, levels: Mapping[str, Value]) -> Key:
        """The levels that decide in which panel it stands."""
        return tuple((factor.path, levels.get(factor.path)) for factor in self.panels)

    def colour_index(self, levels: Mapping[str, Value]) -> int:
        """The place of the level among the levels of the series factor."""
        if self.series is None:
            return 0
        level = levels.get(self.series.path)
        return self.series.levels.index(level) % SERIES if level in self.series.levels else 0

    def name(self, levels: Mapping[str, Value]) -> str:
        """The series in words; empty where there is only one."""
        if self.series is None:
            return ""
        text = marks.level(self.experiment, self.series.path, levels.get(self.series.path))
        return text if self.series.path in ("target", "workload") or not numeric(self.series) else f"{self.series.path} {text}"


def roles(experiment: Experiment) -> Roles:
    """The compared factor is told apart by colour; of the others the one with most numeric levels lies along x."""
    varying = [factor for factor in experiment.factors if len(factor.levels) > 1]
    series = next((factor for factor in varying if factor.path == experiment.compare), None)
    rest = [factor for factor in varying if factor is not series]
    along = max((factor for factor in rest if numeric(factor)), key=lambda factor: len(factor.levels), default=None)
    rest = [factor for factor in rest if factor is not along]
    if series is None and rest:
        series = rest.pop(0)
    return Roles(series=series, along=along, panels=tuple(rest), experiment=experiment)


def laid(parts: Roles) -> Roles:
    """Compared numbers lie along x where nothing else does: three or more of them are a curve, not so many colours."""
    if parts.along is not None or parts.series is None or len(parts.series.levels) < CURVE or not numeric(parts.series):
        return parts
    return replace(parts, series=None, along=parts.series)


def positions(levels: Sequence[Value]) -> dict[Value, float]:
    """Where numeric levels stand along x, from 0 to n - 1: by logarithm where they span more than a factor of four."""
    numbers = [float(level) for level in levels if isinstance(level, int | float)]
    low, high = min(numbers), max(numbers)
    logarithmic = low > 0 and high / low >= 4
    place = math.log if logarithmic else float
    spread = place(high) - place(low) or 1.0
    return {
        level: (place(number) - place(low)) / spread * (len(numbers) - 1) for level, number in zip(levels, numbers, strict=True)
    }


def nearest(places: Iterable[float]) -> float:
    """The smallest distance between two places; 1 where there are not two."""
    ordered = sorted(places)
    return min((after - before for before, after in itertools.pairwise(ordered)), default=1.0) or 1.0


def along(parts: Roles, levels: Mapping[str, Value]) -> Key:
    """The level along x and those of the panels: what one small multiple stands for where x is something else."""
    first = ((parts.along.path, levels.get(parts.along.path)),) if parts.along else ()
    return (*first, *parts.panel_levels(levels))


def in_order(parts: Roles, keys: Iterable[Key]) -> list[Key]:
    """Small multiples in the order of the factors' levels."""
    factors = {factor.path: factor.levels for factor in (parts.along, *parts.panels) if factor is not None}

    def order(key: Key) -> list[int]:
        return [factors[path].index(level) if level in factors[path] else -1 for path, level in key]

    return sorted(keys, key=order)


def heading(experiment: Experiment, key: Key) -> str:
    """The levels of a small multiple in words."""
    return ", ".join(f"{path} = {marks.level(experiment, path, level)}" for path, level in key)


def numeric(factor: Factor) -> bool:
    """Whether all levels are numbers."""
    return all(isinstance(level, int | float) and not isinstance(level, bool) for level in factor.levels)
