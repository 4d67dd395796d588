"""How far an answer can be trusted, in a few words: what is lost, how many figures have each verdict, what disturbed the runs."""

from __future__ import annotations

from collections.abc import Iterator

from assay.answer import marks
from assay.answer.answer import Answer
from assay.answer.doubts import Losses
from assay.answer.wording import labels
from assay.records import DeletedRun

MOST_NAMED = 12
"""Of many runs that were deleted so many are named; `assay list` names all."""


def lost(one: Losses) -> Iterator[str]:
    """Name in a few words the trials that the figures lack."""
    if one.unfinished:
        yield f"{one.unfinished:,} of {marks.count(one.begun, 'trial')} failed"
    if one.missing:
        yield f"{one.missing:,} of {marks.count(one.planned, 'trial')} not run"
    if one.damaged:
        yield f"{marks.count(len(one.damaged), 'trial')} unreadable"
    if one.deleted:
        yield f"{marks.count(len(one.deleted), 'run')} deleted"


def losses(one: Losses) -> Iterator[str]:
    """Name the runs and trials that are not what was planned."""
    for found in one.runs:
        why = "; ".join(error or "no reason kept" for error in found.errors)
        yield f"{marks.count(len(found.runs), 'run')} {found.outcome.value} ({', '.join(found.runs)}): {why}"
    yield from (f"trial {folder} unreadable: {why}" for folder, why in one.damaged.items())
    if one.missing:
        yield f"{marks.count(one.missing, 'trial')} of {one.planned:,} not run"
    yield from deleted(one)


def deleted(one: Losses) -> Iterator[str]:
    """`2 runs were deleted on 2026-11-26 (0003/1 finished, 0004/1 failed): backup ran`, those of one day and reason together."""
    alike: dict[tuple[str, str], list[DeletedRun]] = {}
    for each in one.deleted:
        alike.setdefault((each.at_utc[:10], each.why), []).append(each)
    for (day, why), runs in alike.items():
        names = [f"{each.run} {each.outcome}" for each in runs]
        more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
        was = "was" if len(names) == 1 else "were"
        yield f"{marks.count(len(names), 'run')} {was} deleted on {day} ({', '.join(names[:MOST_NAMED])}{more}): {why}"


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
