"""The share of a declared limit that was used: bytes or operations per second over those that the limit lets through."""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum

from assay.evidence import ladder
from assay.frozen import dataclass
from assay.records import Limit, Observations, Phase
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
    step, seconds = ladder.limited(phase, observations, limit), (phase.end_ns - phase.start_ns) / 1e9
    if step is None or seconds <= 0:
        return ()
    counted = (step.raw_bytes, step.raw_operations) if traffic is Traffic.ALL else (step.bytes, step.operations)
    return tuple(uses(limit, (counted[0] / seconds, counted[1] / seconds), seconds, Credit()))
