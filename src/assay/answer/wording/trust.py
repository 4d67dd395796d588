"""How far an answer can be trusted, in a few words: what is lost, how many figures have each verdict, what disturbed the runs."""

from __future__ import annotations

from collections.abc import Iterator

from assay.answer import marks
from assay.answer.answer import Answer
from assay.answer.doubts import Losses
from assay.answer.wording import labels


def lost(one: Losses) -> Iterator[str]:
    """Name in a few words the trials that the figures lack."""
    if one.unfinished:
        yield f"{one.unfinished:,} of {marks.count(one.begun, 'trial')} failed"
    if one.missing:
        yield f"{one.missing:,} of {marks.count(one.planned, 'trial')} not run"
    if one.damaged:
        yield f"{marks.count(len(one.damaged), 'trial')} unreadable"


def trusted(answer: Answer) -> str:
    """`6 of 9 figures SOUND, 2 TAINTED, 1 INVALID`: every cell once, the best first."""
    total = sum(count for _, count in answer.counts)
    found = [(state, count) for state, count in answer.counts if count]
    if not found:
        return "no figures"
    (best, most), *more = found
    whole = (
        f"{marks.count(total, 'figure')} {best.value}"
        if most == total
        else f"{most:,} of {marks.count(total, 'figure')} {best.value}"
    )
    return ", ".join((whole, *(f"{count:,} {state.value}" for state, count in more)))


def noisy(answer: Answer) -> Iterator[str]:
    """Say once what disturbed the runs."""
    if answer.noise:
        causes = ", ".join(f"{labels.short(one.cause)} in {one.runs:,}" for one in answer.noise)
        yield f"Noise: {causes} of {marks.count(answer.noise[0].of, 'run')}"
