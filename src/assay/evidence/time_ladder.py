"""Where the time of a phase went: what the threads of the load and of its server did at random moments. Pure.

A share is a mean over looks, so it has an error: 1.96 standard errors of a mean of n correlated values, with the variance
inflation (1 + r) / (1 - r) of a first-order autoregression, r being the correlation of one look with the next (Box, Jenkins,
Reinsel and Ljung, Time Series Analysis, 2016, section 2.1).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

from assay.evidence import ladder
from assay.frozen import dataclass
from assay.records import Observations, Phase, Series

LAYER = "time"
LOAD, SERVER = "load", "server"
WHOLE = ("looks", "alive", "denied")
SUMS = ("share", "squares", "lagged", "threads")
TIMES = ("run_ns", "ready_ns")
RUNNING, READY = "running", "ready"
FEWEST_LOOKS = 25
"""Fewer tell nothing: the error of a half is then a fifth."""
SHORTEST_NS = 200_000_000
MOST_CORRELATED = 0.98
STANDARD_ERRORS = 1.96
LEAST_SHARE = 0.005
BLOCK, BUSY, NS_PER_MS = "block", "io_ticks", 1_000_000
"""The kernel's count of the time in which a device had a request, in ms (Documentation/admin-guide/iostats.rst)."""


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
    metrics = (*WHOLE, *SUMS, *TIMES)
    every = [
        one
        for metric in metrics
        for one in observations.over_time(phase.name, LAYER, metric)
        if one.subject.split(":")[0] == group
    ]
    if phase.end_ns - phase.start_ns < SHORTEST_NS:
        return None
    looks = sum(ladder.known_rise(one, phase.start_ns, phase.end_ns) for one in every if one.metric == "alive")
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
    for one in observations.over_time(phase.name, BLOCK, BUSY):
        risen = ladder.rise(one, phase.start_ns, phase.end_ns)
        if risen and span_ns > 0 and (share := min(1.0, risen * NS_PER_MS / span_ns)) >= LEAST_SHARE:
            yield one.subject.rpartition(":")[2], share


OWN_NAMES = {"assay-engine": "the load generator"}
WORDS = {
    RUNNING: "computing in {}",
    READY: "{} ready but without a CPU",
    "read_file": "{} reading a file",
    "write_file": "{} writing a file",
    "write_throttled": "{} held back until dirty pages are written",
    "flush": "{} in a flush",
    "metadata": "{} opening, listing or changing files",
    "async_io": "{} waiting for asynchronous I/O",
    "page_fault": "{} waiting for a page of memory",
    "read_device": "{} reading a device",
    "write_device": "{} writing a device",
    "read_socket": "{} waiting for an answer of a socket",
    "write_socket": "{} sending into a full socket",
    "connect": "{} connecting",
    "sleep": "{} asleep",
    "lock": "{} waiting for a lock",
    "events": "{} waiting for events",
    "read_pipe": "{} waiting for data of a pipe",
    "write_pipe": "{} waiting for room in a pipe",
    "terminal": "{} waiting for the terminal",
    "child": "{} waiting for a child",
    "stopped": "{} stopped",
    "other": "{} in another system call",
}
"""State -> what it is called, of a process."""


LIMITS = {
    RUNNING: "the CPU time of {}",
    READY: "CPUs that other programs had",
    "read_file": "reads of files by {}",
    "write_file": "writes of files by {}",
    "write_throttled": "dirty pages that storage had to write first",
    "flush": "the flushes of {}",
    "metadata": "{}, which opens, lists or changes files",
    "async_io": "the asynchronous I/O of {}",
    "page_fault": "pages of memory that {} waits for",
    "read_device": "reads of a device by {}",
    "write_device": "writes of a device by {}",
    "sleep": "{}, which sleeps",
    "lock": "locks in {}",
    "terminal": "the terminal",
}
"""State that has most of the time -> what the limit was."""
PEER = frozenset({"read_socket", "write_socket", "connect", "events"})
"""States in which a client waits for the other end of its connections."""
MOST = 0.5
"""So much of the time one thing must have to be called the limit."""


def limit(load: TimeLadder, server: TimeLadder | None) -> str | None:
    """What had most of the time, in words; of a client that waits for its server that of the server; None for no single one."""
    state, share, process = _largest(load)
    if share <= MOST:
        able = sum(part.share for part in load.parts if part.state in (RUNNING, READY))
        return "CPUs, which other programs had for a part of the time" if able > MOST else None
    if state not in PEER:
        return LIMITS[state].format(named(process)) if state in LIMITS else None
    if server is None:
        return f"the other end of the connections of {named(process)}, or the path to it"
    theirs, share, process = _largest(server)
    if theirs in LIMITS and share > MOST:
        return LIMITS[theirs].format(f"the server ({process})")
    return "the path to the server, or that few requests are in flight: the server waits, too"


def _largest(found: TimeLadder) -> tuple[str, float, str]:
    """The state with most of the time, its share over all processes, and the process that was in it most."""
    sums: dict[str, float] = {}
    for part in found.parts:
        sums[part.state] = sums.get(part.state, 0.0) + part.share
    state = max(sums, key=lambda name: sums[name])
    return state, sums[state], next(part.process for part in found.parts if part.state == state)


def named(process: str) -> str:
    """What a process is called in words."""
    return OWN_NAMES.get(process, process)


def told(part: TimePart) -> str:
    """`91 % ±3 computing in dd`."""
    return f"{_percent(part.share)}{_within(part)} {WORDS.get(part.state, '{} ' + part.state).format(named(part.process))}"


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %"


def _within(part: TimePart) -> str:
    return f" ±{100 * part.error:.0f}" if part.error >= LEAST_SHARE else ""
