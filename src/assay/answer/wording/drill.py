"""Events and drills in words: what was done to the target, when it was away, and what became of acknowledged records."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from assay import measures
from assay.measures.drill import ends
from assay.measures.outages import BACK_SHARE, MOVING, Outage
from assay.records import Action, Client, DrillEnd, Observations, Phase, Run, TimeAway
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
    if end.further.count:
        away, backlog = (measures.with_unit(one, Unit.NANOSECONDS) for one in (end.further.away_ns, end.further.backlog_ns))
        yield f"    away {end.further.count:,} further times, {away} in all; longest backlog {backlog}"


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


BEFALLEN: Mapping[Action, tuple[str, str, str]] = {
    Action.CUT: ("path", "cut", "the mending"),
    Action.KILL: ("server of", "killed", "its start"),
    Action.STOP: ("server of", "stopped", "its resumption"),
    Action.POWER: ("power of", "cut", "its return"),
    Action.FILL: ("disk of", "full", "it had room"),
}
"""What an event befalls, what becomes of it, and what ends that."""


def befallen(one: Outage) -> str:
    """`path wan cut`, `server of nfs killed`, `power cut`."""
    what, state, _ = BEFALLEN[one.action]
    return f"{what} {one.path} {state}" if one.path else f"{what.removesuffix(' of')} {state}"


def cut(one: Outage) -> str:
    """`path wan cut from 2 s to 4 s: send 100/s before, 0/s while it was cut, 150/s after; 90 % of the rate before ...`."""
    unit = Unit.BYTES_PER_S if one.operation in MOVING else Unit.PER_S
    state = "down" if one.action is Action.KILL else BEFALLEN[one.action][1]
    times = {"before": "before", "while": f"while it was {state}", "after": "after"}
    rates = ", ".join(f"{measures.with_unit(rate, unit)} {times[name]}" for name, rate in one.rates_per_s.items())
    from_, to, pause = (measures.with_unit(time, Unit.NANOSECONDS) for time in (one.from_ns, one.to_ns, one.pause_ns))
    words = [f"{befallen(one)} from {from_} to {to}: {one.operation} {rates}"]
    share = measures.percent(BACK_SHARE)
    if one.back_ns is not None:
        words.append(
            f"{share} of the rate before {measures.with_unit(one.back_ns, Unit.NANOSECONDS)} after {BEFALLEN[one.action][2]}"
        )
    elif "after" in one.rates_per_s:
        words.append(f"{share} of the rate before not reached again")
    return "; ".join((*words, f"longest pause {pause}"))
