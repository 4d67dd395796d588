"""Puts runs into the order in which they ran, also where the wall clock was set back between them."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from itertools import pairwise

from assay.records import Judged, Run

SECOND_NS = 1_000_000_000


def in_order(runs: Iterable[Judged]) -> list[Judged]:
    """Order by the start of the runs; by the schedule where the wall clock was set back between two of them."""
    every = sorted(runs, key=lambda one: scheduled(one.run))
    if set_back_s([one.run for one in every]) > 0:
        return every
    return sorted(every, key=lambda one: one.run.started_utc)


def scheduled(run: Run) -> tuple[int, int, int]:
    """The place of a run in the schedule."""
    return run.trial.sitting, run.trial.position, run.attempt


def set_back_s(runs: Iterable[Run]) -> float:
    """By how much the wall clock was set back between two runs of a sitting, at least; 0 where it was not."""
    every = sorted(runs, key=scheduled)
    return max((_overlap_s(*pair) for pair in pairwise(every)), default=0.0)


def _overlap_s(run: Run, after: Run) -> float:
    """By how much a run ended after the start of the next one, by the wall clock; 0 where it may just have been done later.

    `--resume` does a trial that failed after those that follow it in the schedule. The monotonic clock shows that on one boot.
    """
    overlap = (_wall(run.ended_utc) - _wall(after.started_utc)).total_seconds()
    if run.trial.sitting != after.trial.sitting or overlap <= 0:
        return 0.0
    first, second = _monotonic_s(run), _monotonic_s(after)
    if first is None or second is None:
        return overlap if run.attempt == 1 else 0.0
    is_later = second > first and (run.attempt == 1 or overlap < second)
    return overlap if is_later else 0.0


def _monotonic_s(run: Run) -> float | None:
    """T0 by the monotonic clock of the controller; None where the run has none."""
    return next(((host.t0_mono_ns - host.offset_ns) / SECOND_NS for host in run.hosts), None)


def _wall(text: str) -> datetime:
    return datetime.fromisoformat(text)
