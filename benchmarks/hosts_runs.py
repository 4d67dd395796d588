"""Whole runs over far machines: deaths of engines, connections, workers, networks and controllers, and what a run costs.

A part of the benchmark `hosts`.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "tests"))

from stage.far_machines import FarMachine, Fleet, far_machines  # noqa: E402

Rows = Iterator[tuple[str, str]]
PHASE_S = 20
FLOOD = """
import socket, sys, time
line, until = socket.socket(socket.AF_INET, socket.SOCK_DGRAM), time.monotonic() + 10
while time.monotonic() < until:
    line.sendto(bytes(1400), (sys.argv[1], 9))
    time.sleep(0.0002)
"""
EXPERIMENT = """
title = "Hosts"
question = "How fast?"
repeats = 1
[hosts]
{hosts}
[targets.here]
kind = "directory"
path = "{path}"
[workloads.w]
kind = "null"
think = "1 ms"
duration = "{seconds} s"
quiesce = "0 s"
[measures]
"w.null.ops_per_s" = {{}}
"""


class Bench:
    """Runs of `assay run` with a fleet."""

    def __init__(self, fleet: Fleet, seconds: int = PHASE_S, *, via: str = "ssh") -> None:
        self.fleet, self.folder = fleet, Path(tempfile.mkdtemp(prefix="assay-hosts-", dir="/var/tmp"))
        (self.folder / "data").mkdir()
        addresses = ", ".join(f'"{machine.address}"' for machine in fleet)
        ways = {
            "ssh": f'via = "ssh", addresses = [{addresses}]',
            "dask": f'via = "dask", cluster = "ssh", addresses = [{addresses}], python = "{sys.executable}"',
        }
        hosts = f"c = {{ {ways[via]}, load = true }}"
        if fleet.control:
            hosts = "\n".join(
                f'c{one.number} = {{ via = "ssh", address = "{one.address}", control = "{one.control}", load = true }}'
                for one in fleet
            )
        text = EXPERIMENT.format(hosts=hosts, path=self.folder / "data", seconds=seconds)
        (self.folder / "t.toml").write_text(text)
        self.environment = {**os.environ, "HOME": str(fleet.home), "PYTHONUNBUFFERED": "1"}
        self.environment.pop("SSH_AUTH_SOCK", None)

    def start(self) -> subprocess.Popen[str]:
        """Begin the run; its progress comes as JSON on its standard error."""
        command = (str(ROOT / ".venv/bin/assay"), "run", "t.toml", "--progress", "json")
        return subprocess.Popen(
            command, cwd=self.folder, env=self.environment, text=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
        )

    def runs(self) -> list[dict[str, Any]]:
        """The runs in its notebook."""
        return [json.loads(path.read_text()) for path in sorted(self.folder.glob("lab/*/trials/*/*/run.json"))]

    def close(self) -> None:
        """Remove everything."""
        shutil.rmtree(self.folder, ignore_errors=True)


def news(process: subprocess.Popen[str]) -> Iterator[tuple[float, dict[str, Any]]]:
    """The lines of progress, with the time at which each came."""
    assert process.stderr is not None
    for line in process.stderr:
        try:
            one = json.loads(line)
        except ValueError:
            print(line, end="", file=sys.stderr)
            continue
        yield time.monotonic(), one


def death(label: str, strike: Callable[[FarMachine], None], count: int = 3, via: str = "ssh", seconds: int = PHASE_S) -> Rows:
    """Strike one machine of a running phase; how long until it is named, and what became of the run."""
    with machines(count) as fleet:
        bench = Bench(fleet, seconds, via=via)
        try:
            process, struck_s, named_s = bench.start(), 0.0, 0.0
            for at_s, one in news(process):
                if one.get("event") == "running" and one.get("operations") and not struck_s:
                    time.sleep(1)
                    strike(fleet[1])
                    struck_s = time.monotonic()
                if struck_s and not named_s and one.get("failed"):
                    named_s = at_s
            process.wait()
            run = bench.runs()[0]
            if run["outcome"] != "partial":
                print(run["outcome"], run["error"], file=sys.stderr)
            others = sum(len(phase["clients"]) for phase in run["phases"])
            yield (
                label,
                f"named after {named_s - struck_s:.2f} s; run {run['outcome']}; {others} of {count - 1} other results kept",
            )
        finally:
            bench.close()


def kill(pattern: str) -> Callable[[FarMachine], None]:
    """What kills all processes of a machine whose command line has this in it."""

    def strike(machine: FarMachine) -> None:
        pids = [pid for pid, command in machine.processes().items() if pattern in command and not command.endswith(" agent")]
        if len(pids) != 1:
            raise SystemExit(f"found {len(pids)} processes of {pattern}: {machine.processes()}")
        os.kill(pids[0], signal.SIGKILL)

    return strike


def kill_sshd(machine: FarMachine) -> None:
    """Kill the process of sshd that serves the connection."""
    for pid in machine.connections():
        os.kill(pid, signal.SIGKILL)


def deaths() -> Rows:
    """Engine, sshd's process, Dask worker."""
    yield from death("engine killed", kill("assay-engine"))
    yield from death("sshd's process killed", kill_sshd)
    yield from death("Dask worker killed", kill("assay_worker"), via="dask")


