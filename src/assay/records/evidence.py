"""What was seen: readings of the ladder of bytes, series over time, histograms, facts."""

from __future__ import annotations

import functools
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping
from enum import StrEnum
from typing import Any, TypeVar

from assay.frozen import dataclass

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
    SEND = "send"
    RECEIVE = "receive"
    REQUEST = "request"
    """A request that is answered, whatever bytes it moves (LDAP, S3)."""

    @property
    def of_storage(self) -> bool:
        """Whether storage is read, written or changed by it: of the other directions no storage rule speaks."""
        return self not in (Direction.SEND, Direction.RECEIVE, Direction.REQUEST)


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
class Missing:
    """A piece of evidence that could not be had of a host, in one phase or in the whole trial, and why."""

    host: str
    phase: str | None
    key: str
    reason: str


def missing_on(host: str, phase: str | None, reasons: Mapping[str, str]) -> tuple[Missing, ...]:
    """The same from reasons by evidence key."""
    return tuple(Missing(host=host, phase=phase, key=key, reason=reason) for key, reason in reasons.items())


@dataclass(frozen=True, kw_only=True)
class Gap:
    """The longest gap between two samples of an observer in units of its interval, times 1000 (E02)."""

    host: str
    phase: str | None
    """None in notebooks that kept the longest of the whole run."""
    observer: str
    thousandths: int


NAMED = 3
"""So many hosts are named in a reason."""
KINDS = ("readings", "series", "histograms", "facts", "missing", "gaps")
"""The kinds of evidence; each item of each names its host."""


@dataclass(frozen=True, kw_only=True)
class Observations:
    """All evidence of one run, and what is missing of it.

    Evidence of several hosts is looked at through `on`, which names one host or several: nothing is added up over hosts
    that nobody asked for by name.
    """

    readings: tuple[Reading, ...] = ()
    series: tuple[Series, ...] = ()
    histograms: tuple[Histogram, ...] = ()
    facts: tuple[Fact, ...] = ()
    missing: tuple[Missing, ...] = ()
    gaps: tuple[Gap, ...] = ()
    together: bool = False
    """Whether several hosts were asked for by name, to be looked at together."""

    def on(self, *hosts: str) -> Observations:
        """The evidence of these hosts alone; that of several is looked at together."""
        wanted = frozenset(hosts)
        if self.hosts <= wanted and (len(self.hosts) < 2 or self.together):
            return self
        if len(wanted) == 1:
            return self._apart.get(hosts[0], Observations())
        if wanted not in self.views:
            parts: dict[str, Any] = {kind: tuple(one for one in getattr(self, kind) if one.host in wanted) for kind in KINDS}
            self.views[wanted] = Observations(**parts, together=True)
        return self.views[wanted]

    def on_all(self) -> Observations:
        """The evidence of all hosts together."""
        return self.on(*self.hosts)

    @functools.cached_property
    def hosts(self) -> frozenset[str]:
        """The hosts of which there is evidence, or of which it is known to be missing."""
        return frozenset(one.host for kind in KINDS for one in getattr(self, kind))

    def rung(
        self, phase: str, rung: Rung, direction: Direction, span: Span = Span.CLOCK, subject: str | None = None
    ) -> Iterator[Reading]:
        """The readings of one rung in one direction within one span of a phase; of reads and writes those that tell bytes."""
        found = self._readings.get((phase, rung, direction, span), ())
        moves = direction in (Direction.READ, Direction.WRITE)
        known = (reading for reading in found if not moves or reading.bytes is not None)
        return (reading for reading in known if subject is None or reading.subject == subject)

    def over_time(self, phase: str, layer: str, metric: str, subject: str | None = None) -> Iterator[Series]:
        """The series of one metric of one layer in a phase."""
        found = self._series.get((phase, layer, metric), ())
        return (series for series in found if subject is None or series.subject == subject)

    def fact(self, key: str, when: When = When.BEFORE, host: str | None = None) -> str | None:
        """The value of a fact; None where it is not known, or where several hosts that are looked at together differ."""
        if host is not None and self.hosts != {host}:
            return self.on(host).fact(key, when)
        found: dict[str, str] = {}
        for fact in self._facts.get((key, when), ()):
            found.setdefault(fact.host, fact.value)
        values = set(found.values())
        return values.pop() if len(values) == 1 else None

    def why_missing(self, key: str) -> str | None:
        """Why a piece of evidence could not be had; None where no reason is known.

        Of several hosts that are looked at together, those that lack it are named, or their number is.
        """
        why: dict[str, dict[str, None]] = {}
        for one in self.missing:
            if one.key == key:
                why.setdefault(one.reason, {})[one.host] = None
        if not self.together or len(self.hosts) < 2:
            return next(iter(why), None)
        texts = (f"on {', '.join(on) if len(on) <= NAMED else f'{len(on)} hosts'}: {reason}" for reason, on in why.items())
        return "; ".join(texts) or None

    def longest_gaps(self) -> dict[str, int]:
        """Observer -> longest gap between two of its samples in units of its interval, times 1000."""
        longest: dict[str, int] = {}
        for gap in self.gaps:
            longest[gap.observer] = max(gap.thousandths, longest.get(gap.observer, 0))
        return longest

    @functools.cached_property
    def views(self) -> dict[frozenset[str], Observations]:
        """Parts of it that were asked for, by what was asked."""
        return {}

    @functools.cached_property
    def _apart(self) -> Mapping[str, Observations]:
        """The evidence of each host, in one walk over all of it."""
        found: dict[str, dict[str, Any]] = {}
        for kind in KINDS:
            for one in getattr(self, kind):
                found.setdefault(one.host, {}).setdefault(kind, []).append(one)
        return {host: Observations(**_tuples(each)) for host, each in found.items()}

    @functools.cached_property
    def _readings(self) -> Mapping[tuple[str, Rung, Direction, Span], list[Reading]]:
        return _grouped(self._named(self.readings), lambda one: (one.phase, one.rung, one.direction, one.span))

    @functools.cached_property
    def _series(self) -> Mapping[tuple[str, str, str], list[Series]]:
        return _grouped(self._named(self.series), lambda one: (one.phase, one.layer, one.metric))

    @functools.cached_property
    def _facts(self) -> Mapping[tuple[str, When], list[Fact]]:
        return _grouped(self._named(self.facts), lambda one: (one.key, one.when))

    def _named(self, items: Iterable[Item]) -> Iterable[Item]:
        """The items, where one host has all evidence or several were asked for by name. Raises LookupError."""
        if len(self.hosts) > 1 and not self.together:
            raise LookupError(f"evidence of the hosts {', '.join(sorted(self.hosts))}: name one, or all of them")
        return items


def _tuples(each: Mapping[str, list[Any]]) -> dict[str, Any]:
    return {kind: tuple(items) for kind, items in each.items()}


def _grouped(items: Iterable[Item], key: Callable[[Item], Key]) -> dict[Key, list[Item]]:
    """Items by their key: they are looked up thousands of times a run."""
    found: dict[Key, list[Item]] = {}
    for item in items:
        found.setdefault(key(item), []).append(item)
    return found
