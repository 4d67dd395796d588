"""The layers of a phase over time: counters become rates, gauges stay, long series are averaged over equal steps."""

from __future__ import annotations

import itertools
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, replace

from assay.records import Phase, Series

STEPS = 120
"""Most points of a line; longer series are averaged over so many equal steps of time."""

ASIDE = 0.01
"""Share of the most moved by a device below which the other direction is left out: reads of metadata during writes."""
SHORT_NS = 100_000_000
"""Shares of processor time over less than this are left out: one tick of the kernel's clock (10 ms) may be all of it."""
GAUGED = 4
"""Looks at a gauge below which its line says nothing of a course."""

Points = list[tuple[float, float]]
"""(seconds since the phase began, figure)."""
Lines = tuple[tuple[str, Points], ...]


@dataclass(frozen=True, kw_only=True)
class Strip:
    """One panel of the timeline: lines in one unit."""

    title: str
    unit: str
    lines: Lines
    steps: bool = True
    """Whether the figures are means over steps of time."""
    ceiling: float | None = None
    hosts: bool = False
    """Whether each line is that of a host, or of many of them."""

    @property
    def values(self) -> list[float]:
        """All figures of all lines."""
        return [value for _, points in self.lines for _, value in points]


def strips(phase: Phase, series: Sequence[Series]) -> tuple[Strip, ...]:
    """The layers from the application down, what was not observed left out: throughput, page cache, devices, network, processors.

    The devices stand in the strip of the application where that counts bytes: where the lines part, memory is at work.
    """
    devices = _devices(phase, series)
    moved = _operations(phase, series, "bytes")
    made = []
    if any(value for _, points in moved for _, value in points):
        named = tuple((f"application {name}", points) for name, points in moved if any(value for _, value in points))
        made.append(Strip(title="throughput", unit="bytes/s", lines=named + devices))
    else:
        made.append(Strip(title="operations per second", unit="1/s", lines=_operations(phase, series, "count")))
        made.append(Strip(title="devices", unit="bytes/s", lines=devices))
    memory = (*_cached(phase, series), *gauges(phase, series, "memory", ("dirty_bytes", "writeback_bytes")))
    made.insert(1, Strip(title="page cache", unit="bytes", lines=memory, steps=False))
    made.append(Strip(title="network", unit="bytes/s", lines=_network(phase, series)))
    shares = gauges(phase, series, "cpu", ("user_share", "system_share", "iowait_share", "steal_share"))
    made.append(Strip(title="CPUs", unit="share", lines=shares, steps=False, ceiling=1.0))
    kept = (_cleared(strip) for strip in made)
    return tuple(strip for strip in kept if strip.lines)


def _cleared(strip: Strip) -> Strip:
    least = 2 if strip.steps else GAUGED
    lines = tuple((name, points) for name, points in strip.lines if len(points) >= least)
    return replace(strip, lines=lines)


def _operations(phase: Phase, series: Sequence[Series], what: str) -> Lines:
    """The application's own counters, all clients summed, one line an operation."""
    lines = []
    for operation in phase.operations:
        here = (one for one in series if (one.layer, one.metric) == ("application", f"{operation}.{what}") and len(one.at_ns))
        found = [one for each in here if len((one := from_zero(phase, each)).at_ns) > 1]
        if found:
            lines.append((operation, rate(phase, found)))
    return tuple(lines)


def from_zero(phase: Phase, one: Series) -> Series:
    """A client's counter with its 0, when its first operation started: the engine's first look comes an interval later."""
    operation = one.metric.rpartition(".")[0]
    first = next(
        (
            total.first_ns
            for client in phase.clients
            for total in client.operations
            if (f"client:{client.index}", total.operation) == (one.subject, operation) and total.count
        ),
        phase.start_ns,
    )
    if first >= one.at_ns[0]:
        return one
    return replace(one, at_ns=array("q", (first, *one.at_ns)), value=array("d", (0.0, *one.value)))


