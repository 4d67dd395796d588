"""Looks at recorded and live hosts, for the tests of the observers."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path

from assay.catalogue import Evidence, Observer
from assay.hosts.local import Local
from assay.records import Edge, Reading, Series, Snapshot, Subject

HOSTS = Path(__file__).parent.parent / "fixtures" / "hosts"
PHASE_EDGES = (Edge.QUIET, Edge.ARMED, Edge.LAST, Edge.DRAINED)
SECOND_NS = 1_000_000_000
Changes = Mapping[str, Callable[[str], str]]


def recorded(name: str) -> Local:
    return Local(name=name, root=HOSTS / name)


def look(observer: Observer, host: Local, subject: Subject, edge: Edge, at_s: float) -> Snapshot:
    return Snapshot(edge=edge, at_ns=int(at_s * SECOND_NS), took_ns=1000, raw=dict(observer.read(host, subject)))


def replayed(observer: Observer, host: Local, subject: Subject, *changes: Changes) -> list[Snapshot]:
    """A phase of a recorded host: one look at each edge, 1 s apart; changes[i] edits the texts from edge i + 1 on."""
    raw = dict(observer.read(host, subject))
    snapshots = []
    for at, edge in enumerate(PHASE_EDGES):
        if 0 < at <= len(changes):
            edits = changes[at - 1]
            assert set(edits) <= set(raw), "the observer does not read what the test changes"
            raw = {path: edits[path](text) if path in edits else text for path, text in raw.items()}
        snapshots.append(Snapshot(edge=edge, at_ns=(at - 1) * SECOND_NS, took_ns=1000, raw=raw))
    return snapshots


def bumped(pattern: str, by: int) -> Callable[[str], str]:
    """Adds to the number that a pattern's last group holds."""

    def edit(text: str) -> str:
        edited, count = re.subn(
            pattern, lambda m: m[0][: m.start(m.lastindex) - m.start(0)] + str(int(m[m.lastindex]) + by), text
        )
        assert count == 1, f"{pattern} was found {count} times"
        return edited

    return edit


def the_series(evidence: Evidence, metric: str, subject: str = "", layer: str | None = None) -> Series:
    found = [one for one in evidence.series if (one.metric, one.subject) == (metric, subject) and layer in (None, one.layer)]
    assert len(found) == 1, f"{metric} of {subject!r}: found {len(found)} series"
    return found[0]


def readings(evidence: Evidence, **wanted: object) -> list[Reading]:
    return [one for one in evidence.readings if all(getattr(one, name) == value for name, value in wanted.items())]
