"""Synthetic runs of a directory load that client, wire and server counted."""

from __future__ import annotations

from array import array
from dataclasses import replace

from assay.records import Direction, DirectoryAnswers, DirectoryEnd, Missing, Series, Server, ServerNode
from audit.case_builder import SECOND, Made, case_of

TCP = ("ldapsearch", "-x", "-H", "ldap://127.0.0.1:3890", "-b", "cn=Monitor")
LOCAL = ("ldapsearch", "-x", "-H", "ldapi://%2Frun%2Fldapi", "-b", "cn=Monitor")


def series(layer, metric, risen, subject="", at_s=(-1, 2), host="local"):
    """A counter from 0 at the look after arming to what it rose until the last look."""
    values = [0.0] * (len(at_s) - 1) + [float(risen)]
    at_ns = array("q", [round(at * SECOND) for at in at_s])
    return Series(
        phase="p",
        source=layer,
        layer=layer,
        host=host,
        subject=subject,
        metric=metric,
        unit="count",
        at_ns=at_ns,
        value=array("d", values),
    )


def end(requests):
    """What a client asked for, by kind."""
    kinds = {kind: DirectoryAnswers(requests=count, entries=count, references=0, misses=0) for kind, count in requests.items()}
    return DirectoryEnd(
        connections=1,
        places=1,
        lost=0,
        own={"bind": 1, "search": 1, "unbind": 1},
        sent_bytes=1,
        received_bytes=1,
        unasked=0,
        notices=0,
        operations=kinds,
    )


def asked(client=None, wire=None, server=None, *, more=(), monitor=LOCAL, missing=None, printed=None, operation="search"):
    """A case in which client, wire and server counted these operations by kind; `printed` are the figures of a command."""
    case = case_of(Made(operation="list", figure="ops_per_s", values=printed or {}), "E12")
    case = replace(case, measure=replace(case.measure, operation=operation))
    counted = [series("wire", kind, count) for kind, count in (wire or {}).items()]
    counted += [series("directory", {"rename": "modrdn"}.get(kind, kind), count) for kind, count in (server or {}).items()]
    clients = tuple(replace(one, directory=end(client) if client else None) for one in case.phase.clients)
    directions = {operation: Direction.REQUEST}
    phase = replace(case.phase, clients=clients, operations=(operation,), directions=directions)
    node = Server(nodes=(ServerNode(software="slapd", monitor=(monitor,)),))
    run = replace(case.run, phases=(phase,), places=tuple(replace(place, server=node) for place in case.run.places))
    lacking = tuple(Missing(host="local", phase="p", key=key, reason=reason) for key, reason in (missing or {}).items())
    seen = replace(case.observations, series=(*counted, *more), missing=(*case.observations.missing, *lacking))
    return replace(case, run=run, phase=phase, observations=seen)
