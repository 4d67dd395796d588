"""How a load came through an outage: its longest pause, its rates before, while and after an event, when it was back.

The engines note their counters every 100 ms, and more seldom in a long phase: times are known to the time between two notes.
Bytes that were sent count where they arrived, if that end was observed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import pairwise

from assay.frozen import dataclass
from assay.measures.far_end import ARRIVES_AS
from assay.measures.timelines import interpolated
from assay.records import Action, Event, Observations, Phase, Series

NEAR, FAR = "application", "far_end"
"""Layers of the engines' counters: of the load, and of its servers."""
MOVING = ("send", "receive")
"""Operations whose rate is one of bytes."""
Span = tuple[int, int]
STILL_TIMES = 3
"""Notes are as far apart as the load makes them: a time so many times the median was no usual one."""
BACK_SHARE = 0.9
"""A load is back when it has this share of its former rate ..."""
BACK_SPANS_NS = (200_000_000, 1_000_000_000)
"""... over both of these times from then on: one burst of what had to wait is no return."""


@dataclass(frozen=True, kw_only=True)
class Outage:
    """One cut of a path, or one event on a target, in a phase, and what one operation did around it."""

    path: str
    """The path, or the target; empty for the target of the trial."""
    operation: str
    from_ns: int
    to_ns: int
    """Of the cut, since the phase began; its end is that of the phase where nothing mended the path."""
    action: Action = Action.CUT
    rates_per_s: Mapping[str, float]
    """`before`, `while` and `after` it: over as long a time as it lasted, as far as the phase has that. Bytes or operations."""
    pause_ns: float
    """The longest time without a completed operation from the begin of the cut on."""
    back_ns: float | None = None
    """From the mending until the load was back at its former rate; None where it was not until the end."""


@dataclass(frozen=True, kw_only=True)
class Step:
    """The time between two notes of a counter, and by how much it rose."""

    to_ns: int
    length_ns: int
    rise: float


def counters(phase: Phase, seen: Observations, operation: str, what: str) -> list[Series]:
    """`count` or `bytes` of an operation over time; of sent ones where they arrived."""
    arriving = ARRIVES_AS.get(operation)
    there = [one for one in seen.over_time(phase.name, FAR, f"{arriving}.{what}") if len(one.at_ns)]
    here = [one for one in seen.over_time(phase.name, NEAR, f"{operation}.{what}") if len(one.at_ns)]
    return there or here


def longest_pause_ns(phase: Phase, seen: Observations, operation: str) -> float | None:
    """The longest time of a phase in which no client completed this operation; None where nobody noted it over time."""
    found = counters(phase, seen, operation, "count")
    return longest(found, (phase.start_ns, phase.end_ns)) if found else None


def longest(found: Iterable[Series], within: Span) -> float:
    """The longest part of a time in which none of the counters rose."""
    before, after = longest_gap(found, within)
    return after - before


def longest_gap(found: Iterable[Series], within: Span) -> tuple[float, float]:
    """The longest part of a time in which none of the counters rose, from when to when."""
    rose = (at for one in found for at in rises(one, within[0]) if within[0] < at < within[1])
    return max(pairwise(sorted((within[0], *rose, within[1]))), key=lambda gap: gap[1] - gap[0])