def cut() -> Rows:
    """The network of a host goes, unannounced; the lease is 30 s."""
    yield from death("network cut (lease 30 s)", lambda machine: machine.cut(), seconds=50)


def controller() -> Rows:
    """The controller dies or freezes in the middle of a phase."""
    for label, number in (("controller killed", signal.SIGKILL), ("controller frozen (lease 30 s)", signal.SIGSTOP)):
        with far_machines(3) as fleet:
            bench = Bench(fleet, 120)
            try:
                process = bench.start()
                next(one for _, one in news(process) if one.get("operations"))
                process.send_signal(number)
                yield label, after(fleet)
            finally:
                process.kill()
                process.wait()
                bench.close()


def after(fleet: Fleet) -> str:
    """How long until no engine runs on any machine, and until nothing of ours is left there."""
    began_s, found = time.monotonic(), {"no engine": 0.0, "nothing": 0.0}
    while not all(found.values()) and time.monotonic() - began_s < 60:
        commands = [command for machine in fleet for command in machine.processes().values()]
        engines = [one for one in commands if "assay-engine" in one and " agent" not in one]
        left = [path for machine in fleet for path in scratch(machine)]
        now = time.monotonic() - began_s
        found["no engine"] = found["no engine"] or (0.0 if engines else now)
        found["nothing"] = found["nothing"] or (0.0 if left or any("assay-engine" in one for one in commands) else now)
        time.sleep(0.02)
    return f"no load anywhere after {found['no engine']:.2f} s; nothing left after {found['nothing']:.2f} s"


def scratch(machine: FarMachine) -> list[str]:
    """Private directories of ours that a machine still has; they share /var/tmp, so those whose notes it keeps."""
    return [
        line for line in machine.run("sh", "-c", "find /run/assay -type f -size +0 2>/dev/null || :").stdout.splitlines() if line
    ]


def flood() -> Rows:
    """The line under test is full for 10 s; control has another address."""
    with far_machines(2, control=True) as fleet:
        bench = Bench(fleet, 20)
        fleet[1].shape()
        try:
            process, lost, flooded = bench.start(), False, None
            for _, one in news(process):
                if one.get("operations") and flooded is None:
                    flooded = subprocess.Popen((sys.executable, "-c", FLOOD, fleet[1].address))
                lost = lost or bool(one.get("failed"))
            process.wait()
            run = bench.runs()[0]
            errors = [host["clock"]["error_ns"] for phase in run["phases"] for host in phase["hosts"] if host.get("clock")]
            yield (
                "line under test flooded for 10 s (8 Mbit/s, 1 MB queue; control address)",
                f"{'LOST' if lost else 'nobody lost'}; run {run['outcome']}; clocks within {ms(max(errors))}",
            )
            if flooded is not None:
                flooded.wait()
        finally:
            bench.close()


def idle(count: int = 30) -> Rows:
    """CPU time of the lab here and of a far host while so many hosts are in a phase without load to speak of."""
    with far_machines(count) as fleet:
        bench = Bench(fleet, PHASE_S)
        try:
            process, spans = bench.start(), []
            for at_s, one in news(process):
                if one.get("operations"):
                    spans.append((at_s, cpu_s(process.pid), fleet[0].cpu_s()))
            process.wait()
            (began, here, there), (ended, here_after, there_after) = spans[1], spans[-2]
            length = ended - began
            yield f"{count} hosts in a phase: the lab here", f"{(here_after - here) / length:.1%} of a CPU, all observers"
            yield "... and each far host with its client", f"{(there_after - there) / length:.2%} of a CPU"
        finally:
            bench.close()


def cpu_s(pid: int) -> float:
    """CPU time of a process, threads included."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return sum(map(int, fields[11:13])) / os.sysconf("SC_CLK_TCK")


@contextlib.contextmanager
def machines(count: int) -> Iterator[Fleet]:
    """A fleet on which this Python is also there: /root of a far machine is not ours, and Python may live in it."""
    lend = 'mkdir -p /run/under "$0" && mount --bind / /run/under && mount --bind "/run/under$0" "$0"'
    with far_machines(count) as fleet:
        for machine in fleet:
            machine.run("sh", "-c", lend, sys.base_prefix)
        yield fleet


def ms(value_ns: float) -> str:
    """Milliseconds."""
    return f"{value_ns / 1e6:.2f} ms"
