"""The rate of an external tool over time, by the counters of this host that saw its bytes pass.

A tool prints one mean. What it reads passes the counters of its process, or those of the device where its children read. What it
writes passes those of the device, all other bytes the interfaces of the host or its loopback.
Each part of the time has the part of the figure that its bytes are of all. The counters of the host count other programs, too:
where they saw much more or less than the tool reports, they tell nothing of it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from assay.evidence import ladder
from assay.frozen import dataclass
from assay.measures.windows import at
from assay.records import ABSOLUTE, Direction, Observations, Phase, Series

MOST_PARTS = 60
IDLE_SHARE = 0.05
"""Of the mean: at both ends a tool begins and says good-bye, and slower parts are left out."""
OTHER_NETWORK = ("process", "other_network")
"""Whether the command was seen in another network namespace, whose interfaces nobody counts."""


@dataclass(frozen=True, kw_only=True)
class Course:
    """Bytes in equal parts of the time in which the tool moved data."""

    parts: tuple[float, ...]
    seconds: float
    seen_bytes: float
    """In all, also at the ends that were left out."""


def course_of_tool(phase: Phase, observations: Observations, operation: str, least_parts: int) -> Course | None:
    """The course of one operation; None where fewer samples than parts saw it."""
    known = counters(phase, observations, phase.directions.get(operation))
    every = [one for one in known if one.value and one.value[-1] > one.value[0]]  # a shell beside the tool may live for one look
    if not every:
        return None
    samples = min(sum(phase.start_ns <= at_ns <= phase.end_ns for at_ns in one.at_ns) for one in every)
    count = min(MOST_PARTS, samples)
    if count < least_parts or phase.end_ns <= phase.start_ns:
        return None
    times = [phase.start_ns + phase.lasted_ns * part // count for part in range(count + 1)]
    curves = [clipped(list(zip(one.at_ns, one.value, strict=True)), (phase.start_ns, phase.end_ns)) for one in every]
    done = [sum(at(curve, when) for curve in curves) for when in times]
    parts = busy([after - before for before, after in pairwise(done)])
    each_s = phase.lasted_ns / count / 1e9
    seen = done[-1] - done[0]
    return Course(parts=parts, seconds=len(parts) * each_s, seen_bytes=seen) if len(parts) >= least_parts and seen else None


def clipped(curve: Sequence[tuple[int, float]], edges: tuple[int, int]) -> list[tuple[int, float]]:
    """The samples between two times, and at these what was counted last before and first after them.

    The tool moved nothing outside: a line from one sample to the next would give a part of a burst to the time before it.
    """
    start, end = edges
    before, later = [value for at_ns, value in curve if at_ns <= start], [value for at_ns, value in curve if at_ns >= end]
    inside = [(at_ns, value) for at_ns, value in curve if start < at_ns < end]
    return [*((start, value) for value in before[-1:]), *inside, *((end, value) for value in later[:1])]


def busy(parts: Sequence[float]) -> tuple[float, ...]:
    """The parts from the first to the last in which data moved."""
    least = IDLE_SHARE * sum(parts) / len(parts)
    moved = [place for place, part in enumerate(parts) if part > least]
    return tuple(parts[moved[0] : moved[-1] + 1]) if moved else ()


def counters(phase: Phase, observations: Observations, direction: Direction | None) -> Iterator[Series]:
    """The counters that bytes of this direction pass."""
    own = [*observations.over_time(phase.name, "process", "read_bytes")]
    if direction is Direction.READ and any(any(one.value[: len(one.value) // 2]) for one in own):
        yield from own
        return
    if direction in (Direction.READ, Direction.WRITE):
        # What a process dirties goes as fast as memory at first, and what its children read is counted when they have ended.
        device = ladder.highest_device(phase, observations, direction)
        for subject in device.subjects if device is not None else ():
            yield from observations.over_time(phase.name, "block", f"{direction}_bytes", subject)
        return
    elsewhere = [*observations.over_time(phase.name, *OTHER_NETWORK)]
    if direction is None or direction.of_storage or any(value for series in elsewhere for value in series.value):
        return
    way = "tx_bytes" if direction is Direction.SEND else "rx_bytes"
    yield from observations.over_time(phase.name, "network", way)
    yield from observations.over_time(phase.name, "network", "loopback_bytes", ABSOLUTE)
