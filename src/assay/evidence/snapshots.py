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
from assay.records import Direction, Edge, Reading, Rung, Series, Snapshot, Span

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


@dataclass(frozen=True, kw_only=True)
class Passed:
    """What passed a rung in one direction between two edges."""

    rung: Rung
    subject: str
    direction: Direction
    bytes: int | None
    operations: int | None
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


def reading(origin: Origin, span: Span, ends: tuple[Snapshot, Snapshot], passed: Passed) -> Reading:
    """One reading of the ladder between two snapshots."""
    return Reading(
        phase=origin.phase,
        rung=passed.rung,
        source=origin.source,
        host=origin.host,
        subject=passed.subject,
        direction=passed.direction,
        bytes=passed.bytes,
        operations=passed.operations,
        from_ns=ends[0].at_ns,
        to_ns=ends[1].at_ns,
        span=span,
        uncertainty_bytes=passed.uncertainty_bytes,
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
