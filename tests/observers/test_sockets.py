"""sockets: the peers of the load's own sockets and the way to each, for its own processes alone."""

import socket
import subprocess
import sys

import pytest

from assay import catalogue
from assay.hosts.local import Local
from assay.machine.peers import address, peers_in
from assay.records import Edge, Snapshot, Subject
from observer_looks import look

OBSERVER = catalogue.find("observers", "sockets")
TABLE = """  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 00000000:1451 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 11 1 0 100 0 0 10 0
   1: 0100007F:A4DC 0100007F:1451 01 00000000:00000000 00:00000000 00000000     0        0 12 1 0 20 4 30 10 -1
   2: 0A00A8C0:A4DC 0900A8C0:1451 01 00000000:00000000 00:00000000 00000000     0        0 13 1 0 20 4 30 10 -1
   damaged line
"""


def seen(*raws):
    snapshots = [Snapshot(edge=Edge.POLL, at_ns=number, took_ns=1, raw=raw) for number, raw in enumerate(raws)]
    return {fact.key: fact.value for fact in OBSERVER.parse("h", "w.run", snapshots, Subject()).facts}


def test_peers_of_own_sockets_alone():
    assert list(peers_in(TABLE, {"11", "12"})) == ["127.0.0.1"]
    assert list(peers_in(TABLE, {"13"})) == ["192.168.0.9"]
    assert list(peers_in("", {"13"})) == []


@pytest.mark.parametrize(
    ("digits", "found"),
    [
        ("0100007F", "127.0.0.1"),
        ("00000000000000000000000001000000", "::1"),
        ("0000000000000000FFFF00000100007F", "127.0.0.1"),
        ("B80D0120000000000000000001000000", "2001:db8::1"),
    ],
)
def test_addresses_of_the_kernel(digits, found):
    assert address(digits) == found


def test_the_way_that_leads_out_farthest_counts():
    found = seen({}, {"ways": {"127.0.0.53": ["lo", "loopback"]}}, {"ways": {"192.0.2.9": ["eth0", "physical"]}})
    assert found["target.server.inside.w.run"] == "eth0"
    assert found["target.server.inside.w.run.kind"] == "physical"
    assert found["sockets.peers.w.run"] == "127.0.0.53 through lo (loopback), 192.0.2.9 through eth0 (physical)"


def test_damaged_looks_say_nothing():
    assert seen() == seen({}) == seen({"ways": "lo"}, {"ways": {"127.0.0.1": "lo"}}, {"ways": {"a": ["lo", "odd"]}}) == {}


CLIENT = "import socket, sys; s = socket.create_connection(('127.0.0.1', int(sys.argv[1]))); print(flush=True); s.recv(1)"


def test_a_real_connection_over_the_loopback():
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        with subprocess.Popen([sys.executable, "-c", CLIENT, str(port)], stdout=subprocess.PIPE) as client:
            client.stdout.readline()
            raw = look(OBSERVER, Local(), Subject(pids=(client.pid,)), Edge.POLL, 0).raw
            client.kill()
    assert raw == {"ways": {"127.0.0.1": ["lo", "loopback"]}}


def test_a_process_without_sockets_and_one_that_has_ended():
    with subprocess.Popen(["sleep", "60"]) as sleeper:
        assert look(OBSERVER, Local(), Subject(pids=(sleeper.pid,)), Edge.POLL, 0).raw == {}
        sleeper.kill()
    assert look(OBSERVER, Local(), Subject(pids=(sleeper.pid,)), Edge.POLL, 0).raw == {}


def test_the_tables_are_read_again_when_a_process_has_other_sockets(monkeypatch):
    read = []
    host = Local()
    text = host.read
    monkeypatch.setattr(host, "read", lambda path: read.append(path) or text(path))
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        twice = CLIENT.replace(
            "s.recv(1)", "sys.stdin.readline(); t = socket.create_connection(s.getpeername()); print(flush=True); s.recv(1)"
        )
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
        with subprocess.Popen([sys.executable, "-c", twice, str(port)], **pipes) as client:
            client.stdout.readline()
            looks = [look(OBSERVER, host, Subject(pids=(client.pid,)), Edge.POLL, 0).raw for _ in range(3)]
            once = sum(path.endswith("/net/tcp") for path in read)
            client.stdin.write(b"\n")
            client.stdin.flush()
            client.stdout.readline()
            looks.append(look(OBSERVER, host, Subject(pids=(client.pid,)), Edge.POLL, 0).raw)
            client.kill()
    assert looks == [{"ways": {"127.0.0.1": ["lo", "loopback"]}}] * 4
    assert (once, sum(path.endswith("/net/tcp") for path in read)) == (1, 2)
