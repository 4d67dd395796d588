"""Synthetic runs between two ends of Assay, for the rules that judge networks."""

from __future__ import annotations

from array import array
from dataclasses import replace

from assay.records import (
    DatagramTotal,
    Direction,
    EngineCost,
    Fact,
    FactClass,
    NetConnection,
    NetEnd,
    Role,
    Series,
    Server,
    ServerNode,
    SocketBuffer,
    When,
    ZerocopyTotal,
)
from audit.case_builder import SECOND, Made, case_of

SERVER = Server(nodes=(ServerNode(host="local", address="127.0.0.1"),))
SERVER_PID = 200
BUFFER = SocketBuffer(asked=None, got=131_072, end=131_072)
SECONDS = 2.0


def connection(congestion="cubic", asked=None, **tcp):
    buffer = replace(BUFFER, asked=asked)
    known = {"path_mtu": 1500, "segments_out": 0, "retransmits": 0, "dsacks": 0, "reorderings": 0, **tcp}
    return NetConnection(
        protocol="tcp",
        local="127.0.0.1:1",
        peer="127.0.0.1:2",
        ended="finished",
        send_buffer=buffer,
        receive_buffer=buffer,
        congestion=congestion,
        tcp=known,
    )


def end(*connections, zerocopy=None, datagrams=None):
    return NetEnd(
        address="127.0.0.1:2",
        accepted=1,
        connections=connections,
        zerocopy=None if zerocopy is None else ZerocopyTotal(sent=zerocopy[0], completed=zerocopy[0], copied=zerocopy[1]),
        datagrams=None if datagrams is None else DatagramTotal(**datagrams),
    )


def series(layer, subject, metric, values, unit="count"):
    """A series whose samples lie between the start and the end of the phase, its edges included."""
    last = len(values) - 1
    return Series(
        phase="p",
        source=layer,
        layer=layer,
        host="local",
        subject=subject,
        metric=metric,
        unit=unit,
        at_ns=array("q", [round(place * SECONDS * SECOND / last) for place in range(len(values))]),
        value=array("d", values),
    )


def between(rule, *, load=None, server=None, operation="send", gauges=(), facts=(), busy=(0.3, 0.3), **made):
    """A case of two ends; `gauges`: (layer, subject, metric, values); `busy`: CPU time of load and server over the time."""
    case = case_of(Made(seconds=SECONDS, **made), rule)
    client = case.phase.clients[0]
    total = replace(client.operations[0], operation=operation)
    lasting = {"first_ns": 0, "last_ns": round(SECONDS * SECOND), "workers": 1}
    costs = [EngineCost(cpu_user_ns=0, cpu_system_ns=round(share * SECONDS * SECOND)) for share in busy]
    ends = (
        replace(client, net=load or end(connection()), operations=(total,), cost=costs[0], **lasting),
        replace(
            client,
            index=1,
            pid=SERVER_PID,
            role=Role.SERVER,
            net=server or end(connection()),
            operations=(replace(total, operation="receive" if operation == "send" else "send"),),
            cost=costs[1],
            **lasting,
        ),
    )
    way = {"send": Direction.SEND, "receive": Direction.RECEIVE}.get(operation, Direction.REQUEST)
    phase = replace(case.phase, operations=(operation,), directions={operation: way}, clients=ends[:1], servers=ends[1:])
    places = tuple(replace(place, server=SERVER) for place in case.run.places)
    observations = replace(
        case.observations,
        series=(*case.observations.series, *(series(*one) for one in gauges)),
        facts=(*case.observations.facts, *(fact(*one) for one in facts)),
    )
    return replace(
        case,
        run=replace(case.run, places=places, phases=(phase,)),
        phase=phase,
        measure=replace(case.measure, operation=operation),
        observations=observations,
    )


def fact(key, value):
    return Fact(host="local", when=When.BEFORE, key=key, value=value, fact_class=FactClass.PERFORMANCE)
