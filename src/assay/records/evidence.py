"""What was seen: readings of the ladder of bytes, series over time, histograms, facts."""

from __future__ import annotations

import functools
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping
from enum import StrEnum
from typing import TypeVar

from assay.frozen import dataclass, field

Item = TypeVar("Item")
Key = TypeVar("Key")
ABSOLUTE = ""
"""Subject of evidence that belongs to a whole host."""


class Rung(StrEnum):
    """The ladder of bytes, from the application (L0) down to what cannot be seen (L10)."""

    APPLICATION = "L0"
    SYSCALL = "L1"
    CLIENT_CACHE = "L2"
    CLIENT_NIC = "L3"
    SERVER_NIC = "L4"
    SERVER_PROCESS = "L5"
    SERVER_CACHE = "L6"
    FILESYSTEM = "L7"
    UPPER_DEVICE = "L8"
    LOWEST_DEVICE = "L9"


class Direction(StrEnum):
    """Which way bytes or operations went."""

    READ = "read"
    WRITE = "write"
    FLUSH = "flush"
    DISCARD = "discard"
    METADATA = "metadata"


class Span(StrEnum):
    """Which part of a phase a reading covers."""

    CLOCK = "clock"
    """From arming to the last operation."""
    DRAIN = "drain"
    """From the last operation to the end of the drain."""
    BEFORE = "before"
    """The idle baseline before arming (baseline for attribution)."""


class Edge(StrEnum):
    """At which moment an observer took a snapshot."""

    TRIAL_START = "trial-start"
    QUIET = "quiet"
    """Start of the idle baseline before arming."""
    ARMED = "armed"
    POLL = "poll"
    LAST = "last"
    DRAINED = "drained"
    TRIAL_END = "trial-end"


@dataclass(frozen=True, kw_only=True)
class Snapshot:
    """What an observer read at one moment: JSON-able raw text and numbers, nothing interpreted."""

    edge: Edge
    at_ns: int
    took_ns: int
    """How long the reading took."""
    raw: Mapping[str, object]


@dataclass(frozen=True, kw_only=True)
class Reading:
    """One step of the ladder: bytes and operations that passed a rung within a span of a phase."""

    phase: str
    rung: Rung
    source: str
    """Observer or engine and counter, e.g. `block:/proc/diskstats`, `engine`."""
    host: str
    subject: str
    """`client:0`, `pid:123`, `device:loop0`, `path:/a/b`, `interface:eth0` or ABSOLUTE."""
    direction: Direction
    bytes: int | None
    operations: int | None
    from_ns: int
    to_ns: int
    span: Span = Span.CLOCK
    uncertainty_bytes: int = 0


@dataclass(frozen=True, kw_only=True)
class Series:
    """A figure over time: gauges as read, counters cumulative since the phase's first sample."""

    phase: str
    source: str
    layer: str
    """application, page_cache, block, cpu, memory, pressure, network, cgroup, process."""
    host: str
    subject: str
    metric: str
    """`OPERATION.count|bytes|busy_ns|bucket_N_ns` for layer application (operations of that latency bucket: at most N ns,
    longer than the bucket below); else the observer's own name with its unit."""
    unit: str
    at_ns: array[int]
    """array('q')."""
    value: array[float]
    """array('d')."""


@dataclass(frozen=True, kw_only=True)
class Histogram:
    """Latencies of one operation of one client: recorded HDR buckets (2 significant figures or finer), mergeable."""

    phase: str
    host: str
    subject: str
    operation: str
    upper_ns: array[int]
    """array('q'): highest value of each bucket that has counts, ascending."""
    count: array[int]
    """array('q')."""


class FactClass(StrEnum):
    """What a differing fact means for a comparison."""

    IDENTITY = "identity"
    PERFORMANCE = "performance"
    NOISE = "noise"


class When(StrEnum):
    """Before or after the trial."""

    BEFORE = "before"
    AFTER = "after"


@dataclass(frozen=True, kw_only=True)
class Fact:
    """One thing that is so on a host."""

    host: str
    when: When
    key: str
    value: str
    fact_class: FactClass


@dataclass(frozen=True, kw_only=True)
class Observations:
    """All evidence of one run, and what is missing of it."""

    readings: tuple[Reading, ...] = ()
    series: tuple[Series, ...] = ()
    histograms: tuple[Histogram, ...] = ()
    facts: tuple[Fact, ...] = ()
    missing: Mapping[str, str] = field(default_factory=dict)
    """Evidence key -> why it could not be had."""
    gaps: Mapping[str, int] = field(default_factory=dict)
    """Observer -> longest gap between two of its samples in units of its interval, times 1000 (E02)."""

    def rung(
        self, phase: str, rung: Rung, direction: Direction, span: Span = Span.CLOCK, subject: str | None = None
    ) -> Iterator[Reading]:
        """The readings of one rung in one direction within one span of a phase."""
        found = self._readings.get((phase, rung, direction, span), ())
        return (reading for reading in found if subject is None or reading.subject == subject)

    def over_time(self, phase: str, layer: str, metric: str, subject: str | None = None) -> Iterator[Series]:
        """The series of one metric of one layer in a phase."""
        found = self._series.get((phase, layer, metric), ())
        return (series for series in found if subject is None or series.subject == subject)

    def fact(self, key: str, when: When = When.BEFORE, host: str | None = None) -> str | None:
        """The value of a fact, None where it is not known."""
        return next((fact.value for fact in self._facts.get((key, when), ()) if host in (None, fact.host)), None)

    @functools.cached_property
    def _readings(self) -> Mapping[tuple[str, Rung, Direction, Span], list[Reading]]:
        return _grouped(self.readings, lambda one: (one.phase, one.rung, one.direction, one.span))

    @functools.cached_property
    def _series(self) -> Mapping[tuple[str, str, str], list[Series]]:
        return _grouped(self.series, lambda one: (one.phase, one.layer, one.metric))

    @functools.cached_property
    def _facts(self) -> Mapping[tuple[str, When], list[Fact]]:
        return _grouped(self.facts, lambda one: (one.key, one.when))


def _grouped(items: Iterable[Item], key: Callable[[Item], Key]) -> dict[Key, list[Item]]:
    """What is asked for thousands of times a run, found without looking through all of it."""
    found: dict[Key, list[Item]] = {}
    for item in items:
        found.setdefault(key(item), []).append(item)
    return found
