"""What the lab's own line did in each direction: by how much its counts rose in a phase, and how full its paths were."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

from assay.evidence import ladder
from assay.frozen import dataclass
from assay.records import Observations, Phase, Series

LAYER, SUBJECT = "line", "line:"
METRICS = (
    *("delivered_packets", "delivered_segments", "late_packets", "late_ns", "lost_segments", "segments"),
    *("overrun_segments", "unread_packets", "packets", "cpu_ns"),
)
WAYS = ("up", "down")
LEAST_NS = 500_000_000
"""Samples that are closer tell no rate: each is taken some milliseconds late on a busy machine."""

Numbers = Mapping[str, float]


@dataclass(frozen=True, kw_only=True)
class WayUse:
    """How full one direction was, of all paths together that the target uses."""

    way: str
    stated_bytes_per_s: float
    shares: Sequence[float]
    """Of the stated rate, from sample to sample: what was delivered, with the framing of the paths."""
    dropping: Sequence[bool]
    """Whether a queue was full in that time, and dropped segments."""
    segments_per_s: float
    lost_share: float
    """Of the segments, those lost by chance as stated."""

    @property
    def most(self) -> float:
        """The share of the fullest time between two samples."""
        return max(self.shares)


def rises(phase: Phase, observations: Observations) -> dict[str, Numbers]:
    """`wan.up` -> by how much each number of METRICS rose during the phase."""
    ways: dict[str, dict[str, float]] = {}
    for metric in METRICS:
        for series in observations.over_time(phase.name, LAYER, metric):
            name = series.subject.removeprefix(SUBJECT)
            if (risen := ladder.rise(series, phase.start_ns, phase.end_ns)) is not None:
                ways.setdefault(name, {})[metric] = risen
    return {name: numbers for name, numbers in ways.items() if len(numbers) == len(METRICS)}


def fact(observations: Observations, path: str, way: str, name: str, host: str | None) -> float | None:
    """A number of a path's direction as it is stated."""
    found = observations.fact(f"target.path.{path}.{way}.{name}", host=host)
    return None if found is None else float(found)


def paths_of(phase: Phase, observations: Observations) -> tuple[str, ...]:
    """The names of the line's paths that were counted."""
    names = (series.subject.removeprefix(SUBJECT) for series in observations.over_time(phase.name, LAYER, "segments"))
    return tuple(dict.fromkeys(name.rpartition(".")[0] for name in names))


def fullest(phase: Phase, observations: Observations, host: str | None) -> WayUse | None:
    """The direction that came nearest to its stated rate; None without a stated rate, or without counts."""
    return max(_uses(phase, observations, host), key=lambda one: one.most, default=None)


def mean_use(phase: Phase, observations: Observations) -> tuple[float, float] | None:
    """Bytes/s of all paths together in the direction that was fuller, framing included, and their share of the stated rate."""
    names, found = paths_of(phase, observations), []
    for way in WAYS:
        stated = stated_bytes_per_s(phase, observations, way)
        rates = [_mean_rate(phase, observations, f"{name}.{way}") for name in names]
        known = [rate for rate in rates if rate is not None]
        if stated and known and len(known) == len(rates):
            found.append((sum(known), sum(known) / stated))
    return max(found, key=lambda one: one[1], default=None)


def _mean_rate(phase: Phase, observations: Observations, name: str) -> float | None:
    path, _, way = name.rpartition(".")
    frame = fact(observations, path, way, "frame_bytes", None) or 0.0
    counted, edges = counted_of(phase, observations, name), (phase.start_ns, phase.end_ns)
    each = [ladder.rate(counted[one], *edges) for one in ("delivered_bytes", "delivered_segments") if one in counted]
    known = [one for one in each if one is not None]
    return 1e9 * (known[0] + frame * known[1]) if len(known) > 1 else None


def stated_bytes_per_s(phase: Phase, observations: Observations, way: str) -> float | None:
    """The rate of all counted paths together in one direction; None where one of them has none, and without a line."""
    names = paths_of(phase, observations)
    stated = [fact(observations, name, way, "bytes_per_s", None) for name in names]
    known = [one for one in stated if one is not None]
    return sum(known) if known and len(known) == len(stated) else None


def _uses(phase: Phase, observations: Observations, host: str | None) -> Iterator[WayUse]:
    names = paths_of(phase, observations)
    for way in WAYS if names else ():
        stated = [fact(observations, name, way, "bytes_per_s", host) for name in names]
        frames = [fact(observations, name, way, "frame_bytes", host) or 0.0 for name in names]
        counted = [counted_of(phase, observations, f"{name}.{way}") for name in names]
        if None in stated or not all(counted):
            continue
        rate = sum(one for one in stated if one is not None)
        steps = [*_steps(phase, counted[0]["segments"])]
        carried = [
            sum(
                _between(one["delivered_bytes"], step) + frame * _between(one["delivered_segments"], step)
                for one, frame in zip(counted, frames, strict=True)
            )
            for step in steps
        ]
        whole = (phase.start_ns, phase.end_ns)
        segments, lost = (ladder.rises((one[metric] for one in counted), *whole) for metric in ("segments", "lost_segments"))
        if steps and segments is not None and lost is not None:
            yield WayUse(
                way=way,
                stated_bytes_per_s=rate,
                shares=[amount * 1e9 / (to - at) / rate for amount, (at, to) in zip(carried, steps, strict=True)],
                dropping=[any(_between(one["dropped_segments"], step) > 0 for one in counted) for step in steps],
                segments_per_s=segments * 1e9 / max(1, phase.lasted_ns),
                lost_share=lost / segments if segments else 0.0,
            )


def counted_of(phase: Phase, observations: Observations, name: str) -> dict[str, Series]:
    """The counters of one direction of a path; empty where one is missing."""
    wanted = ("delivered_bytes", "delivered_segments", "dropped_segments", "lost_segments", "segments")
    found = {one: next(observations.over_time(phase.name, LAYER, one, f"{SUBJECT}{name}"), None) for one in wanted}
    known = {metric: series for metric, series in found.items() if series is not None}
    return known if len(known) == len(wanted) else {}


def _steps(phase: Phase, series: Series) -> Iterator[tuple[int, int]]:
    """The times between samples that touch the phase; samples too close to each other are left out."""
    begun: int | None = None
    for at, following in pairwise(series.at_ns):
        if following <= phase.start_ns or at >= phase.end_ns:
            continue
        begun = at if begun is None else begun
        if following - begun >= LEAST_NS:
            yield begun, following
            begun = following


def _between(series: Series, step: tuple[int, int]) -> float:
    return ladder.known_rise(series, *step)
