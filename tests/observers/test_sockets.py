"""sockets: the peers of the load's own sockets and the way to each, for its own processes alone."""

import contextlib
import os
import socket
import subprocess
import sys

from assay import catalogue
from assay.hosts.local import Local
from assay.machine.peers import address, peers_in
from assay.records import Edge, Snapshot, Subject
from stage.observer_looks import look

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


def test_peers_of_own_sockets_alone_and_the_way_that_leads_out_farthest():
    assert list(peers_in(TABLE, {"11", "12"})) == ["127.0.0.1"]
    assert list(peers_in(TABLE, {"13"})) == ["192.168.0.9"]
    assert list(peers_in("", {"13"})) == []
    found = seen({}, {"ways": {"127.0.0.53": ["lo", "loopback", "apart"]}}, {"ways": {"192.0.2.9": ["eth0", "physical", "own"]}})
    assert found["target.server.inside.w.run"] == "eth0"
    assert found["target.server.inside.w.run.kind"] == "physical"
    assert found["target.server.inside.w.run.space"] == "own"
    assert found["sockets.peers.w.run"] == "127.0.0.53 through lo (loopback), 192.0.2.9 through eth0 (physical)"
    assert seen() == seen({}) == seen({"ways": "lo"}, {"ways": {"127.0.0.1": "lo"}}, {"ways": {"a": ["lo", "odd", "own"]}}) == {}


def test_addresses_of_the_kernel(subtests):
    for digits, found in [
        ("0100007F", "127.0.0.1"),
        ("00000000000000000000000001000000", "::1"),
        ("0000000000000000FFFF00000100007F", "127.0.0.1"),
        ("B80D0120000000000000000001000000", "2001:db8::1"),
    ]:
        with subtests.test(digits=digits, found=found):
            assert address(digits) == found


CLIENT = "import socket, sys; s = socket.create_connection(('127.0.0.1', int(sys.argv[1]))); print(flush=True); s.recv(1)"


def test_a_real_connection_over_the_loopback():
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        with subprocess.Popen([sys.executable, "-c", CLIENT, str(port)], stdout=subprocess.PIPE) as client:
            client.stdout.readline()
            raw = look(OBSERVER, Local(), Subject(pids=(client.pid,)), Edge.POLL, 0).raw
            client.kill()
    assert raw == {"ways": {"127.0.0.1": ["lo", "loopback", "own"]}}


def test_a_process_without_sockets_and_one_that_has_ended():
    with subprocess.Popen(["sleep", "60"]) as sleeper:
        assert look(OBSERVER, Local(), Subject(pids=(sleeper.pid,)), Edge.POLL, 0).raw == {}
        sleeper.kill()
    assert look(OBSERVER, Local(), Subject(pids=(sleeper.pid,)), Edge.POLL, 0).raw == {}


@contextlib.contextmanager
def connected(*, then=""):
    """A client with one connection, that does more when a line comes."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        code = CLIENT.replace("s.recv(1)", f"sys.stdin.readline(); {then}; print(flush=True); s.recv(1)" if then else "s.recv(1)")
        argv = [sys.executable, "-c", code, str(server.getsockname()[1])]
        with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as client:
            client.stdout.readline()
            yield client
            client.kill()


def go_on(client):
    client.stdin.write(b"\n")
    client.stdin.flush()
    client.stdout.readline()


def watched_calls(monkeypatch, host, name):
    """What is handed to a system call of the host."""
    calls, call = [], getattr(host.syscalls, name)
    monkeypatch.setattr(host.syscalls, name, lambda *given: calls.append(given) or call(*given), raising=False)
    return calls


SECOND = "t = socket.create_connection(s.getpeername())"


def test_sockets_are_asked_again_when_a_process_has_other_ones(monkeypatch):
    host = Local()
    asked = watched_calls(monkeypatch, host, "socket_peers")
    with connected(then=SECOND) as client:
        looks = [look(OBSERVER, host, Subject(pids=(client.pid,)), Edge.POLL, 0).raw for _ in range(3)]
        once = len(asked)
        go_on(client)
        looks.append(look(OBSERVER, host, Subject(pids=(client.pid,)), Edge.POLL, 0).raw)
    assert looks == [{"ways": {"127.0.0.1": ["lo", "loopback", "own"]}}] * 4
    assert (once, len(asked)) == (1, 2)


def test_the_tables_are_read_where_sockets_cannot_be_asked(monkeypatch):
    host, read = Local(), []
    text = host.read
    monkeypatch.setattr(host, "read", lambda path: read.append(path) or text(path))

    def refuse(pid):
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(host.syscalls, "socket_peers", refuse, raising=False)
    with connected(then=SECOND) as client:
        looks = [look(OBSERVER, host, Subject(pids=(client.pid,)), Edge.POLL, 0).raw for _ in range(3)]
        once = sum(path.endswith("/net/tcp") for path in read)
        go_on(client)
        looks.append(look(OBSERVER, host, Subject(pids=(client.pid,)), Edge.POLL, 0).raw)
    assert looks == [{"ways": {"127.0.0.1": ["lo", "loopback", "own"]}}] * 4
    assert (once, sum(path.endswith("/net/tcp") for path in read)) == (1, 2)


def test_the_way_of_a_load_is_asked_once_however_many_clients_come_and_go(monkeypatch):
    host, commands = Local(), []
    run = host.run
    monkeypatch.setattr(host, "run", lambda argv, **how: commands.append(argv) or run(argv, **how))
    subject = Subject(pids=(os.getpid(),))
    for _ in range(3):
        with connected():
            assert look(OBSERVER, host, subject, Edge.POLL, 0).raw["ways"]["127.0.0.1"] == ["lo", "loopback", "own"]
    assert [argv[:3] for argv in commands if "127.0.0.1" in argv] == [["ip", "route", "get"]]
