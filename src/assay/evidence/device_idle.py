"""How long a device certainly had nothing to do while a load ran, by the kernel's count of its requests and their time."""

from __future__ import annotations

from assay.evidence import ladder
from assay.records import Direction, Observations, Phase

PENDING = ("read_ticks", "write_ticks", "flush_ticks")
"""The time of each request from start to end, added up: no less than the time in which there was one."""
BUSY = "io_ticks"
"""The time in which there was one, in ticks of the kernel: too much where requests are short."""
TICK_NS = 1_000_000
"""The kernel counts the time of requests in ms."""


def idle_share(phase: Phase, observations: Observations, direction: Direction) -> tuple[str, float] | None:
    """The device that the file system is on, and the least share of the clock and the drain in which it had no request.

    None where it was not counted. What others ask of it makes it busier, so the share is the least in their presence, too.
    """
    step = ladder.highest_device(phase, observations, direction)
    from_ns, to_ns = phase.start_ns, phase.end_ns + (phase.drain_ns or 0)
    if step is None or len(step.subjects) != 1 or to_ns <= from_ns:
        return None
    known = {
        name: risen * TICK_NS
        for name in (*PENDING, BUSY)
        if (series := next(observations.over_time(phase.name, "block", name, step.subjects[0]), None)) is not None
        and (risen := ladder.rise(series, from_ns, to_ns)) is not None
    }
    if len(known) <= len(PENDING):
        return None
    busy_ns = min(known[BUSY], sum(known[name] for name in PENDING))
    return step.device, max(0.0, 1 - busy_ns / (to_ns - from_ns))
