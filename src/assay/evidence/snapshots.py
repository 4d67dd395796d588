"""From snapshots to evidence: what every observer needs to turn two looks at a counter into a reading.

Pure functions over records; nothing here touches a machine. A phase has up to four edges, and each span lies between
two of them: before the clock quiet..armed, under the clock armed..last, the drain last..drained.
"""

from __future__ import annotations

import itertools
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from assay.errors import EvidenceError
from assay.frozen import dataclass
from assay.records import Direction, Edge, Fact, FactClass, Reading, Rung, Series, Snapshot, Span, When

SPANS: Mapping[Span, tuple[Edge, Edge]] = {
    Span.BEFORE: (Edge.QUIET, Edge.ARMED),
    Span.CLOCK: (Edge.ARMED, Edge.LAST),
    Span.DRAIN: (Edge.LAST, Edge.DRAINED),
}
Points = Sequence[tuple[int, float]]
"""(time in ns relative to T0, value) in order of time."""


@dataclass(frozen=True, kw_only=True)
class Origin:
    """Where evidence comes from: the same for all readings and series that one observer makes of one phase."""

    host: str
    phase: str
    source: str
    layer: str


Counters = Mapping[str, int]
"""Name -> count, as one look found it."""


@dataclass(frozen=True, kw_only=True)
class RungCounter:
    """One way past a rung, with the names of the counters of its bytes and of its operations."""

    rung: Rung
    direction: Direction
    bytes: str | None
    operations: str | None
    uncertainty_bytes: int = 0


def texts(read: Callable[[str], str], paths: Iterable[str]) -> dict[str, object]:
    """The text of each path; `{"error": reason}` instead of a text where the file cannot be read."""
    found: dict[str, object] = {}
    for path in paths:
        try:
            found[path] = read(path)
        except OSError as error:
            found[path] = {"error": error.strerror or str(error)}
    return found


def named_texts(read: Callable[[str], str], files: Mapping[str, str]) -> dict[str, object]:
    """Return name -> text of the files that can be read, from name -> path."""
    found = texts(read, files.values())
    return {name: found[path] for name, path in files.items() if isinstance(found[path], str)}


def text_of(snapshot: Snapshot, path: str) -> str | None:
    """The text that a snapshot holds of a path, None where it could not be read."""
    found = snapshot.raw.get(path)
    return found if isinstance(found, str) else None


def why_not(snapshots: Sequence[Snapshot], path: str) -> str | None:
    """Why a path could not be read, from the first snapshot in which it failed; None where it always could."""
    for snapshot in snapshots:
        found = snapshot.raw.get(path)
        if isinstance(found, Mapping):
            return f"{path}: {found.get('error')}"
        if not isinstance(found, str):
            return f"{path}: not read"
    return None


def edges(snapshots: Sequence[Snapshot]) -> Iterator[tuple[Span, Snapshot, Snapshot]]:
    """Each span of the phase whose two edges were both seen, with the snapshots at its ends."""
    at = {snapshot.edge: snapshot for snapshot in snapshots}
    for span, (first, last) in SPANS.items():
        if first in at and last in at:
            yield span, at[first], at[last]


def rise(before: int, after: int, counter: str) -> int:
    """By how much a counter rose. Raises EvidenceError where it fell: it was reset or it wrapped round (E02)."""
    if after < before:
        raise EvidenceError(
            f"found counter {counter} falling from {before} to {after} (reset or wrapped around); expected it to rise"
        )
    return after - before


def readings(
    origin: Origin, subject: str, looks: Sequence[tuple[Snapshot, Counters]], ways: Sequence[RungCounter]
) -> Iterator[Reading]:
    """Yield the rise of counters in each span, without ways that the kernel does not count. Raises EvidenceError if one falls."""
    at = {snapshot.edge: counters for snapshot, counters in looks}
    for span, first, last in edges([snapshot for snapshot, _ in looks]):
        before, after = at[first.edge], at[last.edge]
        for way in ways:
            names = [name for name in (way.bytes, way.operations) if name is not None]
            if all(name in before and name in after for name in names):
                risen = {name: rise(before[name], after[name], f"{name} of {subject}") for name in names}
                yield Reading(
                    phase=origin.phase,
                    rung=way.rung,
                    source=origin.source,
                    host=origin.host,
                    subject=subject,
                    direction=way.direction,
                    bytes=None if way.bytes is None else risen[way.bytes],
                    operations=None if way.operations is None else risen[way.operations],
                    from_ns=first.at_ns,
                    to_ns=last.at_ns,
                    span=span,
                    uncertainty_bytes=way.uncertainty_bytes,
                )


