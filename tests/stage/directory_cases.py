"""Synthetic loads on a directory server, with what the server counted by itself."""

from __future__ import annotations

from array import array
from dataclasses import replace

from assay.catalogue import TrialCase
from assay.records import (
    Claim,
    Direction,
    DirectoryAnswers,
    DirectoryEnd,
    Fact,
    FactClass,
    OperationTotal,
    Reading,
    Rung,
    Series,
    Server,
    ServerNode,
    When,
)
from audit.case_builder import SECOND, Made, case_of

SLAPD = Server(nodes=(ServerNode(pid_file="/p", data=("/d",), software="slapd", monitor=(("ldapsearch",),)),))
NAMELESS = Server(nodes=(ServerNode(pid_file="/p"),))
NOBODY = Claim()


def loaded(
    rule,
    done,
    *,
    counted=None,
    operation="search",
    server=SLAPD,
    claim=NOBODY,
    figure="ops_per_s",
    rungs=(),
    gauges=(),
    facts=(),
    places=1,
    **more,
) -> TrialCase:
    """One client of a second that did so many operations by kind; `more` are fields of the answers to searches.

    `counted`: type -> what the server counted in the clock; None: it has no counters.
    `rungs`: (rung, direction, bytes, operations); `gauges`: metric of layer `server` -> its values at both edges.
    """
    case = case_of(Made(operation="read", claim=claim, figure=figure), rule)
    answers = {kind: answered(count, **(more if kind == "search" else {})) for kind, count in done.items()}
    end = DirectoryEnd(
        connections=1,
        places=places,
        lost=0,
        own={"bind": 1, "search": 1},
        sent_bytes=0,
        received_bytes=0,
        unasked=0,
        notices=0,
        operations=answers,
    )
    totals = tuple(total(kind, count) for kind, count in done.items())
    client = replace(case.phase.clients[0], operations=totals, directory=end)
    names = tuple(done)
    phase = replace(
        case.phase,
        operations=names,
        directions=dict.fromkeys(names, Direction.REQUEST),
        clients=(client,),
        workload="w",
    )
    return placed(case, phase, operation, server, seen(counted, rungs, gauges, facts))


def reported(
    rule, operation, count, *, counted=None, server=SLAPD, direction=Direction.REQUEST, claim=NOBODY, rungs=(), **values
):
    """An external command on a directory server that reports so many operations, and perhaps other figures."""
    case = case_of(Made(operation="read", claim=claim, figure="elapsed_ns"), rule)
    told = {f"{operation}.elapsed_ns": 1e9, **values} | ({} if count is None else {f"{operation}.count": float(count)})
    phase = replace(case.phase, operations=(operation,), directions={operation: direction}, values=told)
    return placed(case, phase, operation, server, seen(counted, rungs, (), ()))


def placed(case, phase, operation, server, evidence):
    readings, series, facts = evidence
    observations = replace(
        case.observations,
        readings=readings,
        series=(*case.observations.series, *series),
        facts=(*facts, *case.observations.facts),
    )
    run = replace(case.run, phases=(phase,), places=tuple(replace(place, server=server) for place in case.run.places))
    measure = replace(case.measure, operation=operation)
    rate = float(sum(one.count for client in phase.clients for one in client.operations if one.operation == operation))
    value = rate if measure.figure == "ops_per_s" else case.value
    return replace(case, run=run, phase=phase, measure=measure, observations=observations, value=value)


def answered(count, entries=None, misses=0, codes=None, wrong=None):
    return DirectoryAnswers(
        requests=count,
        entries=count if entries is None else entries,
        references=0,
        misses=misses,
        codes={"success": count} if codes is None else codes,
        wrong=wrong or {},
    )


def total(kind, count):
    return OperationTotal(operation=kind, count=count, bytes=0, errors=0, busy_ns=SECOND, first_ns=0, last_ns=SECOND)


def seen(counted, rungs, gauges, facts):
    series = [series_of("directory", name, (0, count)) for name, count in (counted or {}).items()]
    series += [series_of("server", name, values) for name, values in dict(gauges).items()]
    readings = tuple(
        Reading(
            phase="p",
            rung=Rung(rung),
            source=f"seen:{rung}",
            host="local",
            subject="device:vda" if rung in ("L8", "L9") else "server",
            direction=direction,
            bytes=size,
            operations=operations,
            from_ns=0,
            to_ns=SECOND,
        )
        for rung, direction, size, operations in rungs
    )
    known = tuple(
        Fact(host="local", when=When.BEFORE, key=key, value=value, fact_class=FactClass.PERFORMANCE) for key, value in facts
    )
    return readings, series, known


def series_of(layer, metric, values):
    return Series(
        phase="p",
        source="directory_monitor:ldapsearch",
        layer=layer,
        host="local",
        subject="slapd",
        metric=metric,
        unit="count",
        at_ns=array("q", [-1000, SECOND + 1000]),
        value=array("d", values),
    )
