"""The server behind a target: its processes in groups and trees, its files, and the way to it from where a client is."""

import contextlib
import os
import subprocess

import pytest

from assay.catalogue import Completed
from assay.hosts.local import Local
from assay.machine import server
from assay.records import Server, ServerNode
from stage.assay_process import wait_until

HOST = Local()
HERE = ServerNode(address="127.0.0.1")


def test_the_way_to_a_server(tmp_path):
    (tmp_path / "pid").write_text(str(os.getpid()))
    here = ServerNode(pid_file=str(tmp_path / "pid"), address="127.0.0.1")
    assert server.way(HOST, "127.0.0.1") == server.ServerInterface(interface="lo", kind="loopback")
    assert server.shares_network(HOST, os.getpid())
    assert server.kind(HOST, "lo") == "loopback"
    assert server.facts(HOST, Server(nodes=(ServerNode(pid_file="/no/such"),))) == ()
    assert server.facts(HOST, None) == ()
    told = dict(server.facts(HOST, Server(nodes=(here,))))
    assert (told["server.route"], told["server.route_kind"]) == ("lo", "loopback")


def test_a_load_host_asks_the_way_to_a_server_that_is_elsewhere():
    told = dict(server.facts(HOST, Server(nodes=(ServerNode(host="s", pid_file="/run/pid", address="127.0.0.1"),))))
    assert (told["server.route"], told["server.route_kind"]) == ("lo", "loopback")
    assert not [key for key in told if key.startswith("server.own")], "that side is not here"


@pytest.mark.root
@pytest.mark.skipif(os.geteuid() != 0, reason="network namespaces need root")
def test_the_way_is_asked_in_the_namespace_that_the_clients_are_in(tmp_path):
    """The lab's own route to a private address of a namespace is its default route, perhaps through a network card."""
    from assay.machine import net_namespaces
    from assay.undo.ledger import Ledger

    net = f"10.233.{os.getpid() % 256}"  # of no other test
    ledger = Ledger(tmp_path / "ledger")
    pid = net_namespaces.keep(HOST, ledger)
    try:
        net_namespaces.configure(HOST, pid, f"link add load0 type veth peer name other\naddress add {net}.1/30 dev load0\n")
        net_namespaces.configure(HOST, pid, "link set other up\nlink set load0 up\n")
        behind = Server(nodes=(ServerNode(address=f"{net}.2"),))
        told = dict(server.facts(HOST, behind, net_namespaces.file_of(pid)))
        assert told == {"server.route": "load0", "server.route_kind": "unknown"}, "no namespace has the address"
        assert dict(server.facts(HOST, behind)) != told
    finally:
        net_namespaces.release(HOST, ledger, pid)


class Printing(Local):
    """A host whose commands print what a table says."""

    def __init__(self, printed):
        super().__init__()
        self.printed = printed

    def run(self, argv, **_more):
        text = next((text for words, text in self.printed.items() if words in " ".join(argv)), "")
        return Completed(argv=tuple(argv), status=0, stdout=text, stderr="", wall_ns=1)


def test_shapers_of_each_kind_and_behind_a_redirection():
    """As tc prints them; what comes in can be shaped on a device of its own alone."""
    route = {"ip route get": "198.18.4.2 dev eth7 src 198.18.4.1"}
    kinds = {
        "tbf": '[{"kind":"tbf","options":{"rate":5000}}]',
        "netem": '[{"kind":"netem","options":{"limit":1000,"rate":{"rate":5000,"packetoverhead":0}}}]',
        "cake": '[{"kind":"cake","options":{"bandwidth":5000}}]',
    }
    node = Server(nodes=(ServerNode(host="s", address="198.18.4.2"),))
    for kind, printed in kinds.items():
        told = dict(server.facts(Printing({**route, "qdisc show dev eth7": printed}), node))
        assert told["server.limit"] == f"{kind} on eth7, 0.04 Mbit/s"
    behind = {
        "filter show dev eth7 ingress": "action order 1: mirred (Egress Redirect to device ifb3) stolen",
        "qdisc show dev ifb3": kinds["tbf"],
    }
    assert dict(server.facts(Printing({**route, **behind}), node))["server.limit"] == "tbf on ifb3, 0.04 Mbit/s"


