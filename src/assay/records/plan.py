"""The plan of trials that is made from an experiment."""

from __future__ import annotations

from collections.abc import Mapping

from assay.frozen import dataclass
from assay.records.experiment import Value


@dataclass(frozen=True, kw_only=True)
class Trial:
    """One combination of levels at one place in the schedule."""

    id: int
    experiment: str
    levels: Mapping[str, Value]
    replicate: int
    block: int
    sitting: int
    position: int
    seed: int
    preparation: int | None = None
    """Of a duet: trials of the same number and levels use one preparation of their target, slice after slice."""


UNREACHED = "hosts"
"""Subject of the note on hosts that a plan does not reach: of no use once they ran."""


@dataclass(frozen=True, kw_only=True)
class PlanNote:
    """One thing that the planner wants to be known: evidence that will be missing, a limit of what can be shown."""

    subject: str
    text: str


@dataclass(frozen=True, kw_only=True)
class Plan:
    """The whole schedule, drawn before the first trial and stored."""

    experiment: str
    seed: int
    trials: tuple[Trial, ...]
    blocks: int
    drawn_blocks: int
    """The schedule is drawn to this many blocks where the repeats follow from precision or budget."""
    sittings: tuple[Value, ...]
    """Level of the manual factor in each sitting, in order; one None where there is no manual factor."""
    notes: tuple[PlanNote, ...] = ()
