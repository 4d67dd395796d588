"""What the tape drives of a load did under its clock, and where their tapes stood when it stopped."""

from __future__ import annotations

from collections.abc import Iterator

from assay.evidence import ladder
from assay.frozen import dataclass
from assay.records import Direction, Observations, Phase, Run, Series

LAYER = "tape"
MOST = 0.5
"""A drive that took this share of the bytes is where they went."""


@dataclass(frozen=True, kw_only=True)
class TapePosition:
    """Where a tape stands: marks before it, and records after the last mark."""

    file: float
    block: float

    @property
    def is_start(self) -> bool:
        """Whether it is the beginning of the tape."""
        return not self.file and not self.block


def drives(run: Run) -> tuple[str, ...]:
    """Return the drives that the load was given."""
    return tuple(dict.fromkeys(place.tape for place in run.places if place.tape))


def rose(phase: Phase, observations: Observations, drive: str, metric: str) -> float | None:
    """Return by how much a counter of a drive rose under the clock; None where it was not seen at both ends."""
    every = observations.over_time(phase.name, LAYER, metric, f"device:{drive}")
    return ladder.rises(every, phase.start_ns, phase.end_ns)


def takes(run: Run, phase: Phase, observations: Observations, direction: Direction = Direction.WRITE) -> str | None:
    """Return the drive that took (or gave) most bytes of a direction; None where none did, or nobody counted."""
    if direction not in (Direction.READ, Direction.WRITE):
        return None
    for drive in drives(run):
        moved = rose(phase, observations, drive, f"{direction}_bytes")
        asked = ladder.requested_bytes(phase, observations, direction)
        if moved and moved >= MOST * (asked or 0.0):
            return drive
    return None


def position(phase: Phase, observations: Observations, drive: str, *, at_stop: bool) -> TapePosition | None:
    """Return where the tape stood at the beginning or at the end of the clock; None where mt did not tell just then."""
    each = [*_edges(phase, observations, drive, at_stop=at_stop)]
    return TapePosition(file=each[0], block=each[1]) if len(each) == len(("file", "block")) else None


def _edges(phase: Phase, observations: Observations, drive: str, *, at_stop: bool) -> Iterator[float]:
    for metric in ("file_number", "block_number"):
        for series in observations.over_time(phase.name, LAYER, metric, f"device:{drive}"):
            found = _last_looks(series, phase) if at_stop else _first_looks(series, phase)
            if found is not None:
                yield found


def _last_looks(series: Series, phase: Phase) -> float | None:
    """The first look after the clock; a later one, after another program moved the tape, says nothing."""
    return next((value for at, value in zip(series.at_ns, series.value, strict=True) if at >= phase.end_ns), None)


def _first_looks(series: Series, phase: Phase) -> float | None:
    before = [value for at, value in zip(series.at_ns, series.value, strict=True) if at <= phase.start_ns]
    return before[-1] if before else None
