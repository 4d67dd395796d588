"""Timed events of a workload: commands on hosts, and paths that are cut, mended or get another rate."""

from __future__ import annotations

from dataclasses import replace

from assay.experiment import named_hosts
from assay.experiment.shape import EventShape, check
from assay.records import Action, Event, HostSpec
from assay.toml_document import Document, Path, Point, one_of, shown
from assay.units import Refusal, Unit, attempt

FREE_RATE = "none"
"""The rate of an event that takes the limit away."""


def events(document: Document, at: Path, found: object, hosts: tuple[HostSpec, ...], paths: tuple[str, ...]) -> tuple[Event, ...]:
    """Return the events of a workload that are right, after all mistakes were noted."""
    if not isinstance(found, list):
        document.wrong(at, shown(found), "tables [[workloads.NAME.events]]")
        return ()
    made = []
    for index, item in enumerate(found):
        here = (*at, index)
        shape = check(document, EventShape, item, here)
        if not isinstance(shape, EventShape):
            continue
        moment = attempt(shape.at, Unit.NANOSECONDS)
        if isinstance(moment, Refusal):
            document.wrong((*here, "at"), moment.found, moment.expected)
        by_host = shape.action is Action.RUN
        one = _on_host(document, here, shape, hosts) if by_host else _on_path(document, here, shape, paths)
        if one is not None and not isinstance(moment, Refusal):
            made.append(replace(one, at_ns=int(moment)))
    return tuple(made)


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
        document.wrong(at, "an event without 'run'", "run = [...], or an action on a path: cut, mend, rate", Point.KEY)
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
        document.wrong((*at, "for"), f"for = {shown(shape.for_)}", "a time above 0, with cut or rate")
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
