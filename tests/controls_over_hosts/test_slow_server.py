"""One of two servers behind a narrow link: L18 names it, and says nothing of two alike. Each on a far machine of its own."""

import shutil

import pytest

from assay.experiment import read
from assay.records import Outcome, State
from assay.selftest.control import measured

pytestmark = [
    pytest.mark.slow,
    pytest.mark.root,
    pytest.mark.skipif(
        not shutil.which("python3", path="/usr/bin"), reason="needs /usr/bin/python3: far machines have a /root of their own"
    ),
]
PYTHON = shutil.which("python3", path="/usr/bin") or ""
SERVER = """
import os, socket, threading
server = socket.create_server(("0.0.0.0", 7392))
open("/run/served", "w").write(str(os.getpid()))
def serve(link):
    try:
        while True: link.sendall(bytes(65536))
    except OSError: pass
while True:
    link, _ = server.accept()
    threading.Thread(target=serve, args=(link,), daemon=True).start()
"""
LOAD = """
import socket, sys, threading, time
end, got = time.monotonic() + 4, []
def take(address):
    link, total = socket.create_connection((address, 7392)), 0
    while time.monotonic() < end: total += len(link.recv(1 << 16))
    got.append(total)
each = [threading.Thread(target=take, args=(one,)) for one in sys.argv[1:]]
for one in each: one.start()
for one in each: one.join()
print(sum(got))
"""
EXPERIMENT = """
title = "two servers"
repeats = 1
[hosts]
a = {{ via = "ssh", address = "{a}", engine = true }}
b = {{ via = "ssh", address = "{b}", engine = true }}
c = {{ via = "ssh", address = "{c}", load = true }}

[targets.pair]
kind = "commands"
host = "a"
prepare = ["sh", "-c", "mkdir -p {{scratch}}/{{name}} && echo {{scratch}}/{{name}}"]
attach = ["sh", "-c", "mkdir {{scratch}}/{{client}} && echo {{scratch}}/{{client}}"]
detach = ["rm", "-rf", "{{scratch}}/{{client}}"]
teardown = ["rm", "-rf", "{{scratch}}/{{name}}"]
server.pid_file = "/run/served"
server.address = "{a}"
server.nodes.second = {{ host = "b", pid_file = "/run/served", address = "{b}" }}

[workloads.w]
kind = "command"
quiesce = "0 s"
argv = ["{python}", "-c", '''{load}''', "{a}", "{b}"]
parse = "regex"
pattern = '(\\d+)'
unit = "B"
direction = "read"
[measures]
"w.read.bytes" = {{}}
"""


@pytest.mark.parametrize(("rates", "state"), [(("40mbit", "4mbit"), State.FAIL), (("40mbit", "40mbit"), State.PASS)])
def test_a_server_that_gives_a_tenth_is_named(rates, state, far, tmp_path, monkeypatch):
    fleet = far(3)
    monkeypatch.setenv("HOME", str(fleet.home))
    first, second, third = fleet
    for machine, rate in zip((first, second), rates, strict=True):
        machine.shape(rate, 200_000)
    servers = [machine.start(PYTHON, "-c", SERVER) for machine in (first, second)]
    try:
        said = EXPERIMENT.format(a=first.address, b=second.address, c=third.address, python=PYTHON, load=LOAD)
        (one,) = measured(read.parse(said, "two_servers.toml"), said, tmp_path / "lab").runs
    finally:
        for server in servers:
            server.kill()
            server.wait()
    assert one.run.outcome is Outcome.FINISHED, one.run.error
    (verdict,) = one.verdicts.values()
    (found,) = [finding for finding in verdict.findings if finding.rule == "L18"]
    assert found.state is state, found
    if state is State.FAIL:
        assert found.relabel == "unequal servers"
        assert " b " in f" {found.statement} ", found.statement
