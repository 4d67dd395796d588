"""`assay stat` of a foreign tool over the loopback: no wire, whatever the tool prints; and the same as an experiment."""

import json
import shutil
import socket
import subprocess
import time

import pytest

from assay_process import Bench

pytestmark = pytest.mark.skipif(not shutil.which("iperf3"), reason="no iperf3")

EXPERIMENT = """
title = "iperf3"
question = "Which rate does iperf3 print?"
repeats = 1

[targets.far]
kind = "socket"
address = "127.0.0.1:{port}"

[workloads.i]
kind = "command"
argv = ["iperf3", "-c", "{{server.host}}", "-p", "{{server.port}}", "-t", "1", "-J"]
parse = "iperf3"
direction = "send"
quiesce = "0 s"

[measures]
"i.send.bytes_per_s" = {{ claim = {{ path = "wire" }} }}
"""


@pytest.fixture
def server():
    """The port of an iperf3 server that lives as long as the test."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with subprocess.Popen(["iperf3", "-s", "-p", str(port)], stdout=subprocess.DEVNULL) as process:
        for _ in range(100):
            with socket.socket() as probe:
                if not probe.connect_ex(("127.0.0.1", port)):
                    break
            time.sleep(0.05)
        yield port
        process.kill()


@pytest.mark.slow
@pytest.mark.parametrize(("path", "invalid"), [("wire", True), ("loopback", False)])
def test_both_ends_on_one_machine_are_no_wire(server, tmp_path, path, invalid):
    words = ("--claim", f"path={path}", "--json=figures.json", "--", "iperf3", "-c", "127.0.0.1", "-p", server, "-t", "2")
    done = Bench(tmp_path).run("stat", *words)
    assert done.returncode == 0, done.stderr
    found = json.loads((tmp_path / "figures.json").read_text())
    assert (found["verdict"] == "INVALID") is invalid, found["label"]
    assert "L05" not in str(found.get("unverified", ""))


@pytest.mark.slow
def test_the_server_of_another_tool_as_target(server, tmp_path):
    bench = Bench(tmp_path)
    (tmp_path / "iperf3.toml").write_text(EXPERIMENT.format(port=server))
    done = bench.run("run", "iperf3.toml", "--lab", "lab", "--progress", "none")
    assert done.returncode == 0, done.stderr
    assert "INVALID" in done.stdout
    assert "L05 no-wire" in done.stdout
    assert "Clients reach the server through lo (loopback)" in done.stdout