def test_no_way():
    assert server.way(HOST, "no-address") is None
    assert server.way(HOST, "127.0.0.1", pid=2**22 + 1) is None


@pytest.fixture
def groups(tmp_path):
    """A tree that looks like control groups: a service with a group of its own below it."""
    (tmp_path / "worker.service" / "deep").mkdir(parents=True)
    for path, pids in (("", "11\n12\n"), ("worker.service", "13\n"), ("worker.service/deep", "14\n")):
        (tmp_path / path / "cgroup.procs").write_text(pids)
        (tmp_path / path / "memory.max").write_text("max\n")
    return tmp_path


class Numbered(Local):
    """A host on which every process of a number exists, without children."""

    def exists(self, path):
        return path.removeprefix("/proc/").isdigit() or super().exists(path)


def test_groups_below_a_servers_group_are_the_servers(groups):
    node = ServerNode(cgroup=str(groups))
    assert server.pids(Numbered("local"), (node,)) == (11, 12, 13, 14)


def test_the_nodes_of_a_host_are_looked_at_together(tmp_path):
    with contextlib.ExitStack() as running:
        each = [running.enter_context(subprocess.Popen(["sleep", "600"])) for _ in range(2)]
        for number, one in enumerate(each):
            (tmp_path / str(number)).write_text(str(one.pid))
            (tmp_path / f"data{number}").write_text("x")
        nodes = tuple(ServerNode(pid_file=str(tmp_path / str(n)), data=(str(tmp_path / f"data{n}"),)) for n in range(2))
        elsewhere = ServerNode(host="b", pid_file="/run/pid", address="10.0.0.2")
        every = Server(nodes=(*nodes, elsewhere))
        assert server.pids(HOST, every.on("local")) == tuple(one.pid for one in each)
        assert server.data_files(HOST, every.on("local")) == (str(tmp_path / "data0"), str(tmp_path / "data1"))
        assert (every.on("b"), every.on("c"), every.addresses) == ((elsewhere,), (), ("10.0.0.2",))
        for one in each:
            one.kill()


@pytest.fixture
def namespace():
    """A client in a network namespace of its own, behind a veth pair; its process."""
    name = f"assaytest{os.getpid()}"
    near, far = f"at{os.getpid() % 10**6}a", f"at{os.getpid() % 10**6}b"
    subprocess.run(["ip", "netns", "add", name], check=True)
    try:
        subprocess.run(["ip", "link", "add", near, "type", "veth", "peer", "name", far, "netns", name], check=True)
        for argv in (["address", "add", "198.51.100.2/30", "dev", far], ["link", "set", far, "up"], ["link", "set", "lo", "up"]):
            subprocess.run(["ip", "-n", name, *argv], check=True)
        for argv in (["address", "add", "198.51.100.1/30", "dev", near], ["link", "set", near, "up"]):
            subprocess.run(["ip", *argv], check=True)
        with subprocess.Popen(["sh", "-c", f"nsenter --net=/run/netns/{name} sleep 600 & wait"]) as client:
            yield client.pid, near, far
            for pid in [*server._children(HOST, client.pid), client.pid]:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, 9)
    finally:
        subprocess.run(["ip", "link", "delete", near], check=False)
        subprocess.run(["ip", "netns", "delete", name], check=False)


@pytest.mark.root
def test_the_way_is_asked_where_a_client_is(namespace):
    client, near, far = namespace
    inside = wait_until(lambda: server.elsewhere(HOST, (client,)))
    assert server.elsewhere(HOST, (os.getpid(),)) in (None, inside)
    assert server.way(HOST, "198.51.100.1", inside) == server.ServerInterface(interface=far, kind="virtual")
    assert server.way(HOST, "198.51.100.2", inside) == server.ServerInterface(interface="lo", kind="loopback"), "its own address"
    assert server.way(HOST, "198.51.100.2") == server.ServerInterface(interface=near, kind="virtual")
    assert server.way(HOST, "198.51.100.3").kind == "unknown", "an address that no namespace of this machine has"
    assert server._holding(HOST, "198.51.100.1") == near
    assert server._holding(HOST, "127.0.0.1") is None