def gauge(origin: Origin, subject: str, metric: str, unit: str, points: Points) -> Series:
    """A figure over time as it was read."""
    return Series(
        phase=origin.phase,
        source=origin.source,
        layer=origin.layer,
        host=origin.host,
        subject=subject,
        metric=metric,
        unit=unit,
        at_ns=array("q", (at for at, _ in points)),
        value=array("d", (value for _, value in points)),
    )


def counter(origin: Origin, subject: str, metric: str, unit: str, points: Points) -> Series:
    """A counter over time, from 0 at its first sample. Raises EvidenceError where it falls."""
    for (_, before), (_, after) in itertools.pairwise(points):
        rise(int(before), int(after), f"{metric} of {subject or origin.host}")
    first = points[0][1] if points else 0.0
    return gauge(origin, subject, metric, unit, [(at, value - first) for at, value in points])


def number(text: str, where: str) -> int:
    """A whole number as the kernel prints it. Raises EvidenceError naming where it stood."""
    try:
        return int(text)
    except ValueError:
        raise EvidenceError(f"found {text[:40]!r} in {where}; expected a whole number") from None


def named_numbers(text: str, where: str) -> dict[str, int]:
    """Lines of `name number` or `name: number [kB]` as a mapping; kB are given in bytes. Raises EvidenceError."""
    found: dict[str, int] = {}
    for line in text.splitlines():
        words = line.replace(":", " ", 1).split()
        if len(words) not in (2, 3):
            raise EvidenceError(f"found line {line[:60]!r} in {where}; expected a name and a number")
        found[words[0]] = number(words[1], where) * (1024 if words[2:] == ["kB"] else 1)
    return found


def paired_numbers(text: str, head: str, names: Mapping[str, str], where: str) -> dict[str, int]:
    """Parse two lines that begin with `head`, one of names and one of numbers, as metric -> number. Raises EvidenceError."""
    rows = [line.split()[1:] for line in text.splitlines() if line.startswith(head)]
    found = dict(zip(*rows, strict=True)) if len(rows) == 2 else {}
    if not set(names.values()) <= set(found):
        raise EvidenceError(f"found no {', '.join(names.values())} in {where}; expected them in its two {head[:-1]} lines")
    return {metric: number(found[name], where) for metric, name in names.items()}


INTERFACE_COLUMNS = {
    "rx_bytes": 0,
    "rx_packets": 1,
    "rx_errors": 2,
    "rx_drops": 3,
    "tx_bytes": 8,
    "tx_packets": 9,
    "tx_errors": 10,
    "tx_drops": 11,
}
"""Columns of /proc/net/dev after the name of the interface."""


def interfaces(text: str, where: str) -> dict[str, Counters]:
    """Parse the counters of each network interface, as /proc/net/dev has them. Raises EvidenceError."""
    found: dict[str, Counters] = {}
    for line in text.splitlines()[2:]:
        name, colon, rest = line.partition(":")
        words = rest.split()
        if not colon or len(words) < 12:
            raise EvidenceError(f"found line {line[:60]!r} in {where}; expected an interface with 16 counters")
        found[name.strip()] = {metric: number(words[column], where) for metric, column in INTERFACE_COLUMNS.items()}
    return found


def interface_ways(rung: Rung) -> tuple[RungCounter, ...]:
    """Return the ways past a network interface: received bytes are read, sent bytes written."""
    return (
        RungCounter(rung=rung, direction=Direction.READ, bytes="rx_bytes", operations="rx_packets"),
        RungCounter(rung=rung, direction=Direction.WRITE, bytes="tx_bytes", operations="tx_packets"),
    )


def process_ways(above: Rung, below: Rung) -> tuple[RungCounter, ...]:
    """Return the ways that /proc/PID/io counts above and below the page cache.

    The kernel counts storage I/O in whole pages of 4,096 bytes: one byte at each end of a transfer may count as a page.
    """
    return (
        RungCounter(rung=above, direction=Direction.READ, bytes="rchar", operations="syscr"),
        RungCounter(rung=above, direction=Direction.WRITE, bytes="wchar", operations="syscw"),
        RungCounter(rung=below, direction=Direction.READ, bytes="read_bytes", operations=None, uncertainty_bytes=4096),
        RungCounter(rung=below, direction=Direction.WRITE, bytes="write_bytes", operations=None, uncertainty_bytes=4096),
    )


def trial_facts(
    host: str,
    snapshots: Sequence[Snapshot],
    values: Callable[[Snapshot], Mapping[str, str]],
    class_of: Callable[[str], FactClass],
) -> tuple[Fact, ...]:
    """Return the facts before and after a trial, sorted by key; `values` gives those of one look."""
    return tuple(
        Fact(
            host=host,
            when=When.AFTER if snapshot.edge is Edge.TRIAL_END else When.BEFORE,
            key=key,
            value=value,
            fact_class=class_of(key),
        )
        for snapshot in snapshots
        for key, value in sorted(values(snapshot).items())
    )
