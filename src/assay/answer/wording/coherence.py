"""What a reader saw of a writer at another mount, in words: a row for each step."""

from __future__ import annotations

from collections.abc import Iterator

from assay import measures
from assay.measures import coherence, latency
from assay.records import CoherenceEnd, CoherenceStep, Observations, Phase, Run
from assay.units import Unit

HEAD = ("phase", "step", "tries", "p50", "p99", "longest", "resolution", "result")
NUMBERS = (2, 3, 4, 5, 6)
"""Columns of figures; times are from the writer's return to the reader's look."""
NONE = "-"
SHARES = (0.5, 0.99, 1.0)


def rows(run: Run, seen: Observations) -> tuple[tuple[str, ...], ...]:
    """A row for each step of each coherence phase, in the order of HEAD."""
    return tuple(
        (phase.name, name, f"{step.tries:,}", *_times(phase, name, end, seen), _resolution(step), result(step, end.limit_ns))
        for phase in run.phases
        if (end := coherence.end_of(phase)) is not None
        for name in phase.operations
        if (step := end.steps.get(name)) is not None
    )


def _times(phase: Phase, name: str, end: CoherenceEnd, seen: Observations) -> tuple[str, ...]:
    """Percentiles of the time from act to look; one at the limit was never seen, so it is a lower bound."""
    found = latency.percentiles(latency.merged(seen, phase.name, name), SHARES)
    return tuple(
        f"{'> ' if end.steps[name].never and one >= end.limit_ns else ''}{measures.with_unit(one, Unit.NANOSECONDS)}"
        for one in found
    ) or (NONE,) * len(SHARES)


def _resolution(step: CoherenceStep) -> str:
    return measures.with_unit(step.resolution_p50_ns, Unit.NANOSECONDS) if step.seen else NONE


def result(step: CoherenceStep, limit_ns: int) -> str:
    """`seen`, `never within 5 s: 20 of 20`, `granted twice: 3 of 20`, `refused: Function not implemented`."""
    if step.refused is not None:
        return f"refused: {step.refused}"
    return "; ".join(_parts(step, limit_ns)) or "nothing was tried"


def _parts(step: CoherenceStep, limit_ns: int) -> Iterator[str]:
    limit = measures.with_unit(limit_ns, Unit.NANOSECONDS)
    if step.granted_twice:
        yield f"granted twice: {step.granted_twice:,} of {step.tries:,}"
    if step.stale:
        yield f"stale after close and open: {step.stale:,} of {step.tries:,}"
    if step.never:
        yield f"never within {limit}: {step.never:,} of {step.tries:,}"
    if step.expected:
        yield f"lost updates: {step.lost:,} of {step.expected:,}"
    if step.seen and not (step.granted_twice or step.stale or step.never):
        yield "seen"
    if step.unprepared:
        yield f"set-up not seen within {limit}: {step.unprepared:,}"