def _cached(phase: Phase, series: Sequence[Series]) -> Lines:
    """What of the load's own files is in the page cache, all files summed: each at its last look before."""
    found = [
        one
        for one in series
        if (one.layer, one.metric) == ("page_cache", "cached_bytes") and one.subject.startswith("path:") and len(one.at_ns) > 1
    ]
    times = sorted({at for one in found for at in one.at_ns if at >= phase.start_ns})
    kept = times[:: max(1, -(-len(times) // STEPS))]
    points = [((at - phase.start_ns) / 1e9, sum(_last(one, at) for one in found)) for at in kept]
    return (("files cached", points),) if len(points) > 1 else ()


def _last(one: Series, when: int) -> float:
    """A gauge as it was last seen."""
    index = bisect_right(one.at_ns, when)
    return one.value[index - 1] if index else one.value[0]


def _network(phase: Phase, series: Sequence[Series]) -> Lines:
    """Bytes per second of each interface in each direction in which it carried anything."""
    ways = {"rx_bytes": "received", "tx_bytes": "sent"}
    counters = [one for one in series if one.layer == "network" and one.metric in ways and len(one.at_ns) > 1]
    moved = [one for one in counters if one.value[-1] > one.value[0]]
    return tuple((f"{one.subject.removeprefix('interface:')} {ways[one.metric]}", rate(phase, [one])) for one in moved)


def _rise(one: Series) -> float:
    return one.value[-1] - one.value[0] if len(one.at_ns) > 1 else 0.0


def _devices(phase: Phase, series: Sequence[Series]) -> Lines:
    """Bytes per second of each device, in the load's own direction always, in the other one where it is worth a line."""
    counters = [one for one in series if one.layer == "block" and one.metric in ("read_bytes", "write_bytes")]
    ways = {f"{way.value}_bytes" for way in phase.directions.values()}
    most = max((_rise(one) for one in counters), default=0.0)
    moved = [one for one in counters if _rise(one) > (0.0 if one.metric in ways else ASIDE * most)]
    return tuple(
        (f"{one.subject.removeprefix('device:')} {one.metric.removesuffix('_bytes')}", rate(phase, [one])) for one in moved
    )


def rate(phase: Phase, found: Sequence[Series]) -> Points:
    """The sum of the counters' slopes (per second) on equal steps of time; each point stands at its step's begin."""
    start = max(phase.start_ns, min(one.at_ns[0] for one in found))
    end = max(one.at_ns[-1] for one in found)
    steps = min(STEPS, max(len(one.at_ns) for one in found) - 1)
    if end <= start or steps < 1:
        return []
    edges = [start + (end - start) * step / steps for step in range(steps + 1)]
    totals = [sum(interpolated(one, edge) for one in found) for edge in edges]
    wide = (end - start) / steps / 1e9
    rates = [max(0.0, after - before) / wide for before, after in itertools.pairwise(totals)]
    return [((edge - phase.start_ns) / 1e9, value) for edge, value in zip(edges, [*rates, rates[-1]], strict=True)]


def interpolated(one: Series, when: float) -> float:
    """The counter at a time (ns), by straight lines between its samples."""
    index = bisect_left(one.at_ns, when)
    if index == 0:
        return one.value[0]
    if index >= len(one.at_ns):
        return one.value[-1]
    before, after = one.at_ns[index - 1], one.at_ns[index]
    part = (when - before) / (after - before) if after > before else 1.0
    return one.value[index - 1] + part * (one.value[index] - one.value[index - 1])


def gauges(phase: Phase, series: Sequence[Series], layer: str, metrics: tuple[str, ...]) -> Lines:
    """Gauges as read, neighbours averaged where there are too many; samples before the start are left out."""
    lines = []
    for metric in metrics:
        for one in series:
            if (one.layer, one.metric, one.subject) != (layer, metric, "") or not len(one.at_ns):
                continue
            least = SHORT_NS if layer == "cpu" else 0
            kept = [
                index
                for index, at in enumerate(one.at_ns)
                if at >= phase.start_ns and (not index or at - one.at_ns[index - 1] >= least)
            ]
            every = max(1, -(-len(kept) // STEPS))
            groups = [kept[index : index + every] for index in range(0, len(kept), every)]
            points = [
                ((one.at_ns[group[0]] - phase.start_ns) / 1e9, sum(one.value[index] for index in group) / len(group))
                for group in groups
            ]
            lines.append((metric.rpartition("_")[0], points))
    return tuple(lines)


@dataclass(frozen=True, kw_only=True)
class LineTrend:
    """How a line goes from the beginning to the end of a phase: the means of its first tenth, middle third and last tenth."""

    first: float
    middle: float
    last: float

    @property
    def times(self) -> float | None:
        """How many times the first tenth the last one is; None where one of them is nothing."""
        return self.last / self.first if self.first > 0 and self.last > 0 else None

    @property
    def swing(self) -> float | None:
        """How many times the smallest of the three the largest is, where the middle lies beyond both ends; None elsewhere."""
        low, high = sorted((self.first, self.last))
        if low <= 0 or self.middle <= 0 or low / BEYOND_ENDS <= self.middle <= high * BEYOND_ENDS:
            return None
        return max(high, self.middle) / min(low, self.middle)


TREND_POINTS = 10
"""A line of fewer points has no trend worth a word."""
BEYOND_ENDS = 1.5
"""A middle beyond both ends by more than this factor is neither a rise nor a fall."""


def trend(points: Points, until_s: float) -> LineTrend | None:
    """Give the trend of a line up to the time at which the clock stopped; None where it has too few points."""
    values = [value for at, value in points if at <= until_s]
    count = len(values)
    if count < TREND_POINTS:
        return None
    tenth, third = max(1, count // 10), count // 3
    first, middle, last = values[:tenth], values[third : count - third], values[-tenth:]
    return LineTrend(first=sum(first) / tenth, middle=sum(middle) / len(middle), last=sum(last) / tenth)
