"""Time per operation over the number of objects, with the number of clients that were at work at each point."""

from __future__ import annotations

from collections.abc import Iterator

from assay.frozen import dataclass
from assay.measures.windows import totals
from assay.records import Client, Observations, OperationTotal, Phase, Series

MOST_POINTS = 64
"""More points than this would draw a line, not a curve."""
ACTIVE_SHARE = 0.95
"""A client was at work in a step if it was so for this share of it: starts differ by some microseconds."""


@dataclass(frozen=True, kw_only=True)
class CurvePoint:
    """One step of a curve: how far each client was, what an operation took there, how many clients were at work."""

    objects: float
    """Operations of this kind that each client had done, in the middle of the step."""
    ns_per_operation: float
    active: int
    """The fewest clients that were at work while any client made this step."""
    clients: int
    """How many clients made this step; with `active` below it the point proves nothing."""

    @property
    def all_active(self) -> bool:
        """Whether every client was at work all through the step."""
        return self.active >= self.clients


@dataclass(frozen=True, kw_only=True)
class _Step:
    to_count: float
    from_count: float
    busy_ns: float
    active: int


def curve(phase: Phase, observations: Observations, operation: str) -> tuple[CurvePoint, ...]:
    """The curve of one operation, empty where its clients kept no checkpoints.

    Steps of all clients are gathered by the number of objects that the client itself had; a step counts for the bin in
    which its middle lies. Client clocks are those of the phase.
    """
    done = totals(phase, operation)
    steps = [step for client, total in done for step in _steps(phase, observations, (client, total))]
    if not steps:
        return ()
    width = max(step.to_count for step in steps) / min(MOST_POINTS, max(1, len(steps) // len(done)))
    bins: dict[int, list[_Step]] = {}
    for step in steps:
        bins.setdefault(int((step.from_count + step.to_count) / 2 / width), []).append(step)
    return tuple(_point(members, len(done)) for _, members in sorted(bins.items()))


def _point(steps: list[_Step], clients: int) -> CurvePoint:
    count = sum(step.to_count - step.from_count for step in steps)
    return CurvePoint(
        objects=sum((step.from_count + step.to_count) / 2 for step in steps) / len(steps),
        ns_per_operation=sum(step.busy_ns for step in steps) / count,
        active=min(step.active for step in steps),
        clients=clients,
    )


def _steps(phase: Phase, observations: Observations, who: tuple[Client, OperationTotal]) -> Iterator[_Step]:
    client, total = who
    found = [
        next(observations.over_time(phase.name, "application", f"{total.operation}.{metric}", f"client:{client.index}"), None)
        for metric in ("count", "busy_ns")
    ]
    counts, busy = found
    if counts is None or busy is None:
        return
    before = (total.first_ns, 0.0, 0.0)
    for point in _points(counts, busy):
        if point[1] > before[1]:
            active = _active(phase, total.operation, (before[0], point[0]))
            yield _Step(from_count=before[1], to_count=point[1], busy_ns=point[2] - before[2], active=active)
            before = point


def _points(counts: Series, busy: Series) -> list[tuple[int, float, float]]:
    return list(zip(counts.at_ns, counts.value, busy.value, strict=False))


def _active(phase: Phase, operation: str, span: tuple[int, int]) -> int:
    """How many clients did this operation practically all through a stretch of time, the one that made the step included."""
    least = ACTIVE_SHARE * (span[1] - span[0])
    done = totals(phase, operation)
    shared = (min(client.until(total.last_ns), span[1]) - max(total.first_ns, span[0]) for client, total in done)
    return max(1, sum(1 for together in shared if together >= least))
