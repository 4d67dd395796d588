"""end_settings: facts of the ends' namespaces, of this one and of one of its own."""

import os
import socket
import subprocess

import pytest

from assay import catalogue
from assay.hosts.local import Local
from assay.observers.end_settings import class_of, offloads
from assay.records import Edge, FactClass, Snapshot, Subject
from stage.observer_looks import look

OBSERVER = catalogue.find("observers", "end_settings")
ETHTOOL = """Features for lo:
rx-checksumming: on [fixed]
scatter-gather: on
\ttx-scatter-gather: on [fixed]
tcp-segmentation-offload: off
generic-receive-offload: on
large-receive-offload: off [fixed]
rx-vlan-offload: off [fixed]
highdma: on [fixed]
"""


def facts(*raws, subject=None):
    snapshots = [Snapshot(edge=Edge.POLL, at_ns=at, took_ns=1, raw=raw) for at, raw in enumerate(raws)]
    return OBSERVER.parse("h", "p", snapshots, subject or Subject(reaches=("127.0.0.1",)))


def test_offloads_that_change_packets():
    assert dict(offloads(ETHTOOL.splitlines())) == {
        "rx-checksumming": "on",
        "scatter-gather": "on",
        "tx-scatter-gather": "on",
        "tcp-segmentation-offload": "off",
        "generic-receive-offload": "on",
        "large-receive-offload": "off",
    }


def test_the_first_look_that_has_a_fact_tells_it_and_ends_that_were_never_there_are_missing():
    made = facts({}, {"end.0.sysctl.a": "1"}, {"end.0.sysctl.a": "2", "end.0.interface.0.mtu": "1500"})
    assert {one.key: one.value for one in made.facts} == {"end.0.interface.0.mtu": "1500", "end.0.sysctl.a": "1"}
    assert not made.missing
    assert facts({}, {}).missing == {"fact:end.*": "no end of the load was there at any look"}
    assert facts({}, subject=Subject(pids=(1,))).missing == {}


def test_what_a_difference_means():
    assert class_of("end.0.interfaces") is FactClass.IDENTITY
    assert class_of("end.1.sysctl.net.ipv4.tcp_mem") is FactClass.NOISE
    assert class_of("end.1.interface.0.mtu") is FactClass.PERFORMANCE


def test_a_connection_of_this_process_over_the_loopback():
    subject = Subject(pids=(os.getpid(),), reaches=("127.0.0.1",))
    with socket.create_server(("127.0.0.1", 0)) as server, socket.create_connection(server.getsockname()):
        raw = look(OBSERVER, Local(), subject, Edge.ARMED, 0).raw
    assert raw["end.0.interfaces"] == "lo"
    assert int(raw["end.0.interface.0.mtu"]) >= 1500
    assert raw["end.0.sysctl.net.ipv4.tcp_congestion_control"]
    assert OBSERVER.read(Local(), Subject(pids=(os.getpid(),))) == {}


@pytest.mark.root
def test_an_end_in_a_namespace_of_its_own():
    inside = "ip link add veth0 mtu 4000 type veth peer name veth1 mtu 4000; echo; exec sleep 60"
    with subprocess.Popen(["unshare", "-n", "sh", "-c", inside], stdout=subprocess.PIPE) as there:
        there.stdout.readline()
        raw = look(OBSERVER, Local(), Subject(pids=(there.pid,), reaches=("127.0.0.1",)), Edge.ARMED, 0).raw
        there.kill()
    assert set(raw["end.0.interfaces"].split()) == {"veth0", "veth1"}
    assert raw["end.0.interface.0.mtu"] == "4000"
    assert raw["end.0.sysctl.net.ipv4.tcp_rmem"].count(" ") == 2
