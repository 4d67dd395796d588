"""Timed events of a workload: commands on hosts, paths that are cut, mended or get another rate, and what is done to targets."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from assay.experiment import named_hosts
from assay.experiment.shape import EventShape, check
from assay.records import Action, Event, HostSpec
from assay.toml_document import Document, Path, Point, one_of, shown
from assay.units import Refusal, Unit, attempt

ACTIONS = "run = [...], or an action on a path (cut, mend, rate) or on a target (kill, stop, power, fill)"
FREE_RATE = "none"
"""The rate of an event that takes the limit away."""


def events(
    document: Document, at: Path, found: object, hosts: tuple[HostSpec, ...], paths: tuple[str, ...]
) -> Mapping[int, Event]:
    """Return the events of a workload that are right by their place in the list, after all mistakes were noted."""
    if not isinstance(found, list):
        document.wrong(at, shown(found), "tables [[workloads.NAME.events]]")
        return {}
    made: dict[int, Event] = {}
    for index, item in enumerate(found):
        here = (*at, index)
        shape = check(document, EventShape, item, here)
        if not isinstance(shape, EventShape):
            continue
        moment = attempt(shape.at, Unit.NANOSECONDS)
        if isinstance(moment, Refusal):
            document.wrong((*here, "at"), moment.found, moment.expected)
        one = _one(document, here, shape, hosts, paths)
        if one is not None and not isinstance(moment, Refusal):
            made[index] = replace(one, at_ns=int(moment))
    return made


def _one(document: Document, at: Path, shape: EventShape, hosts: tuple[HostSpec, ...], paths: tuple[str, ...]) -> Event | None:
    """An event by what it is done to, its time left open."""
    if shape.action is Action.RUN:
        return _on_host(document, at, shape, hosts)
    return _on_target(document, at, shape) if shape.action.of_target else _on_path(document, at, shape, paths)


def _on_target(document: Document, at: Path, shape: EventShape) -> Event | None:
    """An event on a target of the trial; which targets it fits is seen when all are known (`target_events`)."""
    before = len(document.mistakes)
    for name in ("host", "run", "rate"):
        if getattr(shape, name if name != "rate" else "rate_") is not None:
            wanted = "on = the name of a target, or no key for the target of the trial"
            document.wrong((*at, name), f"{name!r} with action = {shape.action.value!r}", wanted, Point.KEY)
    lasts = _lasts(document, at, shape)
    if shape.for_ is None:
        wanted = 'for = "5 s": after that time the lab takes it back, so that records can be looked for'
        document.wrong(at, f"action = {shape.action.value!r} without 'for'", wanted, Point.KEY)
    if len(document.mistakes) > before:
        return None
    return Event(phase=shape.phase, at_ns=0, on=shape.on or "", action=shape.action, for_ns=lasts)


def _on_host(document: Document, at: Path, shape: EventShape, known: tuple[HostSpec, ...]) -> Event | None:
    """An event that runs a command, its time left open; None after its mistakes were noted."""
    if shape.on is not None and shape.host is not None:
        document.wrong((*at, "host"), "both host and on", "one of them")
    key = "on" if shape.on is not None else "host"
    host = named_hosts.one(document, (*at, key), shape.on or shape.host or named_hosts.LOCAL, known)
    for name in ("for", "rate"):
        if getattr(shape, f"{name}_") is not None:
            document.wrong((*at, name), f"{name} of an event that runs a command", 'action = "cut" or "rate" with it', Point.KEY)
    if not shape.run:
        document.wrong(at, "an event without 'run'", ACTIONS, Point.KEY)
        return None
    return Event(phase=shape.phase, at_ns=0, on=host, argv=tuple(shape.run))


def _on_path(document: Document, at: Path, shape: EventShape, known: tuple[str, ...]) -> Event | None:
    """An event that changes a path, its time left open; None after its mistakes were noted."""
    before = len(document.mistakes)
    if shape.on not in known:
        wanted = one_of(known, shape.on or "") if known else f"a table [paths.NAME]: {shape.action} changes a path"
        document.wrong((*at, "on"), f"path {shown(shape.on)}" if shape.on else "an event on no path", wanted)
    for name in ("host", "run"):
        if getattr(shape, name) is not None:
            document.wrong((*at, name), f"{name!r} with action = {shape.action.value!r}", "on = the name of a path", Point.KEY)
    lasts, rate = _lasts(document, at, shape), _rate(document, at, shape)
    if len(document.mistakes) > before:
        return None
    on, action = str(shape.on), shape.action
    return Event(phase=shape.phase, at_ns=0, on=on, action=action, for_ns=lasts, rate_bytes_per_s=rate)


def _lasts(document: Document, at: Path, shape: EventShape) -> int | None:
    if shape.for_ is None:
        return None
    lasts = attempt(shape.for_, Unit.NANOSECONDS)
    if isinstance(lasts, Refusal):
        document.wrong((*at, "for"), lasts.found, lasts.expected)
        return None
    if lasts <= 0 or shape.action is Action.MEND:
        document.wrong((*at, "for"), f"for = {shown(shape.for_)}", "a time above 0, not with mend")
    return int(lasts)


def _rate(document: Document, at: Path, shape: EventShape) -> int | None:
    if shape.action is not Action.RATE:
        if shape.rate_ is not None:
            document.wrong((*at, "rate"), f"rate with action = {shape.action.value!r}", 'action = "rate"', Point.KEY)
        return None
    if shape.rate_ == FREE_RATE:
        return None
    found = attempt(shape.rate_ or "", Unit.BYTES_PER_S)
    if isinstance(found, Refusal) or found <= 0:
        document.wrong((*at, "rate"), f"rate = {shown(shape.rate_)}", f'a rate such as "10 Mbit/s", or "{FREE_RATE}"')
        return None
    return int(found)
