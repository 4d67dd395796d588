"""end_network: counters of each end's namespace from recorded texts, and a real socket that overflows."""

import os
import socket
import subprocess

import pytest

from assay import catalogue
from assay.errors import EvidenceError
from assay.hosts.local import Local
from assay.observers.end_network import pairs
from assay.records import Edge, ServerNode, Snapshot, Subject
from stage.observer_looks import look, the_series

OBSERVER = catalogue.find("observers", "end_network")
SUBJECT = Subject(pids=(100,), reaches=("127.0.0.1",))
HEAD = "Inter-|   Receive\n face |bytes\n"


def space(drops=0, again=0, dsacks=0, interface_drops=0, pids=(100,), segments=None):
    newer = ("", "") if segments is None else (" TCPDSACKRecvSegs", f" {segments}")
    return {
        "pids": list(pids),
        "snmp": f"Tcp: OutSegs RetransSegs\nTcp: 1000 {again}\nUdp: InDatagrams OutDatagrams RcvbufErrors\nUdp: 50 60 {drops}\n",
        "netstat": f"TcpExt: TCPDSACKRecv TCPSACKReorder TCPTSReorder{newer[0]}\nTcpExt: {dsacks} 2 3{newer[1]}\n",
        "dev": f"{HEAD} veth0: 0 0 0 {interface_drops} 0 0 0 0 0 0 0 0 0 0 0 0\n    lo: 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n",
    }


def looked(*raws):
    edges = (Edge.ARMED, Edge.LAST)
    return [
        Snapshot(edge=edge, at_ns=at * 10**9, took_ns=1, raw=raw) for at, (edge, raw) in enumerate(zip(edges, raws, strict=True))
    ]


def test_one_report_of_many_segments_counts_them_all():
    looks = looked({"net:[1]": space(dsacks=7, segments=10)}, {"net:[1]": space(dsacks=8, segments=55)})
    assert list(the_series(OBSERVER.parse("h", "p", looks, SUBJECT), "tcp_dsacks", "net:[1]").value) == [0, 45]


def test_the_counters_of_each_namespace():
    looks = looked(
        {"net:[1]": space(), "net:[2]": space(3, pids=(7,))}, {"net:[1]": space(9), "net:[2]": space(3, 8, 6, 5, (7, 8))}
    )
    made = OBSERVER.parse("h", "p", looks, SUBJECT)
    assert list(the_series(made, "udp_receive_buffer_errors", "net:[1]").value) == [0, 9]
    assert list(the_series(made, "udp_receive_buffer_errors", "net:[2]").value) == [0, 0]
    assert list(the_series(made, "tcp_dsacks", "net:[2]").value) == [0, 6]
    assert list(the_series(made, "tcp_reorderings", "net:[2]").value) == [0, 0]
    assert list(the_series(made, "rx_drops", "net:[2]@veth0").value) == [0, 5]
    assert {one.subject for one in made.series if one.metric == "rx_drops"} == {"net:[2]@veth0"}, "idle ones have no series"
    assert [fact.value for fact in made.facts] == ["net:[1] 100; net:[2] 7 8"]


def test_what_could_not_be_read():
    looks = looked({"net:[1]": space()}, {"net:[1]": space()})
    made = OBSERVER.parse("h", "p", looks, SUBJECT)
    assert "end_network.udp_no_port" in made.missing
    assert "end_network.udp_received" not in made.missing
    made = OBSERVER.parse("h", "p", looked({}, {}), SUBJECT)
    assert "no end of the load" in made.missing["end_network.udp_received"]
    raw = {"net:[1]": {"pids": [1], "snmp": {"error": "gone"}, "netstat": {"error": "gone"}, "dev": {"error": "gone"}}}
    made = OBSERVER.parse("h", "p", looked(raw, raw), SUBJECT)
    assert made.series == ()
    assert "end_network.tcp_dsacks" in made.missing
    assert OBSERVER.read(Local(), Subject(pids=(os.getpid(),))) == {}
    assert OBSERVER.parse("h", "p", [], Subject()).missing == {}


def test_damaged_texts_are_refused(subtests):
    for text in ["Udp: A B\nUdp: 1\n", "Udp: A\nTcp: 1\n", "Udp: A\nUdp: x\n"]:
        with subtests.test(text=text), pytest.raises(EvidenceError, match="expected"):
            pairs(text, "snmp")


def test_a_socket_that_overflows_in_our_namespace():
    subject = Subject(pids=(os.getpid(),), server=(ServerNode(address="127.0.0.1"),))
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as receiver, socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        receiver.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        receiver.bind(("127.0.0.1", 0))
        first = look(OBSERVER, Local(), subject, Edge.ARMED, 0)
        for _ in range(100):
            sender.sendto(bytes(1000), receiver.getsockname())
        last = look(OBSERVER, Local(), subject, Edge.LAST, 1)
    (name,) = first.raw
    made = OBSERVER.parse("h", "p", [first, last], subject)
    assert the_series(made, "udp_receive_buffer_errors", name).value[-1] >= 90


@pytest.mark.root
def test_an_end_in_a_namespace_of_its_own():
    with subprocess.Popen(["unshare", "-n", "sh", "-c", "echo; exec sleep 60"], stdout=subprocess.PIPE) as there:
        there.stdout.readline()
        subject = Subject(pids=(os.getpid(), there.pid), reaches=("127.0.0.1",))
        found = look(OBSERVER, Local(), subject, Edge.ARMED, 0)
        there.kill()
    assert len(found.raw) == 2
    assert there.pid in list(found.raw.values())[1]["pids"]
