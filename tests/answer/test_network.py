"""Both ends of a phase over the network in words."""

from dataclasses import replace

import notebook_records as made
from assay.answer.wording import drill, network
from assay.measures.outages import Outage
from assay.records import NetConnection, NetEnd, Role, SocketBuffer, Subflow

BUFFER = SocketBuffer(asked=None, got=1, end=1)


def end(*subflows, refused=None):
    connection = NetConnection(
        protocol="mptcp",
        local="10.0.0.1:1",
        peer="10.0.0.2:9",
        ended="finished",
        send_buffer=BUFFER,
        receive_buffer=BUFFER,
        subflows=subflows,
    )
    return NetEnd(address="10.0.0.2:9", accepted=1, connections=(connection,), refused=refused or {})


def lines(load, server):
    client = replace(made.client(), net=load)
    far = replace(made.client(index=1), role=Role.SERVER, net=server)
    return list(network.lines(replace(made.phase((client,)), servers=(far,))))


def subflow(local, acked, received=0):
    return Subflow(local=local, peer="10.0.0.2:9", tcp={"acked_bytes": acked, "received_bytes": received})


def test_ways_of_mptcp_share_the_bytes_and_refused_connections_are_counted():
    found = lines(end(subflow("10.0.0.1:1", 600), subflow("10.0.1.1:2", 200, 200)), end())
    assert "subflows: 10.0.0.1 60 %, 10.0.1.1 40 %" in found
    every = [end(), end(subflow("10.0.0.1:1", 5)), end(subflow("10.0.0.1:1", 0), subflow("10.0.1.1:1", 0))]
    assert not any("subflows" in line for one in every for line in lines(one, end())), "one way is not shared out"
    assert "refused connections: 2 (token)" in lines(end(), end(refused={"token": 2}))


def test_a_cut_in_words():
    second = 10**9
    rates, times = {"before": 100.0, "while": 0.0, "after": 150.0}, {"from_ns": 2 * second, "to_ns": 4 * second}
    one = Outage(path="wan", operation="transaction", **times, rates_per_s=rates, pause_ns=3.4 * second)
    parts = ("wan cut from 2 s to 4 s", "100/s before", "0/s while", "150/s after", "not reached", "1.40 s", "pause 3.40 s")
    for cut, told in (
        (one, (True, True, True, True, True, False, True)),
        (replace(one, back_ns=1.4 * second), (True, True, True, True, False, True, True)),
        (replace(one, rates_per_s={"before": 100.0, "while": 0.0}), (True, True, True, False, False, False, True)),
    ):
        assert tuple(part in drill.cut(cut) for part in parts) == told
