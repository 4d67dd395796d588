"""link_groups: bonds and multipath routes, from recorded texts and from a namespace."""

import json
import os
import shutil
import subprocess
import sys

import pytest

from assay import catalogue
from assay.catalogue import Completed
from assay.hosts.local import Local
from assay.observers.link_groups import several
from assay.records import Edge, Snapshot, Subject
from stage.assay_process import Bench

OBSERVER = catalogue.find("observers", "link_groups")
BONDED = {
    "bond0/bonding/mode": "802.3ad 4\n",
    "bond0/bonding/slaves": "eth0 eth1\n",
    "bond0/bonding/xmit_hash_policy": "layer3+4 1\n",
    "bond0/bonding/lacp_rate": "fast 1\n",
    "bond0/bonding/miimon": "100\n",
    "bond0/bonding/active_slave": "\n",
    "eth0/bonding_slave/mii_status": "up\n",
    "eth1/bonding_slave/mii_status": "down\n",
    "lo/mtu": "65536\n",
}
ROUTES = [
    {"dst": "default", "gateway": "192.0.2.1", "dev": "bond0"},
    {
        "dst": "198.51.100.0/24",
        "nexthops": [
            {"gateway": "192.0.2.1", "dev": "eth0", "weight": 1},
            {"via": {"family": "inet6", "host": "fe80::1"}, "dev": "eth1", "weight": 3},
        ],
    },
]


class Machine(Local):
    """Interfaces of a directory, and routes as they were printed."""

    def __init__(self, tree, routes):
        super().__init__("m", root=tree)
        self.routes = routes

    def run(self, argv, **_more):
        return Completed(argv=tuple(argv), status=0 if self.routes else 1, stdout=self.routes, stderr="", wall_ns=1)


def facts(host):
    raw = OBSERVER.read(host, Subject())
    snapshot = Snapshot(edge=Edge.TRIAL_START, at_ns=0, took_ns=1, raw=raw)
    return {fact.key: fact.value for fact in OBSERVER.parse("m", "", [snapshot], Subject()).facts}


@pytest.fixture
def tree(tmp_path):
    for name, text in BONDED.items():
        path = tmp_path / "sys/class/net" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    path = tmp_path / "proc/sys/net/ipv4/fib_multipath_hash_policy"
    path.parent.mkdir(parents=True)
    path.write_text("1\n")
    return tmp_path


def test_a_bond_and_a_route_over_two_ways(tree):
    assert facts(Machine(tree, json.dumps(ROUTES))) == {
        "network.bond.bond0.mode": "802.3ad 4",
        "network.bond.bond0.members": "eth0 eth1",
        "network.bond.bond0.hash": "layer3+4 1",
        "network.bond.bond0.lacp_rate": "fast 1",
        "network.bond.bond0.watched_ms": "100",
        "network.bond.bond0.eth0": "up",
        "network.bond.bond0.eth1": "down",
        "network.ecmp.198.51.100.0/24": "192.0.2.1 dev eth0 weight 1, fe80::1 dev eth1 weight 3",
        "network.ecmp.hash": "addresses and ports",
    }


def test_a_host_without_either_has_no_facts(tmp_path):
    (tmp_path / "sys/class/net/eth0").mkdir(parents=True)
    assert facts(Machine(tmp_path, json.dumps(ROUTES[:1]))) == {}
    assert facts(Machine(tmp_path, "")) == {}


def test_damaged_routes_are_none(subtests):
    for text in ["", "[", "{}", '["a"]', '[{"nexthops": 3}]', '[{"nexthops": []}]']:
        with subtests.test(text=text):
            assert list(several(text)) == []


LOOK = """
import json
from assay import catalogue
from assay.hosts.local import Local
from assay.records import Edge, Snapshot, Subject
observer = catalogue.find("observers", "link_groups")
assert observer.available(Local()) is None
raw = observer.read(Local(), Subject())
seen = observer.parse("m", "", [Snapshot(edge=Edge.TRIAL_START, at_ns=0, took_ns=1, raw=raw)], Subject())
print(json.dumps({fact.key: fact.value for fact in seen.facts}))
"""
WAYS = """
ip link add v0 type veth peer name v1
ip address add 192.0.2.1/24 dev v0
ip address add 198.51.100.1/24 dev v1
ip link set lo up
ip link set v0 up
ip link set v1 up
ip route add 203.0.113.0/24 nexthop via 192.0.2.9 dev v0 weight 2 nexthop via 198.51.100.9 dev v1
echo 1 > /proc/sys/net/ipv4/fib_multipath_hash_policy
"""
BOND = """
ip link add bond0 type bond mode 802.3ad miimon 100 lacp_rate fast xmit_hash_policy layer3+4
ip link add v0 type veth peer name v1
ip link add v2 type veth peer name v3
ip link set v0 master bond0
ip link set v2 master bond0
ip link set v1 up
ip link set bond0 up
sleep 1
"""
needs_root = pytest.mark.skipif(os.geteuid() != 0 or not shutil.which("ip"), reason="network namespaces need root and iproute2")


def inside(lines):
    """Words before a command that runs in a network namespace of its own, after these lines, with its own /sys."""
    script = f'set -e\nmount -t sysfs sysfs /sys\n{lines}\nexec "$@"'
    return ("unshare", "--net", "--mount", "--propagation", "private", "sh", "-c", script, "sh")


def looked(lines):
    done = subprocess.run([*inside(lines), sys.executable, "-c", LOOK], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.root
@needs_root
def test_a_real_route_over_two_ways():
    assert looked(WAYS) == {
        "network.ecmp.203.0.113.0/24": "192.0.2.9 dev v0 weight 2, 198.51.100.9 dev v1 weight 1",
        "network.ecmp.hash": "addresses and ports",
    }


def no_bonds():
    """Why this kernel makes no bond; None where it does. The modules of an emulated guest have them (`make long`)."""
    if os.geteuid() or not shutil.which("ip"):
        return "bonds need root and iproute2"
    tried = subprocess.run(["unshare", "--net", "ip", "link", "add", "bond0", "type", "bond"], capture_output=True, check=False)
    return f"no bonds in this kernel: {tried.stderr.decode().strip()}" if tried.returncode else None


@pytest.mark.root
def test_a_real_bond_with_one_member_down():
    if why := no_bonds():
        pytest.skip(why)
    found = looked(BOND)
    assert found == {
        "network.bond.bond0.mode": "802.3ad 4",
        "network.bond.bond0.members": "v0 v2",
        "network.bond.bond0.hash": "layer3+4 1",
        "network.bond.bond0.lacp_rate": "fast 1",
        "network.bond.bond0.watched_ms": "100",
        "network.bond.bond0.v0": "up",
        "network.bond.bond0.v2": "down",
    }


EXPERIMENT = """
title = "Ways"
question = "Are both ways among the facts of a run?"
repeats = 1
[targets.here]
kind = "socket"
[workloads.n]
kind = "net_rr"
ops = 10
quiesce = "0 s"
"""


@pytest.mark.root
@needs_root
@pytest.mark.slow
def test_the_facts_of_a_run_have_the_ways(tmp_path):
    (tmp_path / "e.toml").write_text(EXPERIMENT)
    done = Bench(tmp_path, through=inside(WAYS)).run("run", "e.toml", "--progress", "none")
    assert done.returncode == 0, done.stderr
    told = Bench(tmp_path).run("sql", "SELECT key, value FROM facts WHERE key LIKE 'network.ecmp.%' AND moment = 'before'")
    assert "192.0.2.9 dev v0 weight 2, 198.51.100.9 dev v1 weight 1" in told.stdout, told.stdout + told.stderr
