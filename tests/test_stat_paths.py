"""`assay stat` of a foreign tool over the loopback: no wire, whatever the tool prints; and the same as an experiment."""

import contextlib
import json
import shutil
import socket
import subprocess

import pytest

from stage.assay_process import Bench, listens, wait_until

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
argv = ["iperf3", "-c", "{{server.host}}", "-p", "{{server.port}}", "-t", "1", "-b", "500M", "-J"]
parse = "iperf3"
direction = "send"
quiesce = "0 s"

[measures]
"i.send.bytes_per_s" = {{ claim = {{ path = "wire" }} }}
"""


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as free:
        return free.getsockname()[1]


@contextlib.contextmanager
def serving(argv, port):
    """A server that lives as long as the test, once it listens."""
    with subprocess.Popen(argv, stdout=subprocess.DEVNULL) as process:
        try:
            wait_until(lambda: listens(port))
            yield
        finally:
            process.kill()


@pytest.fixture
def server():
    """The port of an iperf3 server."""
    port = free_port()
    with serving(["iperf3", "-s", "-p", str(port)], port):
        yield port


@pytest.fixture(params=["iperf3", "netperf"])
def tool(request):
    """A foreign tool with its server, and the words that measure for a second over the loopback."""
    if not shutil.which(request.param):
        pytest.skip(f"no {request.param}")
    port = free_port()
    server = ["iperf3", "-s", "-p", str(port)] if request.param == "iperf3" else ["netserver", "-D", "-4", "-p", str(port)]
    slow = ["iperf3", "-c", "127.0.0.1", "-t", "1", "-b", "500M"]
    client = slow if request.param == "iperf3" else ["netperf", "-H", "127.0.0.1", "-l", "1"]
    with serving(server, port):
        yield [*client, "-p", str(port)]


@pytest.mark.slow
@pytest.mark.parametrize(("path", "verdict"), [("wire", "INVALID"), ("loopback", None)])
def test_both_ends_on_one_machine_are_no_wire(tool, tmp_path, path, verdict):
    done = Bench(tmp_path).run("stat", "--claim", f"path={path}", "--json=figures.json", "--", *tool)
    assert done.returncode == 0, done.stderr
    found = json.loads((tmp_path / "figures.json").read_text())
    assert (found["verdict"] == "INVALID") is (verdict == "INVALID"), found["label"]
    assert "L05" not in str(found.get("unverified", ""))
    reason = "same host: client and server share CPUs and memory bandwidth"
    assert (reason in found["label"]) is (verdict == "INVALID"), found["label"]
    assert (f"INVALID: {reason}" in done.stderr.replace("\n", " ")) is (verdict == "INVALID"), done.stderr


@pytest.mark.slow
def test_as_is_the_first_line_says_that_there_was_no_network(tool, tmp_path):
    done = Bench(tmp_path).run("stat", "--", *tool)
    first = next(line for line in done.stderr.splitlines() if line.startswith("assay: "))
    assert first.endswith("both ends are on this machine (lo): no network card, cable or switch"), done.stderr


@pytest.mark.slow
def test_the_server_of_another_tool_as_target(server, tmp_path):
    bench = Bench(tmp_path)
    (tmp_path / "iperf3.toml").write_text(EXPERIMENT.format(port=server))
    done = bench.run("run", "iperf3.toml", "--lab", "lab", "--progress", "none")
    assert done.returncode == 0, done.stderr
    assert "INVALID" in done.stdout
    assert "L05 no-wire" in done.stdout
    assert "Clients reach the server through lo (loopback)" in done.stdout
