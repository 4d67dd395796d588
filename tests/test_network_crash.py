"""A lab that is killed at any moment of a trial between network namespaces: no namespace, interface, route or process is left."""

import contextlib
import os
import random
import signal
import subprocess
from pathlib import Path

import pytest

from assay_process import Bench, kill, wait_until
from sizes import few_and_many

LATEST_S = 5.0
"""The random moments lie between the start and this: start, namespaces, links, rules, arming, all phases, removal, next trial."""
EXPERIMENT = """
title = "Killed between two ends"
question = "Is anything left?"
repeats = 500
seed = 3
observers = ["middlebox", "network", "process_io"]

[targets.plain]
kind = "middlebox"
[targets.busy]
kind = "middlebox"
rules = 500
conntrack = true
rate = "100 Mbit/s"
sysctls = ["net.ipv4.tcp_congestion_control=reno"]

[workloads.bulk]
kind = "net_stream"
connections = 2
direction = "both"
duration = "500 ms"
quiesce = "0 s"
[workloads.ask]
kind = "net_rr"
duration = "500 ms"
quiesce = "0 s"

[factors]
target = ["plain", "busy"]
"""
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="network namespaces need root")


OURS = ("mb", "load0", "server0")
"""With what the names of the target's interfaces begin."""


def left():
    """What there is of ours in the machine's own network namespace: interfaces, routes, the kernel's threads of interfaces."""
    names = [path.name for path in Path("/sys/class/net").iterdir() if path.name.startswith(OURS)]
    routes = subprocess.run(["ip", "route", "show", "table", "all"], capture_output=True, text=True, check=True).stdout
    return [*names, *(line for line in routes.splitlines() if "198.18." in line), *threads()]


def threads():
    found = []
    for path in Path("/proc").glob("[0-9]*/comm"):
        with contextlib.suppress(OSError):
            found += [name for name in [path.read_text().strip()] if name.startswith("napi/mb")]
    return sorted(found)


@pytest.mark.root
@pytest.mark.slow
@needs_root
@few_and_many("points", 4, 50)
def test_nothing_is_left_at_random_moments(tmp_path, points):
    bench, chance, had = Bench(tmp_path), random.Random(), 0
    assert left() == []
    (tmp_path / "e.toml").write_text(EXPERIMENT)
    try:
        for number in range(points):
            lab = bench.start("run", "e.toml", "--resume", "--progress", "none")
            moment = chance.uniform(0.1, LATEST_S)
            with contextlib.suppress(subprocess.TimeoutExpired):
                lab.wait(moment)
            had += len(bench.processes()) > 1
            kill(lab.pid, signal.SIGKILL)
            _, complaint = lab.communicate()
            told = f"point {number}: killed after {moment:.2f} s: {complaint}"
            done = bench.run("doctor")
            assert done.returncode == 0, told + done.stdout
            assert bench.processes() == {}, told
            assert bench.traces() == [], told
            wait_until(lambda: not left(), within_s=10)  # the kernel removes a namespace after its last process
        assert had > points // 3, "the moments hit labs that had something"
    finally:
        for pid in bench.processes():
            kill(pid)
    (tmp_path / "once.toml").write_text(EXPERIMENT.replace("repeats = 500", "repeats = 1"))
    done = bench.run("run", "once.toml", "--progress", "none")
    assert done.returncode == 0, done.stderr
    wait_until(lambda: not left(), within_s=10)
