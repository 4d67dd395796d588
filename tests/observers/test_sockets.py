"""sockets: the peers of the load's own sockets and the way to each, for its own processes alone."""

import contextlib
import json
import os
import shutil
import socket
import subprocess
import sys

import pytest

from assay import catalogue
from assay.catalogue import SocketPeer
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
    assert list(peers_in(TABLE, {"11", "12"})) == [SocketPeer("127.0.0.1", "127.0.0.1")]
    assert list(peers_in(TABLE, {"13"})) == [SocketPeer("192.168.0.9", "192.168.0.10")]
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


LINKED = """
import socket, sys
address, own, device = sys.argv[1:]
address, _, scope = address.partition("%")
s = socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET)
if device:
    s.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, device.encode())
if own:
    s.bind((own, 0))
s.connect((address, 7000, 0, socket.if_nametoindex(scope)) if ":" in address and scope else (address, 7000))
s.sendall(bytes(1_000_000))
s.recv(1)
print(flush=True)
s.recv(1)
"""
TAKER = """
import socket, threading
server = socket.create_server(("::", 7000), family=socket.AF_INET6, dualstack_ipv6=True)
print(flush=True)
def take(link):
    left = 1_000_000
    while left:
        left -= len(link.recv(left))
    link.send(b"+")
    link.recv(1)
while True:
    threading.Thread(target=take, args=(server.accept()[0],), daemon=True).start()
"""


@pytest.fixture(scope="module")
def two_links():
    """Two namespaces with two links: `a` reaches the addresses of `b` over either, with a policy route and a translation."""
    names = [f"assay-ways-{os.getpid()}{end}" for end in "ab"]

    def ip(*words):
        subprocess.run(("ip", *words), check=True, capture_output=True)

    def inside(name, *words):
        subprocess.run(("ip", "netns", "exec", name, *words), check=True, capture_output=True)

    try:
        for name in names:
            ip("netns", "add", name)
            ip("-n", name, "link", "set", "lo", "up")
        for link in (0, 1):
            ip("-n", names[0], "link", "add", f"v{link}", "type", "veth", "peer", "name", f"v{link}", "netns", names[1])
            for end, name in enumerate(names, start=1):
                for address in (f"10.10{link}.0.{end}/24", f"fd0{link}::{end}/64", f"fe80::{end}/64"):
                    ip("-n", name, "addr", "add", address, "dev", f"v{link}", *(("nodad",) if ":" in address else ()))
                ip("-n", name, "link", "set", f"v{link}", "up")
        ip("-n", names[0], "rule", "add", "from", "10.101.0.1", "table", "77")
        ip("-n", names[0], "route", "add", "10.100.0.2/32", "via", "10.101.0.2", "dev", "v1", "table", "77")
        yield names
    finally:
        for name in names:
            subprocess.run(("ip", "netns", "del", name), check=False, capture_output=True)


@pytest.fixture(scope="module")
def takers(two_links):
    """A server at all addresses of both namespaces."""
    argv = [("ip", "netns", "exec", name, sys.executable, "-c", TAKER) for name in two_links]
    with contextlib.ExitStack() as stack:
        for one in argv:
            server = stack.enter_context(subprocess.Popen(one, stdout=subprocess.PIPE))
            stack.callback(server.kill)
            server.stdout.readline()
        yield


def sent_bytes(name):
    shown = subprocess.run(("ip", "-n", name, "-j", "-s", "link"), check=True, capture_output=True).stdout
    return {one["ifname"]: one["stats64"]["tx"]["bytes"] for one in json.loads(shown)}


@pytest.mark.root
@pytest.mark.parametrize(
    ("address", "own", "device", "way", "rule"),
    [
        ("::1", "", "", "lo", ""),
        ("fd01::2", "", "", "v1", ""),
        ("fe80::2%v0", "", "", "v0", ""),
        ("fe80::2%v1", "", "", "v1", ""),
        ("10.100.0.2", "", "", "v0", ""),
        ("10.100.0.2", "", "v1", "v1", ""),
        ("10.100.0.2", "10.101.0.1", "", "v1", ""),
        ("10.100.0.7", "", "", "v1", "ip daddr 10.100.0.7 dnat to 10.101.0.2"),
        ("10.100.0.8", "", "", "lo", "ip daddr 10.100.0.8 dnat to 10.100.0.1"),
    ],
    ids=["loopback", "IPv6", "link-local", "link-local, second", "route", "bound", "policy", "NAT", "NAT to itself"],
)
def test_the_way_is_that_which_the_bytes_take(two_links, takers, address, own, device, way, rule):
    name = two_links[0]
    enter = ("ip", "netns", "exec", name)
    if rule:
        if not shutil.which("nft"):
            pytest.skip("needs nft")
        rules = f"table ip ways {{ chain o {{ type nat hook output priority -100; {rule}; }}\n}}\n"
        subprocess.run((*enter, "nft", "-f", "-"), input=rules.encode(), check=True, capture_output=True)
    try:
        before = sent_bytes(name)
        with subprocess.Popen((*enter, sys.executable, "-c", LINKED, address, own, device), stdout=subprocess.PIPE) as client:
            client.stdout.readline()
            moved = {link: sent - before[link] for link, sent in sent_bytes(name).items()}
            raw = look(OBSERVER, Local(), Subject(pids=(client.pid,)), Edge.POLL, 0).raw
            client.kill()
    finally:
        if rule:
            subprocess.run((*enter, "nft", "delete", "table", "ip", "ways"), check=True, capture_output=True)
    assert max(moved, key=moved.get) == way
    assert moved[way] > 1_000_000
    assert [found[0] for found in raw["ways"].values()] == [way]
    kind = "loopback" if way == "lo" else "virtual"
    assert [found[1:] for found in raw["ways"].values()] == [[kind, "apart"]]
    assert all(("NAT to" in peer) is bool(rule) for peer in raw["ways"])
