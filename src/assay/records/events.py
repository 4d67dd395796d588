"""What is done at a time within a phase."""

from __future__ import annotations

from enum import StrEnum

from assay.frozen import dataclass


class Action(StrEnum):
    """What an event does."""

    RUN = "run"
    CUT = "cut"
    """Nothing gets through a path any more."""
    MEND = "mend"
    RATE = "rate"
    """A path gets another rate, in both directions."""


@dataclass(frozen=True, kw_only=True)
class Event:
    """Something that is done at a time within a phase: to a host, to a target, to a path between hosts."""

    phase: str
    at_ns: int
    on: str = "local"
    """A host; for `cut`, `mend` and `rate` a path."""
    action: Action = Action.RUN
    for_ns: int | None = None
    """How long it lasts before it is undone; None where it is not."""
    argv: tuple[str, ...] = ()
    """The command that `run` runs on the host."""
    rate_bytes_per_s: int | None = None
    """The rate of `rate`; None is without limit."""
