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
    KILL = "kill"
    """A server's processes are killed; after its time it is started again."""
    STOP = "stop"
    """A server's processes are stopped; after its time they go on."""
    POWER = "power"
    """The power of a crash disk, and of the servers on it, is cut; after its time it is back."""
    FILL = "fill"
    """A file system of the lab is filled; after its time it has room again."""

    @property
    def of_path(self) -> bool:
        """Whether it changes a path."""
        return self in (Action.CUT, Action.MEND, Action.RATE)

    @property
    def of_target(self) -> bool:
        """Whether it is done to a target, which is called back after its time."""
        return self in (Action.KILL, Action.STOP, Action.POWER, Action.FILL)


@dataclass(frozen=True, kw_only=True)
class Event:
    """Something that is done at a time within a phase: to a host, to a target, to a path between hosts."""

    phase: str
    at_ns: int
    on: str = "local"
    """A host; for `cut`, `mend` and `rate` a path; for what is done to a target its name, empty for the trial's own or the
    nearest one below it that the action fits."""
    action: Action = Action.RUN
    for_ns: int | None = None
    """How long it lasts before it is undone; None where it is not."""
    argv: tuple[str, ...] = ()
    """The command that `run` runs on the host."""
    rate_bytes_per_s: int | None = None
    """The rate of `rate`; None is without limit."""
