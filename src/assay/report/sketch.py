"""The geometry of a ladder: bars that keep their left edge, a stream between them, text above each bar."""

from __future__ import annotations

from dataclasses import dataclass

from assay.report.ladder import Ladder, Step

TEXT = 25
REMARK = 19
SHORE = 25
"""Pixels of the line between memory and storage."""
BAR = 13
WIDE = 1000.0
"""Units across; the picture is stretched to its place, so that only heights are pixels."""


@dataclass(frozen=True, kw_only=True)
class Placed:
    """One rung: where its text and its bar begin, how far the bar and its late part reach."""

    step: Step
    shore: int | None
    remark: int
    text: int
    bar: int
    width: float
    late: float
    known: bool


@dataclass(frozen=True, kw_only=True)
class Sketch:
    """A ladder with its geometry; `streams` are the points of the polygons between the bars."""

    ladder: Ladder
    placed: tuple[Placed, ...]
    streams: tuple[str, ...]
    whole: float
    """Where all that the application moved ends."""
    height: int
    first: int


def sketch(ladder: Ladder) -> Sketch:
    """Place every rung below the other."""
    top = 0
    whole = WIDE / ladder.full
    width = whole
    placed: list[Placed] = []
    streams: list[str] = []
    for step in ladder.steps:
        begun = top
        shore = top if step.first_device and placed else None
        top += SHORE if shore is not None else 0
        remark = top
        top += REMARK if step.remark else 0
        bar = top + TEXT
        new = width if step.width is None else step.width * whole
        if placed:
            streams.append(f"0,{begun} {width:.1f},{begun} {new:.1f},{bar} 0,{bar}")
        placed.append(
            Placed(
                step=step,
                shore=shore,
                remark=remark,
                text=top,
                bar=bar,
                width=round(max(new, 1.5 if step.width else 0.0), 1),
                late=round(step.late * whole, 1),
                known=step.width is not None,
            )
        )
        width = new
        top = bar + BAR
    return Sketch(
        ladder=ladder, placed=tuple(placed), streams=tuple(streams), whole=round(whole, 1), height=top + 2, first=placed[0].bar
    )
