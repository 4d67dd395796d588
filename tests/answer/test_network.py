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


def test_the_bytes_of_each_way_of_mptcp():
    found = lines(end(subflow("10.0.0.1:1", 600), subflow("10.0.1.1:2", 200, 200)), end())
    assert "subflows: 10.0.0.1 60 %, 10.0.1.1 40 %" in found


def test_one_way_is_not_shared_out():
    every = [end(), end(subflow("10.0.0.1:1", 5)), end(subflow("10.0.0.1:1", 0), subflow("10.0.1.1:1", 0))]
    assert not any("subflows" in line for one in every for line in lines(one, end()))


def test_refused_connections_are_counted():
    assert "refused connections: 2 (token)" in lines(end(), end(refused={"token": 2}))


def test_a_cut_in_words():
    rates = {"before": 100.0, "while": 0.0, "after": 150.0}
    second = 10**9
    one = Outage(
        path="wan", operation="transaction", from_ns=2 * second, to_ns=4 * second, rates_per_s=rates, pause_ns=3.4 * second
    )
    assert drill.cut(one) == (
        "path wan cut from 2 s to 4 s: transaction 100/s before, 0/s while it was cut, 150/s after; "
        "90 % of the rate before not reached again; longest pause 3.40 s"
    )
    back = drill.cut(replace(one, back_ns=1.4 * second))
    assert "150/s after; 90 % of the rate before 1.40 s after the mending; longest" in back
    until_the_end = replace(one, rates_per_s={"before": 100.0, "while": 0.0})
    assert drill.cut(until_the_end).endswith("0/s while it was cut; longest pause 3.40 s")
