"""The server's interfaces: texts of its namespace, and a real server on the loopback."""

import os
import socket
import subprocess
import sys
from dataclasses import replace

import pytest

from assay.errors import EvidenceError
from assay.hosts.local import Local
from assay.observers.server_network import OBSERVER
from assay.records import Direction, Edge, Rung, ServerNode, Snapshot, Span, Subject
from stage.observer_looks import look, readings, the_series

SUBJECT = Subject(server=(ServerNode(pid_file="/run/pid", address="127.0.0.1"),), reaches=("127.0.0.1",))
MIB = 1 << 20
TORN = "a\nb\nTcp: x"


def snapshot(edge, at, sent, *, again=0, own=False):
    head = "Inter-|   Receive\n face |bytes\n"
    rows = "".join(f"{name}: 0 0 0 0 0 0 0 0 {moved} 3 0 0 0 0 0 0\n" for name, moved in (("lo", 2 * sent), ("eth0", sent)))
    snmp = f"Ip: A\nIp: 1\nTcp: PassiveOpens OutSegs RetransSegs\nTcp: {sent // 500} {sent // 1000} {again}\n"
    return Snapshot(edge=edge, at_ns=at, took_ns=1, raw={"own": own, "dev": head + rows, "snmp": snmp})


def clock(*, own):
    looks = [snapshot(Edge.ARMED, 0, 1000, own=own), snapshot(Edge.LAST, 10**9, 51_000, again=2, own=own)]
    return OBSERVER.parse("h", "p", looks, SUBJECT)


def test_what_counts_in_which_namespace():
    found = clock(own=False)
    assert {one.subject for one in readings(found)} == {"interface:eth0"}
    assert readings(found, direction=Direction.WRITE, span=Span.CLOCK)[0].bytes == 50_000
    assert list(the_series(found, "retransmitted_segments", "server").value) == [0, 2]
    assert list(the_series(found, "accepted_connections", "server").value) == [0, 100]
    assert {one.subject for one in readings(clock(own=True))} == {"interface:lo"}
    looks = [snapshot(Edge.ARMED, 0, 1000, own=True), snapshot(Edge.LAST, 10**9, 51_000, own=True)]
    found = OBSERVER.parse("s", "p", looks, replace(SUBJECT, reaches=()))
    assert {one.subject for one in readings(found)} == {"interface:eth0"}


def test_the_labs_own_connections_count_on_the_hosts_own_interfaces_alone():
    def told(subject, *, own=True):
        looks = [snapshot(Edge.ARMED, 0, 1000, own=own), snapshot(Edge.LAST, 10**9, 51_000, own=own)]
        counts = ((500, 700), (9_000, 9_900))
        return OBSERVER.parse(
            "s", "p", [replace(one, raw={**one.raw, "lab": lab}) for one, lab in zip(looks, counts, strict=True)], subject
        )

    apart = replace(SUBJECT, reaches=())
    found = the_series(told(apart), "lab_bytes", "server")
    assert [*zip(found.at_ns, found.value, strict=True)] == [(0, 0), (1, 200), (10**9, 8_500), (10**9 + 1, 9_400)]
    assert not [one for one in told(apart, own=False).series if one.metric == "lab_bytes"], "a namespace of the server's own"


