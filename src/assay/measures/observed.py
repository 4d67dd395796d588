"""Figures of a host: `@HOST.cpu_share`, `@HOST.box_drops` of a box between two ends, `@HOST.observe.NAME` of a command.

A gauge gives its mean over the time in which the operations ran, and `.max` its largest sample; a counter gives its rise
between the samples around that time over the time between them.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping

from assay.evidence import ladder, observed, served
from assay.records import ABSOLUTE, Observations, ObserveKind, ObserveSpec, Phase, Series
from assay.units import Unit

LAYER = observed.LAYER
INFIX = f".{LAYER}."
"""Between the host and the metric of a command."""
MAX = ".max"
RATES: Mapping[str, Unit] = {
    Unit.NONE: Unit.PER_S,
    Unit.COUNT: Unit.PER_S,
    Unit.BYTES: Unit.BYTES_PER_S,
    Unit.NANOSECONDS: Unit.SHARE,
}
"""Unit of a counter -> unit of its rise over time."""
BUSY_METRICS, TOTAL_METRIC = ("user_ns", "system_ns"), "total_ns"
"""Cumulative CPU time of a whole host, as the cpu observer gives it (layer cpu)."""


def figures(spec: ObserveSpec) -> Mapping[str, Unit]:
    """What follows `@HOST.` for a command -> the unit of the figure."""
    units = {metric: Unit(unit) for metric, unit in observed.metrics(spec).items()}
    if spec.kind is ObserveKind.COUNTER:
        return {f"{LAYER}.{metric}": RATES[unit] for metric, unit in units.items()}
    return {f"{LAYER}.{metric}{end}": unit for metric, unit in units.items() for end in ("", MAX)}


def cpu_share(phase: Phase, observations: Observations, host: str) -> float | None:
    """User and system time over all CPU time of that host while the phase's operations ran."""
    own = observations.on(host)
    rises = {
        metric: risen
        for metric in (*BUSY_METRICS, TOTAL_METRIC)
        for series in own.over_time(phase.name, "cpu", metric, ABSOLUTE)
        if (risen := ladder.rise(series, phase.start_ns, phase.end_ns)) is not None
    }
    total = rises.get(TOTAL_METRIC)
    if not total or any(metric not in rises for metric in BUSY_METRICS):
        return None
    return sum(rises[metric] for metric in BUSY_METRICS) / total


BOX = "middlebox"
"""The layer of the box between the two ends of a workload."""


def on_host(phase: Phase, observations: Observations, host: str, name: str) -> float | None:
    """A figure that follows `@HOST.`; None where that host has no such evidence.

    The CPU time of a box and of a server is a share of one CPU.
    """
    if name == "cpu_share":
        return cpu_share(phase, observations, host)
    own = observations.on(host)
    if name == "server_cpu_share":
        spent, time_ns = served.rose(phase, own, "run_ns"), phase.lasted_ns
        return spent / time_ns if spent is not None and time_ns > 0 else None
    if name == "box_drops":
        lost = [_box(phase, own, metric) for metric in ("dropped", "shaper_dropped", "invalid", "output_discards")]
        known = [one for one in lost if one is not None]
        return ladder.rises(known, phase.start_ns, phase.end_ns) if lost[0] is not None else None
    series = _box(phase, own, "packets" if name == "box_packets_per_s" else "cpu_ns")
    rate = None if series is None else ladder.rate(series, phase.start_ns, phase.end_ns)
    return None if rate is None else rate * (1e9 if name == "box_packets_per_s" else 1)


def _box(phase: Phase, own: Observations, metric: str) -> Series | None:
    return next(iter(own.over_time(phase.name, BOX, metric, ABSOLUTE)), None)


def by_command(phase: Phase, observations: Observations, host: str, metric: str) -> tuple[float, Unit] | None:
    """The figure of a metric that a command counts, with its unit; None where there is no such series."""
    name = metric.removesuffix(MAX)
    series = next(
        (
            one
            for one in observations.series
            if (one.phase, one.layer, one.host, one.metric) == (phase.name, LAYER, host, name) and one.at_ns
        ),
        None,
    )
    if series is None or (observed.counts(series) and metric != name):
        return None
    if observed.counts(series):
        rate = ladder.rate(series, phase.start_ns, phase.end_ns)
        unit = RATES[series.unit]
        return None if rate is None else (rate if unit is Unit.SHARE else rate * 1e9, unit)
    of = mean if metric == name else largest
    return of(series, phase.start_ns, phase.end_ns), Unit(series.unit)


def mean(series: Series, from_ns: int, to_ns: int) -> float:
    """The mean of a gauge over a time, straight between samples and level beyond the first and the last one."""
    inside = [(at, value) for at, value in zip(series.at_ns, series.value, strict=True) if from_ns < at < to_ns]
    points = [(from_ns, _at(series, from_ns)), *inside, (to_ns, _at(series, to_ns))]
    if to_ns <= from_ns:
        return points[0][1]
    area = sum((right[0] - left[0]) * (left[1] + right[1]) / 2 for left, right in itertools.pairwise(points))
    return area / (to_ns - from_ns)


def largest(series: Series, from_ns: int, to_ns: int) -> float:
    """The largest sample of a gauge within a time, else the larger one of those around it."""
    inside = [value for at, value in zip(series.at_ns, series.value, strict=True) if from_ns <= at <= to_ns]
    around = (ladder.latest_sample(series, from_ns), ladder.value_after(series, to_ns))
    return max(inside or [value for value in around if value is not None])


def _at(series: Series, when_ns: int) -> float:
    """A gauge at a time, straight between the samples around it."""
    points = list(zip(series.at_ns, series.value, strict=True))
    before = max((point for point in points if point[0] <= when_ns), default=points[0])
    after = min((point for point in points if point[0] >= when_ns), default=points[-1])
    if after[0] <= before[0]:
        return before[1]
    return before[1] + (after[1] - before[1]) * (when_ns - before[0]) / (after[0] - before[0])