def rises(one: Series, start_ns: int) -> Iterator[float]:
    """The middle of each time between two notes of a counter in which it rose; it was 0 at the start.

    In a time much longer than the others the load itself stood still, or was late with its note. What it had done by then takes
    as long as elsewhere, up to the note.
    """
    steps = tuple(steps_of(one, start_ns))
    if not steps:
        return
    usual_ns = sorted(step.length_ns for step in steps)[len(steps) // 2]
    usual = [step for step in steps if step.length_ns <= STILL_TIMES * usual_ns]
    took_ns = sum(step.length_ns for step in usual) / max(1.0, sum(step.rise for step in usual))
    for step in steps:
        if not step.rise:
            continue
        if step.length_ns <= STILL_TIMES * usual_ns:
            yield step.to_ns - step.length_ns / 2
            continue
        first_ns = max(step.to_ns - step.length_ns, step.to_ns - step.rise * took_ns)
        for part in range(int((step.to_ns - first_ns) // usual_ns) + 1):
            yield min(step.to_ns, first_ns + part * usual_ns)


def steps_of(one: Series, start_ns: int) -> Iterator[Step]:
    """The times between two notes of a counter."""
    before_ns, before = min(start_ns, one.at_ns[0]), 0.0
    for at_ns, value in zip(one.at_ns, one.value, strict=True):
        yield Step(to_ns=at_ns, length_ns=at_ns - before_ns, rise=max(0.0, value - before))
        before_ns, before = at_ns, value


def unnoted_ns(found: Iterable[Series], within: Span) -> float:
    """The longest part of a time of which none of the counters has a note: the load itself stood still."""
    notes = sorted({within[0], within[1], *(at for one in found for at in one.at_ns if within[0] < at < within[1])})
    return max(after - before for before, after in pairwise(notes))


def outages(phase: Phase, seen: Observations, events: Iterable[Event]) -> tuple[Outage, ...]:
    """What each operation did around each event that keeps it from its target, by the events of its workload."""
    mine = [one for one in events if f"{phase.workload}.{one.phase}" == phase.name]
    away = [one for one in mine if one.action is Action.CUT or one.action.of_target]
    every = (
        (event.action, outage(phase, seen, (event.on, operation), cut_of(event, mine, phase.lasted_ns)))
        for event in away
        for operation in phase.operations
    )
    return tuple(replace(one, action=action) for action, one in every if one is not None)


def cut_of(event: Event, events: Iterable[Event], end_ns: int) -> Span:
    """From when to when a cut lasted: its own time, else until the path is mended, else to the end."""
    mended = [one.at_ns for one in events if (one.action, one.on) == (Action.MEND, event.on) and one.at_ns > event.at_ns]
    lasts = [event.at_ns + event.for_ns] if event.for_ns is not None else []
    return event.at_ns, min((*lasts, *mended, end_ns))


def outage(phase: Phase, seen: Observations, names: tuple[str, str], cut: Span) -> Outage | None:
    """One operation around one cut; None where nobody noted it over time, and of a cut after the end."""
    path, operation = names
    counted = counters(phase, seen, operation, "count")
    if not counted or cut[0] >= cut[1]:
        return None
    done = counters(phase, seen, operation, "bytes") if operation in MOVING else counted
    start_ns, end_ns, lasted_ns = phase.start_ns + cut[0], phase.start_ns + cut[1], cut[1] - cut[0]
    spans = {
        "before": (max(phase.start_ns, start_ns - lasted_ns), start_ns),
        "while": (start_ns, end_ns),
        "after": (end_ns, min(phase.end_ns, end_ns + lasted_ns)),
    }
    rates = {name: rate_per_s(done, span, phase.start_ns) for name, span in spans.items() if span[0] < span[1]}
    return Outage(
        path=path,
        operation=operation,
        from_ns=cut[0],
        to_ns=cut[1],
        rates_per_s=rates,
        pause_ns=longest(counted, (start_ns, phase.end_ns)),
        back_ns=back_ns(done, phase, end_ns, rates.get("before", 0.0)),
    )


def back_ns(found: Iterable[Series], phase: Phase, from_ns: int, before_per_s: float) -> float | None:
    """How long after a time the counters together rose again as fast as before; None where they did not until the end."""
    series = tuple(found)
    notes = sorted({from_ns, *(at for one in series for at in one.at_ns if at > from_ns)})
    for at in notes:
        spans = [(at, at + length) for length in BACK_SPANS_NS if at + length <= phase.end_ns]
        if len(spans) < len(BACK_SPANS_NS):
            return None
        if all(rate_per_s(series, span, phase.start_ns) >= BACK_SHARE * before_per_s for span in spans):
            return float(at - from_ns)
    return None


def rate_per_s(found: Iterable[Series], span: Span, start_ns: int) -> float:
    """What all counters together rose by in a time, for each second of it; they were 0 at the start."""
    grown = (interpolated(one, span[1]) - (interpolated(one, span[0]) if span[0] > start_ns else 0.0) for one in found)
    return sum(grown) * 1e9 / (span[1] - span[0])