def test_segments_sent_again_for_nothing_are_the_receivers_word():
    looks = [snapshot(Edge.ARMED, 0, 1000), snapshot(Edge.LAST, 10**9, 51_000, again=2)]
    said = [f"TcpExt: SyncookiesSent TCPDSACKRecv\nTcpExt: 0 {count}\nIpExt: A\nIpExt: 1\n" for count in (7, 9)]
    told = [replace(one, raw={**one.raw, "netstat": text}) for one, text in zip(looks, said, strict=True)]
    found = OBSERVER.parse("h", "p", told, SUBJECT)
    assert list(the_series(found, "needless_segments", "server").value) == [0, 2]
    assert found.missing == {}
    newer = [f"TcpExt: TCPDSACKRecv TCPDSACKRecvSegs\nTcpExt: {reports} {count}\n" for reports, count in ((7, 10), (8, 55))]
    told = [replace(one, raw={**one.raw, "netstat": text}) for one, text in zip(looks, newer, strict=True)]
    found = OBSERVER.parse("h", "p", told, SUBJECT)
    assert list(the_series(found, "needless_segments", "server").value) == [0, 45], "one report of 45 segments"
    assert "server.needless_segments" in OBSERVER.parse("h", "p", looks, SUBJECT).missing
    torn = [replace(one, raw={**one.raw, "netstat": "TcpExt: x"}) for one in looks]
    with pytest.raises(EvidenceError, match="expected"):
        OBSERVER.parse("h", "p", torn, SUBJECT)


def test_what_is_not_there_is_told():
    for name in ("dev", "snmp"):
        looks = [snapshot(edge, 0, 1) for edge in (Edge.ARMED, Edge.LAST)]
        with pytest.raises(EvidenceError, match="expected"):
            OBSERVER.parse("h", "p", [replace(one, raw={**one.raw, name: TORN}) for one in looks], SUBJECT)
    assert OBSERVER.read(Local(), Subject(server=(ServerNode(pid_file="/no/such/pid", address="::1"),))) == {}
    gone = Snapshot(edge=Edge.ARMED, at_ns=0, took_ns=1, raw={})
    assert "no process" in OBSERVER.parse("h", "p", [gone], SUBJECT).missing["L4.read"]
    assert OBSERVER.parse("h", "p", [], Subject()).missing == {}
    nowhere = ServerNode(pid_file="/run/pid")
    assert "server.address" in OBSERVER.parse("h", "p", [], Subject(server=(nowhere,))).missing["L4.read"]


def test_a_real_mebibyte_of_a_real_server(tmp_path):
    (tmp_path / "pid").write_text(str(os.getpid()))
    subject = Subject(server=(ServerNode(pid_file=str(tmp_path / "pid"), address="127.0.0.1"),), reaches=("127.0.0.1",))
    with socket.create_server(("127.0.0.1", 0)) as listening:
        armed = look(OBSERVER, Local(), subject, Edge.ARMED, 0)
        code = "import socket, sys; print(len(socket.create_connection(('127.0.0.1', int(sys.argv[1]))).recv(1 << 20, 256)))"
        with subprocess.Popen([sys.executable, "-c", code, str(listening.getsockname()[1])], stdout=subprocess.PIPE) as client:
            with listening.accept()[0] as link:
                link.sendall(bytes(MIB))
            assert client.stdout.read() == b"1048576\n"
        last = look(OBSERVER, Local(), subject, Edge.LAST, 1)
    found = OBSERVER.parse("h", "p", [armed, last], subject)
    (sent,) = readings(found, rung=Rung.SERVER_NIC, direction=Direction.WRITE)
    assert sent.bytes >= MIB
    assert sent.subject == "interface:lo"
    assert the_series(found, "sent_segments", "server").value[-1] > 0
    assert the_series(found, "accepted_connections", "server").value[-1] >= 1
    assert the_series(found, "needless_segments", "server").value[-1] >= 0


def test_each_namespace_of_a_server_has_its_own_interfaces_and_segments():
    def both(edge, at_s, received):
        one = snapshot(edge, at_s, received)
        return replace(one, raw={**one.raw, "more": [{**one.raw, "own": False}]})

    found = OBSERVER.parse("h", "p", [both(Edge.ARMED, 0, 0), both(Edge.LAST, 1, MIB)], SUBJECT)
    names = {one.subject for one in readings(found, rung=Rung.SERVER_NIC, direction=Direction.READ)}
    assert len([name for name in names if name.endswith("@2")]) >= 1
    assert {one.subject for one in found.series} == {"server", "server@2"}
