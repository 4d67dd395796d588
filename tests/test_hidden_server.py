"""`assay stat --server` of a server that an ordinary user may not look at: its part is missing, and says why."""

import json
import os
import subprocess
import sys

import pytest

from stage.assay_process import as_nobody
from stage.stat_stage import root

SERVER = """
import socket, sys, time
listener = socket.create_server(("127.0.0.1", 0))
print(listener.getsockname()[1], flush=True)
while True:
    one, _ = listener.accept()
    while one.recv(1):
        time.sleep(0.01)
        one.send(b"y")
"""
CLIENT = """
import socket, sys, time
one, ends = socket.create_connection(("127.0.0.1", int(sys.argv[1]))), time.monotonic() + 2
while time.monotonic() < ends:
    one.send(b"x"), one.recv(1)
"""


@pytest.fixture
def port():
    """A server of root's; its process is in the file `pid` of whoever asks."""
    with subprocess.Popen([sys.executable, "-c", SERVER], stdout=subprocess.PIPE, text=True) as server:
        yield server.pid, server.stdout.readline().strip()
        server.kill()


@root
@pytest.mark.slow
@pytest.mark.parametrize("hidden", [False, True])
def test_a_server_of_another_user_is_missing_with_its_reason(port, hidden):
    with as_nobody(hidden=hidden) as user:
        (user.home / "pid").write_text(str(port[0]))
        client = (sys.executable, "-c", CLIENT, port[1])
        done = user.run("stat", f"--json={user.home}/told", "--server", f"pid_file={user.home}/pid", "--", *client)
        assert done.returncode == 0, done.stderr
        told = json.loads((user.home / "told").read_text())["time"]
    assert told["load"]["looks"] >= 25
    assert told["server"] is None
    assert "another user's" in told["missing"]["server"]
    assert "server     unknown: the kernel does not show" in done.stderr
    assert told["cause"] in ("peer", "no-cpu"), "nothing is said of the server"


@root
@pytest.mark.slow
def test_a_server_that_has_ended_was_not_there(port, tmp_path):
    (tmp_path / "pid").write_text("1234567")
    assay = (sys.executable, "-c", "from assay.cli.main import main; main()", "stat", f"--json={tmp_path}/told")
    words = ("--server", f"pid_file={tmp_path}/pid", "--", sys.executable, "-c", CLIENT, port[1])
    subprocess.run([*assay, *words], check=True, capture_output=True, env=os.environ)
    assert json.loads((tmp_path / "told").read_text())["time"]["missing"] == {"server": "none of its processes was there"}
