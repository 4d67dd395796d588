"""The share of a declared limit that was used: bytes or operations per second over those that the limit lets through."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from enum import StrEnum

from assay.evidence import ladder
from assay.frozen import dataclass
from assay.records import Limit, Observations, Phase, Series
from assay.units import Unit


class Traffic(StrEnum):
    """Whose I/O is counted at a device that other processes use as well."""

    LOAD = "the load's"
    """Without what other processes would have moved by the idle baselines: at least so much."""
    ALL = "everybody's"
    """As counted: at most so much."""


@dataclass(frozen=True, kw_only=True)
class Credit:
    """What a limit lets through beyond its rate: a share of it, and so many seconds of it at once (a throttle's slice)."""

    share: float = 1.0
    burst_s: float = 0.0


@dataclass(frozen=True, kw_only=True)
class LimitUse:
    """A rate against a declared limit."""

    name: str
    """Of the device or link."""
    per_s: float
    """The limit, in `unit`."""
    rate: float
    seconds: float
    """The time over which the rate was taken."""
    unit: Unit
    credit: Credit = Credit()
    by_device: bool = False
    """Whether the device itself counted what passed it."""
    of_path: bool = False
    """Whether it is the lab's own path between clients and server."""
    measured: bool = False
    """Whether the limit is no declaration, but what another workload of the trial reached."""

    @property
    def share(self) -> float:
        """The rate over the limit; above 1 on credit, or where the limit was not in force."""
        return share(self.rate, self.per_s)

    @property
    def amount(self) -> float:
        """Bytes or operations in that time."""
        return self.rate * self.seconds

    @property
    def allowed(self) -> float:
        """The highest rate that the limit lets through over so long a time."""
        return self.per_s * (self.credit.share + self.credit.burst_s / self.seconds)


def share(rate: float, per_s: float) -> float:
    """A rate over a limit."""
    return rate / per_s


def uses(limit: Limit, rates: tuple[float | None, float | None], seconds: float, credit: Credit) -> Iterator[LimitUse]:
    """What was used of a limit in bytes and in operations, from both rates; a rate that is None is held against none."""
    both = ((limit.bytes_per_s, rates[0], Unit.BYTES_PER_S), (limit.ops_per_s, rates[1], Unit.PER_S))
    for per_s, rate, unit in both:
        if per_s and rate is not None:
            yield LimitUse(name=limit.device, per_s=per_s, rate=rate, seconds=seconds, unit=unit, credit=credit)


def of_device(phase: Phase, observations: Observations, limit: Limit, traffic: Traffic) -> tuple[LimitUse, ...]:
    """What was used of a device's limit under the clock, by the device's own counters; empty where nobody read them."""
    step, seconds = ladder.limited(phase, observations, limit), phase.lasted_ns / 1e9
    if step is None or seconds <= 0:
        return ()
    counted = (step.raw_bytes, step.raw_operations) if traffic is Traffic.ALL else (step.bytes, step.operations)
    return tuple(uses(limit, (counted[0] / seconds, counted[1] / seconds), seconds, Credit()))


PORT_METRICS = ("rx_bytes", "tx_bytes")
FEWEST_REFRESHES = 3
"""A port's rate is taken over at least so many refreshes of its counters."""


def of_port(
    phase: Phase, observations: Observations, port: tuple[str, str], name: str, limit: tuple[float, float]
) -> LimitUse | None:
    """What was used of a port's limit in the busier direction while the phase ran, by the counters of the device itself.

    `port` is host and name, `limit` bytes a second and the share of them that is let through. Counters stand still between two
    refreshes, so the rate is that between two of their changes; a change is seen at most one look late. None where nobody counted
    them, or over fewer than three refreshes.
    """
    host, interface = port
    rates = [
        found
        for metric in PORT_METRICS
        for one in observations.on(host).over_time(phase.name, "network", metric, f"interface:{interface}")
        if (found := _between_changes(one, phase.start_ns, phase.end_ns)) is not None
    ]
    if not rates:
        return None
    rate, seconds, look_s = max(rates)
    credit = Credit(share=limit[1], burst_s=look_s)
    return LimitUse(name=name, per_s=limit[0], rate=rate, seconds=seconds, unit=Unit.BYTES_PER_S, credit=credit, by_device=True)


def _between_changes(series: Series, from_ns: int, to_ns: int) -> tuple[float, float, float] | None:
    """The rate between the first and the last change within a time, over how long (s), and the time between two looks (s)."""
    points = [(at, value) for at, value in zip(series.at_ns, series.value, strict=True) if from_ns <= at <= to_ns]
    changes = [after for before, after in itertools.pairwise(points) if after[1] > before[1]]
    if len(changes) <= FEWEST_REFRESHES:
        return None
    (first_ns, first), (last_ns, last) = changes[0], changes[-1]
    gaps = sorted(after - before for (before, _), (after, _) in itertools.pairwise(points))
    look_ns = gaps[len(gaps) // 2]
    return (last - first) * 1e9 / (last_ns - first_ns), (last_ns - first_ns) / 1e9, look_ns / 1e9
