"""What the two ends of a workload over the network cannot do is said: at once, with the fix, and before anything is set up."""

import json
import os
import socket
from pathlib import Path

import pytest

from stage.assay_process import Bench, kill, wait_until

TEXT = """
title = "Ends"
question = "Is it refused in time?"
repeats = 1
observers = ["process_io"]
{hosts}
[targets.wire]
kind = "socket"
{target}
[workloads.n]
kind = "{kind}"
quiesce = "0 s"
{knobs}
"""
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="network namespaces need root")


def written(bench, knobs, *, kind="net_stream", target="", hosts="", name="e.toml"):
    (bench.home / name).write_text(TEXT.format(hosts=hosts, kind=kind, knobs=knobs, target=target))
    return name


def refused(done, status, *words):
    assert done.returncode == status, done.stderr + done.stdout
    assert "Traceback" not in done.stderr
    missing = [word for word in words if word not in done.stderr]
    assert not missing, f"{missing} in {done.stderr}"


def failed_run(bench):
    (path,) = bench.home.glob("lab/*/trials/*/attempt-*/run.json")
    return json.loads(path.read_text())


def test_assay_load_refuses_them_too(bench):
    refused(bench.run("load", "net_rr", "congestion=vegas9", "window=1GiB"), 2, "'vegas9'", "net.core.rmem_max")
    refused(bench.run("load", "net_udp", "window=1GiB"), 2, "net.core.wmem_max")


def test_a_port_that_is_free_is_taken(bench):
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
    done = bench.run("run", written(bench, "ops = 10", target=f'address = "127.0.0.1:{port}"'), "--progress", "none")
    assert done.returncode == 0, done.stderr
    assert failed_run(bench)["phases"][0]["servers"][0]["net"]["address"] == f"127.0.0.1:{port}"


def test_two_labs_want_one_port(bench):
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        address = f'address = "127.0.0.1:{port}"'
    first = bench.start("run", written(bench, 'duration = "300 s"', target=address), "--progress", "none")
    wait_until(lambda: f"0100007F:{port:04X} 00000000:0000 0A" in Path("/proc/net/tcp").read_text())
    done = bench.run("run", written(bench, "ops = 1", target=address, name="f.toml"), "--lab", "other")
    refused(done, 2, "is in use (127.0.0.1:", "leave the port of target wire out")
    kill(first.pid)
    first.communicate()


HOSTS = """
[hosts]
s = {{ via = "ssh", address = "{s.address}", control = "{s.control}", engine = true }}
c = {{ via = "ssh", address = "{c.address}", control = "{c.control}", load = true }}
"""


@pytest.mark.root
@pytest.mark.slow
@needs_root
def test_nobody_answers_within_five_seconds(far, tmp_path):
    fleet = far(2, control=True)
    bench, (s, c) = Bench(fleet.home), fleet
    c.run("ip", "neigh", "replace", s.address, "lladdr", "02:00:00:00:00:99", "dev", "eth0", "nud", "permanent")  # a silent drop
    file = written(bench, "ops = 10", hosts=HOSTS.format(s=s, c=c), target=f'host = "s"\naddress = "{s.address}"')
    done = bench.run("run", file, "--progress", "none")
    assert done.returncode == 1, done.stderr
    error = failed_run(bench)["error"]
    assert "nobody answered within 5 s" in error
    assert f"{s.address}:" in error
    assert "firewall" in error
    assert not bench.processes()


@pytest.mark.root
@pytest.mark.slow
@needs_root
def test_a_lab_that_reaches_the_server_of_another_is_refused_and_counted(far):
    """Two machines have one address by mistake: both loads reach the first, and each lab has the same seed and the same port."""
    fleet = far(3, control=True)
    s, twin, c = fleet
    shared = f"10.91.{fleet.number}.99"
    s.run("ip", "address", "add", f"{shared}/24", "dev", "eth0")
    twin.run("ip", "address", "add", f"{shared}/32", "dev", "lo")  # it answers no ARP for it
    target = f'host = "s"\naddress = "{shared}:5201"'
    first, second = Bench(fleet.home), Bench(fleet.home)
    file = written(first, 'rate = "100 /s"\nduration = "40 s"', kind="net_rr", hosts=HOSTS.format(s=s, c=c), target=target)
    lab = first.start("run", file, "--progress", "none")
    wait_until(lambda: f"{shared}:5201" in c.run("ss", "-tn").stdout)
    file = written(second, "ops = 10", kind="net_rr", hosts=HOSTS.format(s=twin, c=c), target=target, name="twin.toml")
    done = second.run("run", file, "--lab", "other", "--progress", "none")
    assert done.returncode == 1, done.stderr
    (path,) = fleet.home.glob("other/*/trials/*/attempt-*/run.json")
    assert "found a token of another trial" in json.loads(path.read_text())["error"]
    _, complaint = lab.communicate(timeout=300)
    assert lab.returncode == 0, complaint
    (phase,) = failed_run(first)["phases"]
    assert phase["servers"][0]["net"]["refused"] == {"token": 1}
    assert phase["servers"][0]["net"]["accepted"] == 1
