"""When events happen: within the time of their phase, and nothing twice at the same time."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping

from assay.catalogue import Order, Workload
from assay.experiment.factors import variants
from assay.experiment.parts import PartSpec
from assay.records import Action, Endpoint, Event, Factor, PhasePlan, StopRule, Value
from assay.toml_document import Document, Path
from assay.units import Unit
from assay.units import format as formatted

SERVERS = frozenset({Action.KILL, Action.STOP})
Placed = tuple[Path, Event]


def event_times_fit(document: Document, workloads: Mapping[str, PartSpec], factors: tuple[Factor, ...]) -> None:
    """Note events that begin or are taken back after the end of their phase, and those during which another one happens."""
    for part in workloads.values():
        placed = [((*part.at, "events", index), event) for index, event in part.events.items()]
        if not placed or not part.settings.complete or not isinstance(part.plug, Workload):
            continue
        shortest = _shortest(part.name, part.plug, [knobs for knobs in variants(part, factors) if not part.plug.check(knobs)])
        for at, event in placed:
            if event.phase in shortest:
                _within(document, at, event, shortest[event.phase])
        for earlier, later in _at_once(placed):
            _refuse(document, earlier[1], later)


def planned(name: str, plug: Workload, knobs: Mapping[str, Value]) -> tuple[PhasePlan, ...]:
    """Return the phases that one client would go through; nothing is done."""
    return plug.phases(Order(workload=name, knobs=knobs, endpoints=(Endpoint(kind=plug.accepts[0], address="/"),), seed=0))


def _shortest(name: str, plug: Workload, each: Iterable[Mapping[str, Value]]) -> dict[str, int]:
    """Return phase -> its time, the shortest of all levels; phases that end by their work are left out."""
    found: dict[str, int] = {}
    for knobs in each:
        for plan in planned(name, plug, knobs):
            if (length := length_ns(plan)) is not None:
                found[plan.name] = min(length, found.get(plan.name, length))
    return found


def length_ns(plan: PhasePlan) -> int | None:
    """Return the longest time that a phase takes; None where its work ends it."""
    if plan.stop is StopRule.WORK:
        return None
    return max((length for settings in plan.settings if (length := _time(settings)) is not None), default=None)


def _time(settings: Mapping[str, object]) -> int | None:
    """Return the time of one client: its time limit, or its schedule where that is shorter."""
    load, limit = settings.get("load"), settings.get("duration_ns")
    rows = load.get("schedule") if isinstance(load, Mapping) else None
    stages = sum(int(row["duration_ns"]) for row in rows) if isinstance(rows, tuple | list) else 0
    return min((one for one in (limit, stages) if isinstance(one, int) and one), default=None)


def _within(document: Document, at: Path, event: Event, length_ns: int) -> None:
    end = formatted(length_ns, Unit.NANOSECONDS)
    if event.at_ns >= length_ns:
        found = f"an event at {formatted(event.at_ns, Unit.NANOSECONDS)} of phase {event.phase!r}, which ends after {end}"
        document.wrong((*at, "at"), found, f"a time before {end}, or a longer phase")
    elif event.for_ns is not None and event.at_ns + event.for_ns >= length_ns:
        back = formatted(event.at_ns + event.for_ns, Unit.NANOSECONDS)
        found = f"an event that is taken back at {back} of phase {event.phase!r}, which ends after {end}"
        rest = formatted(length_ns - event.at_ns, Unit.NANOSECONDS)
        document.wrong((*at, "for"), found, f"for = less than {rest}, or a longer phase")


def _at_once(placed: Iterable[Placed]) -> Iterator[tuple[Placed, Placed]]:
    """Yield each event that begins while an earlier one lasts that befalls the same, after that one."""
    for earlier, later in itertools.combinations(sorted(placed, key=lambda one: one[1].at_ns), 2):
        first, second = earlier[1], later[1]
        lasts = first.for_ns is not None and first.at_ns + first.for_ns >= second.at_ns
        if lasts and first.phase == second.phase and _befall_the_same(first, second):
            yield earlier, later


def _befall_the_same(one: Event, other: Event) -> bool:
    """Whether two events are done to one thing. Without its power a disk has no server either, and takes nothing."""
    if one.action.of_target and other.action.of_target and Action.POWER in (one.action, other.action):
        return True
    same = one.on == other.on or (one.action.of_target and "" in (one.on, other.on))
    return same and (one.action is other.action or {one.action, other.action} <= SERVERS)


def _refuse(document: Document, earlier: Event, later: Placed) -> None:
    at, event = later
    begun, until = (formatted(at_ns, Unit.NANOSECONDS) for at_ns in (earlier.at_ns, earlier.at_ns + (earlier.for_ns or 0)))
    found = f"action {event.action.value!r} at {formatted(event.at_ns, Unit.NANOSECONDS)}"
    during = f"while action {earlier.action.value!r} at {begun} lasts, until {until}"
    document.wrong((*at, "at"), f"{found}, {during}", f"a time after {until}")
