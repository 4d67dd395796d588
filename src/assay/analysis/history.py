"""One experiment executed again and again, over weeks and commits: the series of each figure, its steps, and its newest value."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from statistics import fmean

from assay.analysis.cells import judged_state
from assay.analysis.require import verdicts_of
from assay.frozen import dataclass
from assay.records import Cell, Results, Value, VerdictState
from assay.statistics.intervals import prediction
from assay.statistics.steadiness import Segment, change_points

LEAST_BEFORE = 5
"""A newest value is held against at least so many before it."""
NEWEST_ERROR = 0.01
"""The share of newest values that fall outside of what those before predict, where nothing changed; shared by all series."""


@dataclass(frozen=True, kw_only=True)
class PastExecution:
    """The experiment once: what it is called, when its first run began, and what came out."""

    name: str
    started_utc: str
    results: Results


@dataclass(frozen=True, kw_only=True)
class PastValue:
    """A figure of one execution; `value` is None where no run counts."""

    execution: str
    value: float | None
    low: float | None
    """Of the range of what is true where there is one, else of the interval of what was measured."""
    high: float | None
    verdict: VerdictState | None
    """The worst verdict of the runs that count; None without one."""


@dataclass(frozen=True, kw_only=True)
class Stretch:
    """A stretch of executions between which nothing was found to change: from point `first` up to `end`, its geometric mean."""

    first: int
    end: int
    value: float


@dataclass(frozen=True, kw_only=True)
class FigureHistory:
    """One figure at one combination of levels, over all executions."""

    measure: str
    levels: Mapping[str, Value]
    unit: str
    points: tuple[PastValue, ...]
    stretches: tuple[Stretch, ...]
    """At least one where any point has a value."""
    expected: tuple[float, float] | None
    """Where the newest value belongs by those of its stretch before it; None with fewer than `LEAST_BEFORE`."""

    @property
    def is_short(self) -> bool:
        """Whether there are too few executions to find steps or to expect a value: then the intervals of two decide."""
        return sum(point.value is not None for point in self.points) <= LEAST_BEFORE

    @property
    def newest(self) -> float | None:
        """The newest value."""
        return self.points[-1].value

    @property
    def is_unexpected(self) -> bool:
        """Whether the newest value is outside of what those before predict."""
        return self.newest is not None and self.expected is not None and not self.expected[0] <= self.newest <= self.expected[1]

    def level_at(self, place: int) -> float | None:
        """The level of the stretch that has this point."""
        return next((one.value for one in self.stretches if one.first <= place < one.end), None)

    @property
    def now(self) -> float | None:
        """The present level: the newest value where it is unexpected, or has too few before it; else that of its stretch."""
        return self.newest if self.is_unexpected or self.is_short else self.level_at(len(self.points) - 1)

    def good_at(self, place: int) -> float | None:
        """The level of a known good execution; of a short history its own value."""
        return self.points[place].value if self.is_short else self.level_at(place)

    def change_since(self, place: int) -> tuple[float, float] | None:
        """The least and the largest ratio of the newest value to that of an execution, by both intervals; None without one."""
        ends = [(one.low, one.high) for one in (self.points[place], self.points[-1])]
        known = [(low, high) for low, high in ends if low is not None and high is not None and low > 0]
        return (known[1][0] / known[0][1], known[1][1] / known[0][0]) if len(known) == len(ends) else None


def history(executions: Sequence[PastExecution]) -> tuple[FigureHistory, ...]:
    """The series of all figures, in the order of the newest execution, then of those that only older ones have."""
    keys: dict[tuple[str, tuple[tuple[str, Value], ...]], None] = {}
    tables = [{key_of(cell): cell for cell in one.results.cells} for one in executions]
    for table in reversed(tables):
        keys |= dict.fromkeys(table)
    return tuple(series(key, executions, [table.get(key) for table in tables], len(keys)) for key in keys)


def key_of(cell: Cell) -> tuple[str, tuple[tuple[str, Value], ...]]:
    """What makes a figure the same in another execution."""
    return cell.measure, tuple(sorted(cell.levels.items()))


def series(
    key: tuple[str, tuple[tuple[str, Value], ...]],
    executions: Sequence[PastExecution],
    cells: Sequence[Cell | None],
    together: int,
) -> FigureHistory:
    """One series; `together` series share the error of the newest value."""
    points = tuple(point(one, cell) for one, cell in zip(executions, cells, strict=True))
    stretches = levels(points)
    units = [cell.estimate.unit for cell in cells if cell is not None and cell.estimate is not None]
    found = FigureHistory(
        measure=key[0],
        levels=dict(key[1]),
        unit=units[-1] if units else "",
        points=points,
        stretches=stretches,
        expected=expected(points, stretches, NEWEST_ERROR / together),
    )
    return replace(found, stretches=without_newest(found)) if found.is_unexpected else found


def without_newest(one: FigureHistory) -> tuple[Stretch, ...]:
    """The stretches, the last with the level that it had before the newest value, which is unexpected."""
    *earlier, last = one.stretches
    before = [math.log(point.value) for point in one.points[last.first : -1] if point.value is not None]
    return (*earlier, replace(last, value=math.exp(fmean(before))))


def point(execution: PastExecution, cell: Cell | None) -> PastValue:
    """The figure of one execution."""
    found = cell.estimate if cell is not None else None
    return PastValue(
        execution=execution.name,
        value=found.value if found is not None and found.value > 0 else None,
        low=found.sure[0] if found else None,
        high=found.sure[1] if found else None,
        verdict=state(execution.results, cell) if cell is not None else None,
    )


def state(results: Results, cell: Cell) -> VerdictState | None:
    """The verdict of a cell; None where no run counts and none is INVALID."""
    runs = {judged.id: judged for judged in results.runs}
    found = cell.verdict or judged_state(cell, verdicts_of(runs, cell))
    return found if cell.values or found is VerdictState.INVALID else None


def levels(points: Sequence[PastValue]) -> tuple[Stretch, ...]:
    """The stretches between the steps of the logarithms; points without a value belong to the stretch before."""
    known = [(place, math.log(one.value)) for place, one in enumerate(points) if one.value is not None]
    if not known:
        return ()
    values = [value for _, value in known]
    middle = fmean(values)  # the floor of the noise is a share of the mean, and that of logarithms means nothing
    found = change_points([1 + value - middle for value in values]) or (Segment(first=0, end=len(values), mean=0.0),)
    starts = [0, *(known[one.first][0] for one in found[1:])]
    ends = [*starts[1:], len(points)]
    means = [math.exp(fmean(values[one.first : one.end])) for one in found]
    return tuple(Stretch(first=first, end=end, value=mean) for first, end, mean in zip(starts, ends, means, strict=True))


def expected(points: Sequence[PastValue], stretches: Sequence[Stretch], error: float) -> tuple[float, float] | None:
    """Where the newest value belongs by those of its stretch before it, on logarithms; None with too few."""
    if not stretches or points[-1].value is None:
        return None
    before = [math.log(one.value) for one in points[stretches[-1].first : -1] if one.value is not None]
    if len(before) < LEAST_BEFORE:
        return None
    low, high = prediction(before, error)
    return math.exp(low), math.exp(high)
