"""link_groups: bonds and multipath routes, from recorded texts and from a namespace."""

import json
import os
import subprocess

import pytest

from assay import catalogue
from assay.catalogue import Completed
from assay.hosts.local import Local
from assay.observers.link_groups import several
from assay.records import Edge, Snapshot, Subject
from assay_process import wait_until

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


@pytest.mark.parametrize("text", ["", "[", "{}", '["a"]', '[{"nexthops": 3}]', '[{"nexthops": []}]'])
def test_damaged_routes_are_none(text):
    assert list(several(text)) == []


@pytest.mark.root
@pytest.mark.skipif(os.geteuid() != 0, reason="network namespaces need root")
def test_a_real_route_over_two_ways():
    keeper = subprocess.Popen(["unshare", "--net", "sleep", "60"])
    try:
        own, there = "/proc/self/ns/net", f"/proc/{keeper.pid}/ns/net"
        wait_until(lambda: os.stat(own).st_ino != os.stat(there).st_ino)  # noqa: PTH116 - links of the kernel's
        into = ["nsenter", f"--net={there}", "ip"]
        lines = "\n".join(
            (
                "link add v0 type veth peer name v1",
                "address add 192.0.2.1/24 dev v0",
                "address add 198.51.100.1/24 dev v1",
                "link set v0 up",
                "link set v1 up",
                "route add 203.0.113.0/24 nexthop via 192.0.2.9 dev v0 weight 2 nexthop via 198.51.100.9 dev v1",
            )
        )
        subprocess.run([*into, "-batch", "-"], input=lines, text=True, check=True)
        printed = subprocess.run([*into, "-j", "route", "show"], capture_output=True, text=True, check=True).stdout
    finally:
        keeper.kill()
        keeper.wait()
    assert list(several(printed)) == [
        ("203.0.113.0/24", ["192.0.2.9 dev v0 weight 2", "198.51.100.9 dev v1 weight 1"]),
    ]
