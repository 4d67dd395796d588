"""The tables of the network: what each server of a phase did and used, and every connection as either end saw it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import chain

from assay.notebook import layout
from assay.notebook.layout import to_text
from assay.records import Client, NetConnection, Phase, Run, SocketBuffer

Row = tuple[object, ...]

SERVERS = (
    "phase VARCHAR, client INTEGER, host VARCHAR, pid INTEGER, workers INTEGER, armed_ns BIGINT, started_ns BIGINT, "
    "first_ns BIGINT, last_ns BIGINT, stopped_by VARCHAR, operation VARCHAR, count BIGINT, bytes BIGINT, errors BIGINT, "
    "busy_ns BIGINT, cpu_user_ns BIGINT, cpu_system_ns BIGINT, address VARCHAR, accepted BIGINT, refused JSON, "
    "unfinished BIGINT, datagrams_lost BIGINT, buffer_drops BIGINT"
)
CONNECTIONS = (
    "phase VARCHAR, role VARCHAR, host VARCHAR, client INTEGER, number INTEGER, protocol VARCHAR, local VARCHAR, peer VARCHAR, "
    "ended VARCHAR, congestion VARCHAR, nodelay BOOLEAN, send_asked BIGINT, send_got BIGINT, send_end BIGINT, "
    "receive_asked BIGINT, receive_got BIGINT, receive_end BIGINT, tcp JSON, mptcp JSON, subflows JSON"
)


def server_rows(run: Run) -> Iterator[Row]:
    """Yield one row an operation of a server; its CPU time and its connections are those of the whole server."""
    for phase in run.phases:
        for server in phase.servers:
            for total in server.operations:
                yield (
                    *(layout.run_id(run.trial.id, run.attempt), phase.name, server.index, server.host, server.pid),
                    *(server.workers, server.armed_ns, server.started_ns, server.first_ns, server.last_ns, server.stopped_by),
                    *(total.operation, total.count, total.bytes, total.errors, total.busy_ns),
                    *((server.cost.cpu_user_ns, server.cost.cpu_system_ns) if server.cost else (None, None)),
                    *_listened(server),
                )


def _listened(server: Client) -> Row:
    """Where a server listened, whom it served, and which datagrams it missed."""
    end = server.net
    if end is None:
        return (None,) * 6
    lost = end.datagrams
    return (
        *(end.address, end.accepted, to_text(end.refused), end.unfinished),
        *((lost.lost, lost.buffer_drops) if lost else (None, None)),
    )


def connection_rows(run: Run) -> Iterator[Row]:
    """Yield one row for each end of each connection that a result lists."""
    for phase in run.phases:
        for one in _ends(phase):
            for connection in one.net.connections if one.net else ():
                yield (layout.run_id(run.trial.id, run.attempt), phase.name, one.role.value, one.host, *_connection(connection))


def _ends(phase: Phase) -> Iterator[Client]:
    return chain(phase.clients, phase.servers)


def _connection(one: NetConnection) -> Row:
    return (
        *(one.client, one.number, one.protocol, one.local, one.peer, one.ended, one.congestion, one.nodelay),
        *(number for buffer in (one.send_buffer, one.receive_buffer) for number in _sizes(buffer)),
        *(to_text(one.tcp), to_text(one.mptcp), to_text(one.subflows)),
    )


def _sizes(buffer: SocketBuffer) -> Row:
    return (buffer.asked, buffer.got, buffer.end)


COLUMNS: Mapping[str, str] = {"servers": SERVERS, "connections": CONNECTIONS}
"""Table -> its columns after those of the run."""
ROWS = {"servers": server_rows, "connections": connection_rows}
