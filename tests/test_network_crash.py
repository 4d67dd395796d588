"""A lab that is killed at any moment of a trial between network namespaces: no namespace, interface, route or process is left."""

import contextlib
import os
import subprocess
import time
from pathlib import Path

import pytest

from stage.assay_process import wait_until
from stage.kill_moments import killed
from stage.sizes import few_and_many

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


def left(than_ticks):
    """What there is of ours in the machine's own network namespace, and the kernel's threads for it from before a moment."""
    names = [path.name for path in Path("/sys/class/net").iterdir() if path.name.startswith(OURS)]
    lines = [*printed("ip", "route", "show", "table", "all"), *printed("ip", "mptcp", "endpoint", "show")]
    return [*names, *(line for line in lines if "198.18." in line), *threads(than_ticks)]


def printed(*argv):
    return subprocess.run(argv, capture_output=True, text=True, check=True).stdout.splitlines()


def threads(than_ticks):
    """Of all namespaces: other labs may have theirs, which began later."""
    found = []
    for pid in older(than_ticks):
        with contextlib.suppress(OSError):
            found += [name for name in [Path("/proc", pid, "comm").read_text().strip()] if name.startswith("napi/mb")]
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


def spaces(pids):
    """The network namespaces of processes, and when they were seen."""
    return entered(pids), now_ticks()


@pytest.mark.root
@pytest.mark.slow
@needs_root
@few_and_many("points", 4, 50)
def test_nothing_is_left_of_a_lab_that_is_killed(bench, points, record_property):
    """After every kill, and after the whole trials that it goes on with."""
    (bench.home / "e.toml").write_text(EXPERIMENT)
    had, seen = 0, set()
    for lab in killed(bench, points, look=spaces):
        wait_until(lambda: not left(lab.seen[1]))  # noqa: B023 - the kernel removes a namespace after its last process
        assert alive(*lab.seen) == set(), lab.told
        had, seen = had + bool(lab.others), seen | lab.seen[0]
    assert len(seen) > points // 3
    record_property("labs killed", points)
    record_property("with other processes at that moment", had)
    record_property("their network namespaces, all gone", len(seen))
