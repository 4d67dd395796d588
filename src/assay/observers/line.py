"""Reads the counters of the line between load and server: bytes and segments of each direction, losses, drops, delays, CPU time.

Source: the line itself, by its socket. A packet is late if it came later than 5 % of its path's delay, and at
least 0.2 ms, after its time. `unread_packets` are those that the kernel dropped before the line could read them.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from assay.catalogue import Evidence, Host, Observer, Source
from assay.errors import EvidenceError
from assay.evidence.snapshots import Origin, counter, gauge
from assay.machine import line
from assay.records import Snapshot, Subject

ANSWER = "answer"
UNITS: Mapping[str, str] = {
    **dict.fromkeys(("bytes", "delivered_bytes", "queue_most_bytes"), "bytes"),
    **dict.fromkeys(("late_ns", "latest_ns", "cpu_ns", "cpu_wait_ns"), "ns"),
}
"""Of the numbers that are no counts."""
MAXIMA = ("latest_ns", "queue_most_bytes")
"""The most until then; all other numbers only rise."""
METRICS = (
    *("packets", "segments", "bytes", "delivered_packets", "delivered_segments", "delivered_bytes"),
    *("lost_segments", "dropped_segments", "cut_segments", "overrun_segments", "unread_packets"),
    *("late_packets", "late_ns", "latest_ns", "queue_most_bytes", "cpu_ns", "cpu_wait_ns"),
)


def read(host: Host, subject: Subject) -> Mapping[str, object]:
    """Return the answer of the line; empty without a line."""
    if subject.line is None:
        return {}
    return {ANSWER: line.answer(host, subject.line, line.COUNT)}


def parse(host_name: str, phase: str, snapshots: Sequence[Snapshot], subject: Subject) -> Evidence:
    """Return every number of every direction (`line:wan.up`) over time. Raises EvidenceError on an unknown answer."""
    if subject.line is None:
        return Evidence()
    origin = Origin(host=host_name, phase=phase, source="line:assay-line", layer="line")
    found: dict[tuple[str, str], list[tuple[int, float]]] = {}
    for one in snapshots:
        for name, numbers in _directions(str(one.raw.get(ANSWER))):
            for metric in METRICS:
                found.setdefault((name, metric), []).append((one.at_ns, int(numbers[metric])))
    series = []
    for (name, metric), points in found.items():
        made = gauge if metric in MAXIMA else counter
        series.append(made(origin, f"line:{name}", metric, UNITS.get(metric, "count"), points))
    return Evidence(series=tuple(series))


def _directions(answer: str) -> list[tuple[str, Mapping[str, int]]]:
    """Return the numbers by direction (`wan.up`)."""
    try:
        links = json.loads(answer)["links"]
        found = [(f"{name}.{way}", link[way]) for name, link in links.items() for way in ("up", "down")]
        return [(name, {metric: int(numbers[metric]) for metric in METRICS}) for name, numbers in found]
    except (ValueError, KeyError, TypeError, AttributeError):
        raise EvidenceError(f"found {answer[:60]!r} from the line; expected its counts") from None


OBSERVER = Observer(
    name="line",
    gives=tuple(f"line.{metric}" for metric in METRICS),
    sources=(Source(keys="line.*", words="what the line between load and server did", way='a target of kind = "line"'),),
    cost="2 µs CPU per look (no line)",
    available=lambda host: "the line runs on the machine of the lab alone" if host.far else None,
    read=read,
    parse=parse,
    every_s=1.0,
)
