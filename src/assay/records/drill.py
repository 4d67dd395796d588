"""What the engine `drill` says of its records in a phase, beside counts and times of its operations."""

from __future__ import annotations

from assay.frozen import dataclass


@dataclass(frozen=True, kw_only=True)
class TimeAway:
    """A time in which the target did not acknowledge the record that was due, relative to T0."""

    from_ns: int
    """When the record was begun that had to wait."""
    to_ns: int | None = None
    """When it was acknowledged; None where the phase ended before."""
    caught_up_ns: int | None = None
    """When nothing that was due had to wait any more; None where the phase ended before."""
    failed_tries: int = 0


@dataclass(frozen=True, kw_only=True)
class FurtherAway:
    """Times away beyond those that the engine keeps one by one, in sum."""

    count: int = 0
    away_ns: int = 0
    backlog_ns: int = 0
    """The longest time from the end of one until nothing that was due had to wait any more."""


@dataclass(frozen=True, kw_only=True)
class DrillEnd:
    """The records of one client: as they were acknowledged, or as they were found later."""

    acknowledged: int
    """Noted outside of the target when it acknowledged them; in a check those that were looked for."""
    unacknowledged: int = 0
    """Being written at the end of the phase, and never acknowledged."""
    failed_tries: int = 0
    hung: int = 0
    """Tries that did not end within their deadline, and were left behind."""
    outages: tuple[TimeAway, ...] = ()
    further: FurtherAway = FurtherAway()
    intact: int = 0
    lost: int = 0
    """Not there: no file, a file that ends before them, or zeros."""
    changed: int = 0
    """With another content than was written."""
    unreadable: int = 0
    first_bad: int | None = None
    last_bad: int | None = None
    """The lowest and the highest number of those that are not intact."""

    @property
    def wrong(self) -> int:
        """Records that were read, or whose place was, and that are not what was acknowledged."""
        return self.lost + self.changed

    @property
    def bad(self) -> int:
        """Records that are wrong, or that nobody could read."""
        return self.wrong + self.unreadable
