"""What to distrust in words: losses, and what is to be known of the schedule."""

from __future__ import annotations

from collections.abc import Iterator

from assay.answer import marks
from assay.answer.answer import Answer
from assay.answer.doubts import Losses


def losses(one: Losses) -> Iterator[str]:
    """Name the runs and trials that are not what was planned."""
    for lost in one.runs:
        why = "; ".join(error or "no reason kept" for error in lost.errors)
        yield f"{marks.count(len(lost.runs), 'run')} {lost.outcome.value} ({', '.join(lost.runs)}): {why}"
    yield from (f"trial {folder} unreadable: {why}" for folder, why in one.damaged.items())
    if one.missing:
        yield f"{marks.count(one.missing, 'trial')} of {one.planned:,} not run"


def reservations(answer: Answer) -> Iterator[str]:
    """Say what is to be known of the schedule."""
    if answer.apart:
        count = marks.count(answer.apart, "comparison")
        yield f"{count} not interleaved: a change between the sittings would look like a difference"
    yield from (f"{note.subject}: {note.text}" for note in answer.notes)
