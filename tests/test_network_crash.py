"""A lab that is killed at any moment of a trial between network namespaces: no namespace, interface, route or process is left."""

import contextlib
import os
import random
import signal
import subprocess
import time
from pathlib import Path

import pytest

from assay_process import Bench, kill, seconds_until, wait_until
from sizes import few_and_many

LATEST_S = 4.0
"""The random moments lie between a trial's first process and this: spaces, links, rules, arming, phases, removal, next one."""
EXPERIMENT = """
title = "Killed between two ends"
question = "Is anything left?"
repeats = 250
seed = 3
observers = ["middlebox", "line", "network", "process_io"]

[paths.wan]
rate = "200 Mbit/s"
delay = "1 ms"
queue = "500 kB"
loss = "0.1 %"
[paths.a]
rate = "50 Mbit/s"
delay = "1 ms"
queue = "100 kB"
[paths.b]
rate = "50 Mbit/s"
delay = "1 ms"
queue = "100 kB"

[targets.plain]
kind = "middlebox"
[targets.busy]
kind = "middlebox"
rules = 500
conntrack = true
rate = "100 Mbit/s"
sysctls = ["net.ipv4.tcp_congestion_control=reno"]
[targets.line]
kind = "line"
through = "wan"
[targets.links]
kind = "line"
paths = ["a", "b"]

[workloads.bulk]
kind = "net_stream"
connections = 2
mptcp = true
direction = "both"
duration = "500 ms"
quiesce = "0 s"
[workloads.ask]
kind = "net_rr"
mptcp = true
duration = "500 ms"
quiesce = "0 s"

[factors]
target = ["plain", "busy", "line", "links"]
"""
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="network namespaces need root")


OURS = ("mb", "load0", "server0", "path")
"""With what the names of the targets' interfaces begin."""


def left():
    """What there is of ours in the machine's own network namespace: interfaces, routes, endpoints, the kernel's threads."""
    names = [path.name for path in Path("/sys/class/net").iterdir() if path.name.startswith(OURS)]
    lines = [*printed("ip", "route", "show", "table", "all"), *printed("ip", "mptcp", "endpoint", "show")]
    return [*names, *(line for line in lines if "198.18." in line), *threads()]


def printed(*argv):
    return subprocess.run(argv, capture_output=True, text=True, check=True).stdout.splitlines()


def threads():
    found = []
    for path in Path("/proc").glob("[0-9]*/comm"):
        with contextlib.suppress(OSError):
            found += [name for name in [path.read_text().strip()] if name.startswith("napi/mb")]
    return sorted(found)


def namespace_of(path):
    """The network namespace that a file of the kernel's leads to; none where that is gone."""
    try:
        found = os.readlink(path)  # noqa: PTH115 - a link of the kernel's
    except OSError:
        return None
    return found if found.startswith("net:") else None


def entered(pids):
    """The network namespaces that these processes are in or have open, without the machine's own."""
    files = [file for pid in pids for file in (f"/proc/{pid}/ns/net", *map(str, Path(f"/proc/{pid}/fd").glob("*")))]
    return {namespace_of(file) for file in files} - {None, namespace_of("/proc/self/ns/net")}


def now_ticks():
    """Ticks since boot, as /proc/PID/stat has the start of a process."""
    return int(time.clock_gettime(time.CLOCK_BOOTTIME) * os.sysconf("SC_CLK_TCK"))


def older(than_ticks):
    """The processes that began before a moment."""
    for path in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            if int(path.read_text().rpartition(")")[2].split()[19]) < than_ticks:
                yield path.parent.name


def alive(namespaces, than_ticks):
    """Those of these namespaces that a process from before this moment keeps; later ones may have a number that was free."""
    return namespaces & entered(older(than_ticks))


def struck(bench, moment):
    """A lab that is killed so long after its first process: what it had then, with namespaces, and what it complained."""
    lab = bench.start("run", "e.toml", "--resume", "--progress", "none")
    wait_until(lambda: len(bench.processes()) > 1)
    with contextlib.suppress(subprocess.TimeoutExpired):
        lab.wait(moment)
    kill(lab.pid, signal.SIGSTOP)  # so that what is seen is what is there
    others = [pid for pid in bench.processes() if pid != lab.pid]
    spaces, at_ticks = entered(others), now_ticks()
    kill(lab.pid, signal.SIGKILL)
    return others, (spaces, at_ticks), lab.communicate()[1]


@pytest.mark.root
@pytest.mark.slow
@needs_root
@few_and_many("points", 4, 50)
def test_nothing_is_left_at_random_moments(tmp_path, points, record_property):
    bench, chance, had, seen = Bench(tmp_path), random.Random(), 0, set()
    assert left() == []
    (tmp_path / "e.toml").write_text(EXPERIMENT)
    words = ("run", "e.toml", "--resume", "--progress", "none")
    try:
        latest_s = max(LATEST_S, 4 * seconds_until(lambda _: len(bench.processes()) > 1, bench, *words))
        for number in range(points):
            moment = chance.uniform(0.0, latest_s)
            others, (spaces, at_ticks), complaint = struck(bench, moment)
            told = f"point {number}: killed after {moment:.2f} s: {complaint}"
            done = bench.run("doctor")
            assert done.returncode == 0, told + done.stdout
            assert bench.processes() == {}, told
            assert bench.traces() == [], told
            wait_until(lambda: not left())  # the kernel removes a namespace after its last process
            assert alive(spaces, at_ticks) == set(), told
            had, seen = had + bool(others), seen | spaces
        assert had >= points // 4, "the moments hit labs that had something"
        assert len(seen) > points // 3, "and namespaces"
    finally:
        for pid in bench.processes():
            kill(pid)
    record_property("labs killed", points)
    record_property("with other processes at that moment", had)
    record_property("their network namespaces, all gone", len(seen))


@pytest.mark.root
@pytest.mark.slow
@needs_root
def test_nothing_is_left_of_a_lab_that_ends(tmp_path):
    bench = Bench(tmp_path)
    (tmp_path / "once.toml").write_text(EXPERIMENT.replace("repeats = 250", "repeats = 1"))
    done = bench.run("run", "once.toml", "--progress", "none")
    assert done.returncode == 0, done.stderr
    wait_until(lambda: not left())
