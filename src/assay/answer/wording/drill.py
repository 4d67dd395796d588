"""A drill in words: what was done to the target, when it was away, and what became of the acknowledged records."""

from __future__ import annotations

from collections.abc import Iterator

from assay import measures
from assay.measures.drill import ends
from assay.records import Client, DrillEnd, Observations, Phase, Run, TimeAway
from assay.units import Unit


def lines(run: Run, seen: Observations) -> Iterator[str]:
    """A line for each event and each client's records; none of a run without a drill."""
    phases = [phase for phase in run.phases if any(client.drill for client in phase.clients)]
    if not phases:
        return
    yield from (f"{fact.key.removeprefix('event.')}: {fact.value}" for fact in seen.facts if fact.key.startswith("event."))
    for phase in phases:
        for client, end in ends(phase):
            appended = end.intact + end.bad == 0 and phase.due_ns is not None
            yield from _appended(phase, client, end) if appended else _found(phase, client, end)


def _appended(phase: Phase, client: Client, end: DrillEnd) -> Iterator[str]:
    tries = f", {end.failed_tries:,} failed tries" if end.failed_tries else ""
    hung = f", {end.hung:,} of them hung" if end.hung else ""
    open_end = ", the last record never acknowledged" if end.unacknowledged else ""
    yield f"{phase.name}, client {client.index}: {end.acknowledged:,} records acknowledged{tries}{hung}{open_end}"
    yield from (f"    away {_away(phase, one)}" for one in end.outages)


def _away(phase: Phase, one: TimeAway) -> str:
    """`from 3.01 s for 2.24 s; backlog gone 310 ms later`."""
    begin = measures.with_unit(one.from_ns - phase.start_ns, Unit.NANOSECONDS)
    if one.to_ns is None:
        return f"from {begin} until the end of the phase"
    lasted = measures.with_unit(one.to_ns - one.from_ns, Unit.NANOSECONDS)
    if one.caught_up_ns is None:
        return f"from {begin} for {lasted}; the backlog was not gone until the end of the phase"
    return f"from {begin} for {lasted}; backlog gone {measures.with_unit(one.caught_up_ns - one.to_ns, Unit.NANOSECONDS)} later"


def _found(phase: Phase, client: Client, end: DrillEnd) -> Iterator[str]:
    yield f"{phase.name}, client {client.index}: {fate(end)}"


def fate(end: DrillEnd) -> str:
    """`1,743 of 2,610 acknowledged records lost (numbers 0 to 1,742)`."""
    if not end.bad:
        return f"0 of {end.acknowledged:,} acknowledged records lost or changed"
    counts = {"lost": end.lost, "changed": end.changed, "unreadable": end.unreadable}
    parts = [f"{count:,} {name}" for name, count in counts.items() if count]
    numbers = (
        f" (numbers {end.first_bad:,} to {end.last_bad:,})" if end.first_bad is not None and end.last_bad is not None else ""
    )
    return f"{' and '.join(parts)} of {end.acknowledged:,} acknowledged records{numbers}"
