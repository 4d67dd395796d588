"""The layers of a phase over time where several hosts took part: all of the load together, and what differs by host.

Bytes of the application and of the target's devices are in one strip, as on one host. Of the work, the dirty data, the network
and the CPUs there is a line a host; of more than a few load hosts the median, and the host that is furthest from it, by name.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from statistics import fmean, median

from assay.measures import timelines
from assay.measures.timelines import GAUGED, STEPS, Lines, Points, Strip
from assay.records import ABSOLUTE, Observations, Phase, Run, Series, sides

FEW = 4
"""Load hosts that have a line each."""
WAYS: Mapping[str, str] = {"rx_bytes": "received", "tx_bytes": "sent"}
ByHost = Mapping[str, Points]
"""Host -> its line."""


def strips(run: Run, phase: Phase, seen: Observations) -> tuple[Strip, ...]:
    """The layers from the application down; what was not observed is left out."""
    both = [one for one in sides.whole(run, seen).series if one.phase == phase.name]
    first = [
        strip for strip in timelines.strips(phase, both) if strip.title in ("throughput", "operations per second", "devices")
    ]
    own = {host: [one for one in seen.on(host).series if one.phase == phase.name] for host in run.host_names}
    what = "bytes" if any(strip.title == "throughput" for strip in first) else "count"
    unit = "bytes/s" if what == "bytes" else "1/s"
    made = (
        ("each load host", unit, _each(own, lambda series: _done(phase, series, what)), "slowest", None),
        ("dirty data", "bytes", _each(own, lambda series: _gauge(phase, series, "memory", ("dirty_bytes",))), "most", None),
        ("network", "bytes/s", _each(own, lambda series: _wire(phase, series)), "busiest", None),
        (
            "CPUs",
            "share",
            _each(own, lambda series: _gauge(phase, series, "cpu", ("user_share", "system_share"))),
            "busiest",
            1.0,
        ),
    )
    by_host = (
        Strip(title=title, unit=unit, lines=_lines(phase, found, far), steps=unit.endswith("/s"), ceiling=ceiling, hosts=True)
        for title, unit, found, far, ceiling in made
    )
    return (*first, *(strip for strip in by_host if len(strip.lines) > 1))


def _each(own: Mapping[str, Sequence[Series]], line: Callable[[Sequence[Series]], Points]) -> ByHost:
    """The line of each host that has one."""
    return {host: points for host, series in own.items() if len(points := line(series)) > 1}


def _lines(phase: Phase, found: ByHost, far: str) -> Lines:
    """A line a host, or the median of the load hosts with the one furthest from it; then those of the target."""
    load = {host: points for host, points in found.items() if host in phase.load_hosts}
    apart = [(host, points) for host, points in found.items() if host not in load]
    if len(load) <= FEW:
        return (*load.items(), *apart)
    means = {host: fmean(value for _, value in points) for host, points in load.items()}
    host = (min if far == "slowest" else max)(means, key=means.__getitem__)
    return ((f"median of {len(load)}", _median(load)), (f"{far}: {host}", load[host]), *apart)


def _median(load: ByHost) -> Points:
    """The median of all hosts at equal steps of time: of each its last figure by then."""
    end = max(points[-1][0] for points in load.values())
    steps = min(STEPS, max(map(len, load.values())))
    times = {host: [at for at, _ in points] for host, points in load.items()}
    edges = [end * step / steps for step in range(steps + 1)]
    return [
        (edge, median(points[max(0, bisect_right(times[host], edge) - 1)][1] for host, points in load.items())) for edge in edges
    ]


def _done(phase: Phase, series: Sequence[Series], what: str) -> Points:
    """What all clients of a host did of all operations, per second."""
    names = {f"{operation}.{what}" for operation in phase.operations}
    counters = [one for one in series if one.layer == "application" and one.metric in names and len(one.at_ns)]
    found = [whole for one in counters if len((whole := timelines.from_zero(phase, one)).at_ns) > 1]
    return timelines.rate(phase, found) if found else []


def _wire(phase: Phase, series: Sequence[Series]) -> Points:
    """Bytes per second of the interface and direction of a host that carried most; what goes over the loopback is left out."""
    counters = [
        one
        for one in series
        if one.layer == "network" and one.metric in WAYS and len(one.at_ns) > 1 and one.subject not in ("interface:lo", ABSOLUTE)
    ]
    most = max(counters, key=lambda one: one.value[-1] - one.value[0], default=None)
    return [] if most is None or most.value[-1] <= most.value[0] else timelines.rate(phase, [most])


def _gauge(phase: Phase, series: Sequence[Series], layer: str, metrics: Sequence[str]) -> Points:
    """The sum of gauges of a whole host, which were read at the same times."""
    found = [dict(points) for metric in metrics for _, points in timelines.gauges(phase, series, layer, (metric,))]
    if len(found) < len(metrics) or len(found[0]) < GAUGED:
        return []
    return [(at, sum(each.get(at, 0.0) for each in found)) for at in found[0]]
