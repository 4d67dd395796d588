"""How much longer files became, and how much of that is no data of their own."""

from __future__ import annotations

from assay.evidence import ladder
from assay.frozen import dataclass
from assay.records import Observations, Phase

LAYER = "growth"
METRICS = ("grown_bytes", "hole_bytes", "unwritten_bytes", "shared_bytes", "linked_bytes")
WORDS = {
    "shared_bytes": "shared extents",
    "hole_bytes": "holes",
    "unwritten_bytes": "preallocated",
    "linked_bytes": "another name of a file that was there",
}


@dataclass(frozen=True, kw_only=True)
class TotalGrowth:
    """The files of a phase together."""

    bytes: float
    empty_bytes: float
    """Of these without data, as far as that is seen."""
    sharing_known: bool
    """Whether shared extents and further names would have been seen."""
    kinds: tuple[str, ...]
    """What stands there in place of data, in words, most first."""


def of_files(phase: Phase, observations: Observations) -> TotalGrowth | None:
    """Return how the files of a phase grew; None where nobody looked.

    Whoever counts the growth itself knows which files were there before: extents that were seen at the end alone do not tell.
    """
    told = {metric: sum(one.value[-1] for one in ladder.gauges(phase, observations, LAYER, metric)) for metric in METRICS}
    if any(True for _ in ladder.gauges(phase, observations, LAYER, "grown_bytes")):
        empty = sum(told.values()) - told["grown_bytes"]
        return TotalGrowth(bytes=told["grown_bytes"], empty_bytes=empty, sharing_known=True, kinds=kinds(told))
    return _of_data_files(phase, observations)


def kinds(found: dict[str, float]) -> tuple[str, ...]:
    """What stands in place of data, in words, most first."""
    return tuple(WORDS[name] for name in sorted(WORDS, key=lambda name: -found.get(name, 0.0)) if found.get(name))


def _of_data_files(phase: Phase, observations: Observations) -> TotalGrowth | None:
    """By the extents of the data files before and after; these do not tell what is shared."""
    rises = {metric: _rise(phase, observations, metric) for metric in ("file_bytes", "hole_bytes", "unwritten_bytes")}
    longer = rises.pop("file_bytes")
    if longer is None or longer <= 0:
        return None
    known = {name: max(0.0, rise or 0.0) for name, rise in rises.items()}
    return TotalGrowth(bytes=longer, empty_bytes=sum(known.values()), sharing_known=False, kinds=kinds(known))


def _rise(phase: Phase, observations: Observations, metric: str) -> float | None:
    series = [*ladder.gauges(phase, observations, "extents", metric, "path")]
    after = ladder.at_stop(phase, series)
    return None if after is None else after - (ladder.at_arming(phase, series) or 0.0)
