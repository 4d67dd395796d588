"""Where the time of a phase went: what the threads of the load and of its server did at random moments. Pure.

A share is a mean over looks, so it has an error: 1.96 standard errors of a mean of n correlated values, with the variance
inflation (1 + r) / (1 - r) of a first-order autoregression, r being the correlation of one look with the next (Box, Jenkins,
Reinsel and Ljung, Time Series Analysis, 2016, section 2.1).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

from assay.evidence import device_idle, ladder
from assay.frozen import dataclass
from assay.records import Observations, Phase, Series

LAYER = "time"
LOAD, SERVER = "load", "server"
ALIVE = "alive"
"""Looks that found a thread."""
WHOLE = ("looks", ALIVE, "denied")
SUMS = ("share", "squares", "lagged", "threads")
TIMES = ("run_ns", "ready_ns")
RUNNING, READY = "running", "ready"
FEWEST_LOOKS = 25
"""Fewer tell nothing: the error of a half is then a fifth."""
SHORTEST_NS = 200_000_000
MOST_CORRELATED = 0.98
STANDARD_ERRORS = 1.96
LEAST_SHARE = 0.005
"""Less of the time a device was busy is not told."""


@dataclass(frozen=True, kw_only=True)
class TimePart:
    """What the threads of one process name did in one state."""

    process: str
    state: str
    share: float
    """Of the time of the group: all shares add up to 1."""
    error: float
    """Half of the 95 % interval of the share."""
    threads: float
    """How many were in that state, on average."""


@dataclass(frozen=True, kw_only=True)
class TimeLadder:
    """The parts of the time of one group, largest first."""

    group: str
    looks: int
    parts: tuple[TimePart, ...]


def of_phase(phase: Phase, observations: Observations, group: str = LOAD) -> TimeLadder | None:
    """Where the time of a group went while the clock ran; None where too few looks were taken, or the phase is too short."""
    if phase.end_ns - phase.start_ns < SHORTEST_NS:
        return None
    series = (one for metric in (ALIVE, *SUMS, *TIMES) for one in observations.over_time(phase.name, LAYER, metric))
    every = [one for one in series if one.subject.partition(":")[0] == group]
    looks = sum(ladder.known_rise(one, phase.start_ns, phase.end_ns) for one in every if one.metric == ALIVE)
    if looks < FEWEST_LOOKS:
        return None
    rows: dict[tuple[str, str], dict[str, float]] = {}
    for one in every:
        if one.metric in SUMS:
            process, _, state = one.subject.partition(":")[2].rpartition(":")
            sums = rows.setdefault((process, state), dict.fromkeys(SUMS, 0.0))
            sums[one.metric] += ladder.known_rise(one, phase.start_ns, phase.end_ns)  # over all hosts
    ready = _ready_shares(phase, every)
    parts = sorted(_parts(rows, looks, ready), key=lambda part: (-part.share, -part.threads))
    return TimeLadder(group=group, looks=round(looks), parts=tuple(parts))


def _parts(rows: Mapping[tuple[str, str], Mapping[str, float]], looks: float, ready: Mapping[str, float]) -> Iterator[TimePart]:
    """Yield each part; of what could run, what had no CPU apart."""
    for (process, state), sums in rows.items():
        share, threads = sums["share"] / looks, sums["threads"] / looks
        error = _error(share, sums["squares"] / looks, sums["lagged"] / looks, looks)
        waiting = ready.get(process, 0.0) if state == RUNNING else 0.0
        for name, part in ((state, 1 - waiting), (READY, waiting)):
            if part and (share or threads):
                yield TimePart(process=process, state=name, share=share * part, error=error * part, threads=threads * part)


def _error(mean: float, squares: float, lagged: float, looks: float) -> float:
    """Half of the 95 % interval of a mean of correlated values; of a share of 0 or 1 by the rule of three."""
    variance = max(0.0, squares - mean**2)
    if variance == 0.0:
        return 3 / looks
    related = min(MOST_CORRELATED, max(0.0, (lagged - mean**2) / variance))
    return STANDARD_ERRORS * math.sqrt(variance / looks * (1 + related) / (1 - related))


def _ready_shares(phase: Phase, every: list[Series]) -> dict[str, float]:
    """Process name -> of the time in which its threads could run, the share without a CPU: counted by the kernel, exact."""
    found: dict[str, dict[str, float]] = {}
    for one in every:
        if one.metric in TIMES:
            name = one.subject.partition(":")[2]
            sums = found.setdefault(name, dict.fromkeys(TIMES, 0.0))
            sums[one.metric] += ladder.known_rise(one, phase.start_ns, phase.end_ns)
    return {
        name: times["ready_ns"] / total for name, times in found.items() if (total := times["ready_ns"] + times["run_ns"]) > 0
    }


def busy(phase: Phase, observations: Observations) -> Iterator[tuple[str, float]]:
    """Yield each block device that had requests, with the share of the clock in which it had one; others' requests included."""
    span_ns = phase.end_ns - phase.start_ns
    for one in observations.over_time(phase.name, "block", device_idle.BUSY):
        risen = ladder.rise(one, phase.start_ns, phase.end_ns)
        if risen and span_ns > 0 and (share := min(1.0, risen * device_idle.TICK_NS / span_ns)) >= LEAST_SHARE:
            yield one.subject.rpartition(":")[2], share
