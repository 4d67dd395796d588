"""The ladders of all runs that are looked at: those of one phase side by side, metadata that stayed in memory as a line."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from assay.records import Experiment, Judged, Observations
from assay.report import ladder, sketch
from assay.report.ladder import OPERATIONS, Ladder

QUIET = 0.05
"""Operations of which fewer than this share became requests under the clock were answered from memory."""


@dataclass(frozen=True, kw_only=True)
class Group:
    """The ladders of one phase in one direction, or of all phases where each has only one."""

    phase: str
    operation: str
    sketches: tuple[sketch.Sketch, ...]
    said: str = ""
    """For folded groups: what there is to see in them."""


@dataclass(frozen=True, kw_only=True)
class Ladders:
    """The section: what is drawn at once, what is folded into a line each."""

    groups: tuple[Group, ...]
    folded: tuple[Group, ...]


def ladders(experiment: Experiment, observed: Sequence[tuple[Judged, Observations]]) -> Ladders | None:
    """The ladders of all runs; None where nothing was moved or counted."""
    drawn = [one for judged, seen in observed for one in ladder.ladders(experiment, judged, seen)]
    if not drawn:
        return None
    places = dict.fromkeys((one.phase, one.direction) for one in drawn)
    found = [[one for one in drawn if (one.phase, one.direction) == place] for place in places]
    loud = [same for same in found if not all(is_quiet(one) for one in same)]
    if len(loud) > 1 and all(len(same) == 1 for same in loud):
        groups: tuple[Group, ...] = (Group(phase="", operation="", sketches=tuple(sketch.sketch(same[0]) for same in loud)),)
    else:
        groups = tuple(_group(same) for same in loud)
    return Ladders(groups=groups, folded=tuple(_group(same) for same in found if same not in loud))


def is_quiet(one: Ladder) -> bool:
    """Whether operations, not bytes, are counted, and hardly any of them reached a device under the clock."""
    return one.direction == OPERATIONS and all((step.width or 0) < QUIET for step in one.steps if step.device)


def _group(same: Sequence[Ladder]) -> Group:
    first = same[0]
    return Group(
        phase=first.phase,
        operation=first.operation,
        sketches=tuple(sketch.sketch(one) for one in same),
        said="; ".join((f"{first.total:,.0f} operations answered from memory", *_storage(same))),
    )


def _storage(same: Sequence[Ladder]) -> Iterable[str]:
    """What the lowest device saw, for each run."""
    seen = [(one, next((step for step in reversed(one.steps) if step.device), None)) for one in same]
    said = [
        f"{one.levels} {requests(one.total * (step.width or 0), one.total * step.late)}".strip()
        for one, step in seen
        if step is not None
    ]
    if said:
        yield f"requests to storage: {', '.join(said)}"


def requests(under: float, late: float) -> str:
    """`113 (+ 405 after the clock)`."""
    return f"{round(under):,}" + (f" (+ {round(late):,} after the clock)" if round(late) else "")
