"""Curves over the number of objects, and where two of them cross.

A curve point at which not every client was at work says nothing about the load that was asked for: late clients leave the
early ones a system to themselves. Such points are kept, are drawn hollow, and support no crossover.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

from assay import measures
from assay.analysis.counting import Load
from assay.errors import AssayError
from assay.records import Judged, Outcome
from assay.statistics.intervals import LEAST, arithmetic_mean

GRID = 16
"""So many numbers of objects are compared on the way from the fewest to the most that both curves have."""
CONFIDENCE = 0.95


@dataclass(frozen=True, kw_only=True)
class Curve:
    """Time per operation of one run over the number of objects that a client has, with the clients active at each point."""

    run: str
    workload: str
    operation: str
    objects: tuple[float, ...]
    time_per_operation_ns: tuple[float, ...]
    active_clients: tuple[int, ...]
    clients: int

    def solid(self) -> list[tuple[float, float]]:
        """(objects, time) of the points at which every client was at work."""
        points = zip(self.objects, self.time_per_operation_ns, self.active_clients, strict=True)
        return [(objects, time) for objects, time, active in points if active >= self.clients and time > 0]


class NoCrossover(Enum):
    """Why no crossing of two curves is supported."""

    FEW_PAIRS = "few pairs"
    NEVER_ALL_CLIENTS = "never all clients"
    """A run has no stretch in which all its clients were at work."""
    NO_COMMON_RANGE = "no common range"
    NO_CHANGE = "no change"
    """Neither curve is first above and then below the other with its whole interval."""
    SEVERAL_CHANGES = "several changes"


@dataclass(frozen=True, kw_only=True)
class Crossover:
    """Between which numbers of objects two curves cross; or why no crossing is supported."""

    low: float | None = None
    high: float | None = None
    unsupported: NoCrossover | None = None


def curves(runs: Sequence[Judged], load: Load) -> tuple[Curve, ...]:
    """The curves of every operation of every finished run that kept checkpoints; damaged evidence is passed over."""
    found = []
    for judged in runs:
        if judged.run.outcome is not Outcome.FINISHED:
            continue
        try:
            observations = load(judged.id)
        except AssayError:
            continue
        for phase in judged.run.phases:
            for operation in phase.operations if phase.measured else ():
                points = measures.curve(phase, observations, operation)
                if len(points) > 1:
                    found.append(curve_of((judged.id, phase.workload, operation), points))
    return tuple(found)


def curve_of(name: tuple[str, str, str], points: Sequence[measures.CurvePoint]) -> Curve:
    """The points of one run as a curve."""
    return Curve(
        run=name[0],
        workload=name[1],
        operation=name[2],
        objects=tuple(point.objects for point in points),
        time_per_operation_ns=tuple(point.ns_per_operation for point in points),
        active_clients=tuple(point.active for point in points),
        clients=max(point.clients for point in points),
    )


def crossover(pairs: Sequence[tuple[Curve, Curve]]) -> Crossover:
    """Where the second curve of each pair (the same block of the schedule) crosses the first.

    On a grid of numbers of objects at which all clients were active in all runs, the mean log ratio over the pairs gets a t
    interval at 95 % for the whole grid (Bonferroni). A crossing is supported where one curve is above the other with its whole
    interval and, further on, below it. Fewer than three pairs support none.
    """
    if len(pairs) < LEAST:
        return Crossover(unsupported=NoCrossover.FEW_PAIRS)
    solid = [(first.solid(), second.solid()) for first, second in pairs]
    if any(len(points) < 2 for pair in solid for points in pair):
        return Crossover(unsupported=NoCrossover.NEVER_ALL_CLIENTS)
    low = max(points[0][0] for pair in solid for points in pair)
    high = min(points[-1][0] for pair in solid for points in pair)
    if high <= low:
        return Crossover(unsupported=NoCrossover.NO_COMMON_RANGE)
    grid = [low + (high - low) * step / (GRID - 1) for step in range(GRID)]
    return crossing(grid, [sign([at(second, x) - at(first, x) for first, second in solid]) for x in grid])


def crossing(grid: Sequence[float], signs: Sequence[int]) -> Crossover:
    """The stretch in which the sign of the difference changes for good."""
    last: tuple[float, int] | None = None
    changes = []
    for x, found in zip(grid, signs, strict=True):
        if found and last and found != last[1]:
            changes.append((last[0], x))
        if found:
            last = (x, found)
    if not changes:
        return Crossover(unsupported=NoCrossover.NO_CHANGE)
    if len(changes) > 1:
        return Crossover(unsupported=NoCrossover.SEVERAL_CHANGES)
    ((low, high),) = changes
    return Crossover(low=low, high=high)


def sign(differences: Sequence[float]) -> int:
    """1 or -1 where the whole interval of the mean difference is above or below 0, else 0."""
    mean = arithmetic_mean(differences, 1 - (1 - CONFIDENCE) / GRID)
    if mean.low is None or mean.high is None or mean.low <= 0 <= mean.high:
        return 0
    return 1 if mean.value > 0 else -1


def at(points: Sequence[tuple[float, float]], objects: float) -> float:
    """The logarithm of the time at a number of objects, by linear interpolation; constant outside the points."""
    place = bisect_left(points, objects, key=lambda point: point[0])
    if place in (0, len(points)):
        return math.log(points[min(place, len(points) - 1)][1])
    (x0, y0), (x1, y1) = points[place - 1], points[place]
    return math.log(y0 + (y1 - y0) * (objects - x0) / (x1 - x0))
