"""Synthetic runs of a server and its clients, for the rules that judge servers."""

from __future__ import annotations

from array import array
from dataclasses import replace

from assay.records import Fact, FactClass, Reading, Rung, Series, Server, ServerNode, Span, When
from audit.case_builder import SECOND, Made, case_of

SERVER = Server(nodes=(ServerNode(pid_file="/p", data=("/d",)),))


def served(rule, rungs=(), gauges=(), facts=(), server=SERVER, **made):
    """A case whose target names a server.

    `rungs`: (rung, direction, bytes); `gauges`: metric -> its values before the clock and after the last answer;
    `facts`: name below `target.server.` -> value.
    """
    case = case_of(Made(**made), rule)
    seconds = made.get("seconds", 1.0)
    observations = replace(
        case.observations,
        readings=(*case.observations.readings, *(counted(seconds, *one) for one in rungs)),
        series=(*case.observations.series, *(gauge(seconds, *one) for one in dict(gauges).items())),
        facts=(*case.observations.facts, *(fact(*one) for one in dict(facts).items())),
    )
    places = tuple(replace(place, server=server) for place in case.run.places)
    return replace(case, run=replace(case.run, places=places), observations=observations)


def counted(seconds, rung, direction, moved, subject="server"):
    return Reading(
        phase="p",
        rung=Rung(rung),
        source=f"server:{rung}",
        host="local",
        subject=subject,
        direction=direction,
        bytes=moved,
        operations=0,
        from_ns=0,
        to_ns=round(seconds * SECOND),
        span=Span.CLOCK,
    )


def gauge(seconds, metric, values):
    return Series(
        phase="p",
        source="server",
        layer="server",
        host="local",
        subject="server",
        metric=metric,
        unit="",
        at_ns=array("q", [-1000, round(seconds * SECOND) + 1000]),
        value=array("d", values),
    )


def fact(name, value):
    return Fact(host="local", when=When.BEFORE, key=f"target.server.{name}", value=value, fact_class=FactClass.PERFORMANCE)
