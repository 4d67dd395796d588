"""The network engine against iperf3 and netperf at the same settings, in interleaved blocks over a veth pair.

Each end runs in a network namespace of its own. Cost is the CPU time of both ends, start-up included: one control group (cpuacct)
has all processes of a run, and the CPU time of ksoftirqd during the run is added. A run takes one second. In a block every tool
runs once, in an order that turns from block to block; a ratio is that of one block. Messages have 128 KiB, and the congestion
control is the same for all tools. "same": both ends on CPU 0; "different": on CPU 0 and 1; "free": not pinned.
netperf is not in Debian main (non-free has it); it is left out if it is not installed.

The machine did nothing else. Where the kernel places both ends it takes one CPU or two, run by run: with cubic such a ratio has a
wide interval.
"""

from __future__ import annotations

import itertools
import json
import math
import os
import shutil
import statistics
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from engine_process import EngineProcess

BLOCKS, PAIRS = 12, 30
SECONDS = 1
MESSAGE = 128 << 10
NEAR, FAR = "10.199.7.1", "10.199.7.2"
PORT = 5_777
PLACEMENTS = {"same": ("0", "0"), "different": ("0", "1"), "free": (None, None)}
DATAGRAM = {"exchange": "datagram", "segment": True}
Settings = Mapping[str, object]


@dataclass(frozen=True)
class Stage:
    """Two namespaces with a wire between them, and the control group of a run."""

    near: str
    far: str
    group: Path

    def under(self, namespace: str, cpu: str | None) -> list[str]:
        """The words before a command that put it into its place."""
        enter = f'echo $$ > {self.group}/cgroup.procs && exec ip netns exec {namespace} "$@"'
        pinned = [] if cpu is None else ["taskset", "-c", cpu]
        return ["sh", "-c", enter, "sh", *pinned]


@dataclass(frozen=True)
class Cost:
    """CPU seconds, and what was done for them: bytes or transactions."""

    cpu_s: float
    done: float


Run = Callable[[Stage, tuple[str | None, str | None], str], Cost]


def measure() -> Iterator[tuple[str, str]]:
    """(what, figure); says so and no more without root."""
    if os.geteuid() or not Path("/sys/fs/cgroup/cpuacct").is_dir():
        yield "veth pair", "not measured: needs root and the control group cpuacct"
        return
    stage = Stage(
        f"assay-near-{os.getpid()}", f"assay-far-{os.getpid()}", Path(f"/sys/fs/cgroup/cpuacct/assay-net-{os.getpid()}")
    )
    try:
        make(stage)
        yield "load average of the machine", Path("/proc/loadavg").read_text(encoding="utf-8").split(" ")[0]
        yield from streams(stage)
        yield from transactions(stage)
        yield from datagrams(stage)
    finally:
        remove(stage)


def make(stage: Stage) -> None:
    stage.group.mkdir()
    for words in (
        f"netns add {stage.near}",
        f"netns add {stage.far}",
        f"-n {stage.near} link add v0 type veth peer name v0 netns {stage.far}",
        f"-n {stage.near} address add {NEAR}/24 dev v0",
        f"-n {stage.far} address add {FAR}/24 dev v0",
        f"-n {stage.near} link set v0 up",
        f"-n {stage.far} link set v0 up",
    ):
        subprocess.run(["ip", *words.split()], check=True)


def remove(stage: Stage) -> None:
    for namespace in (stage.near, stage.far):
        subprocess.run(["ip", "netns", "delete", namespace], check=False)
    if stage.group.is_dir():
        stage.group.rmdir()


def streams(stage: Stage) -> Iterator[tuple[str, str]]:
    tools: dict[str, Run] = {"ours": our_stream, "iperf3": iperf3, "netperf": netperf_stream}
    for congestion in ("cubic", "bbr"):
        for placement in PLACEMENTS:
            costs = blocks(stage, installed(tools), placement, congestion, BLOCKS)
            yield f"TCP stream, {congestion}, {placement} CPU, CPU-s per GB", words(costs, 1e9)


def transactions(stage: Stage) -> Iterator[tuple[str, str]]:
    tools: dict[str, Run] = {"ours": our_transactions, "netperf": netperf_transactions}
    for placement in PLACEMENTS:
        costs = blocks(stage, installed(tools), placement, "cubic", PAIRS)
        yield f"TCP request and response of 1 byte, {placement} CPU, CPU-s per 100,000", words(costs, 1e5)


def datagrams(stage: Stage) -> Iterator[tuple[str, str]]:
    tools: dict[str, Run] = {"ours": our_datagrams}
    for placement in PLACEMENTS:
        costs = blocks(stage, tools, placement, "cubic", BLOCKS)
        yield f"UDP with segmentation, {placement} CPU, CPU-s per GB sent and received (at most 0.5 wanted)", words(costs, 1e9)


def installed(tools: Mapping[str, Run]) -> dict[str, Run]:
    return {name: run for name, run in tools.items() if name == "ours" or shutil.which(name)}


def blocks(stage: Stage, tools: Mapping[str, Run], placement: str, congestion: str, number: int) -> dict[str, list[float]]:
    """CPU seconds for one byte or transaction of each tool, block by block."""
    orders = itertools.cycle(itertools.permutations(tools))
    costs: dict[str, list[float]] = {name: [] for name in tools}
    for _, order in zip(range(number), orders, strict=False):
        for name in order:
            cost = tools[name](stage, PLACEMENTS[placement], congestion)
            costs[name].append(cost.cpu_s / cost.done)
    return costs


def words(costs: Mapping[str, list[float]], unit: float) -> str:
    """Medians of all tools, and the ratio of ours to each of the others with its interval."""
    from assay.statistics.contrast import interval, paired_ratio

    figures = [f"{name} {statistics.median(values) * unit:.3f}" for name, values in costs.items()]
    for name, values in costs.items():
        if name == "ours":
            continue
        found = paired_ratio(values, costs["ours"])
        low, high = interval(found, 0.95)
        limits = f"{math.exp(low):.2f} to {math.exp(high):.2f}, 95 %"
        figures.append(f"ours/{name} {math.exp(found.difference):.2f} ({limits}, {len(values)} blocks)")
    return "; ".join(figures)


def cpu_s(stage: Stage) -> float:
    """CPU time of the control group and of ksoftirqd so far."""
    group = int((stage.group / "cpuacct.usage").read_text(encoding="utf-8"))
    return (group + sum(soft_interrupts())) / 1e9


def soft_interrupts() -> Iterator[int]:
    """CPU time of each ksoftirqd in ns."""
    for name in Path("/proc").glob("[0-9]*/comm"):
        try:
            if name.read_text(encoding="utf-8").startswith("ksoftirqd/"):
                yield int((name.parent / "schedstat").read_text(encoding="utf-8").split()[0])
        except OSError:
            continue


def our_stream(stage: Stage, cpus: tuple[str | None, str | None], congestion: str) -> Cost:
    cpu, _, received = ours(stage, cpus, {"exchange": "stream", "message": MESSAGE, "congestion": congestion})
    return Cost(cpu, received["receive"]["bytes"])


def our_transactions(stage: Stage, cpus: tuple[str | None, str | None], congestion: str) -> Cost:
    cpu, sent, _ = ours(stage, cpus, {"exchange": "transaction", "congestion": congestion})
    return Cost(cpu, sent["transaction"]["count"])


def our_datagrams(stage: Stage, cpus: tuple[str | None, str | None], _: str) -> Cost:
    """Each end's own CPU time for its own bytes, as datagrams are lost; ksoftirqd counts for both."""
    softly = sum(soft_interrupts())
    load, server = pair(stage, cpus, DATAGRAM)
    softly = sum(soft_interrupts()) - softly
    sent, received = load.operations["send"]["bytes"], server.operations["receive"]["bytes"]
    return Cost((load.cpu_s + softly / 1e9) / sent + server.cpu_s / received, 1)


def ours(stage: Stage, cpus: tuple[str | None, str | None], settings: Settings) -> tuple[float, dict[str, Any], dict[str, Any]]:
    """CPU seconds of both ends, and the operations of the load and of the server."""
    before = cpu_s(stage)
    load, server = pair(stage, cpus, settings)
    return cpu_s(stage) - before, load.operations, server.operations


@dataclass(frozen=True)
class End:
    """One end of ours: CPU time of its process, and its operations."""

    cpu_s: float
    operations: dict[str, Any]


def pair(stage: Stage, cpus: tuple[str | None, str | None], settings: Settings) -> tuple[End, End]:
    """Run a load and its server: both ends."""
    both = {"token": "benchmark", **settings}
    with (
        EngineProcess(stage.under(stage.far, cpus[1])) as server,
        EngineProcess(stage.under(stage.near, cpus[0])) as load,
    ):
        armed = server.arm("net", {"role": "server", "address": f"{FAR}:0", **both})
        load.arm("net", {"role": "load", "address": armed["address"], "duration_ns": SECONDS * 10**9, **both})
        at_ns = time.monotonic_ns() + 5_000_000
        for one in (server, load):
            one.say({"type": "go", "at_ns": at_ns})
        sent = load.until("result")["operations"]
        received = server.until("result")["operations"]
    return End(load.cpu_s, sent), End(server.cpu_s, received)


def iperf3(stage: Stage, cpus: tuple[str | None, str | None], congestion: str) -> Cost:
    server = ("iperf3", "-s", "-1", "-p", str(PORT), "-i", "0")
    client = ("iperf3", "-c", FAR, "-p", str(PORT), "-t", str(SECONDS), "-l", str(MESSAGE), "-C", congestion, "-i", "0", "-J")
    cpu, text = foreign(stage, cpus, server, client, PORT)
    return Cost(cpu, json.loads(text)["end"]["sum_received"]["bytes"])


def netperf_stream(stage: Stage, cpus: tuple[str | None, str | None], congestion: str) -> Cost:
    sizes = ("-m", f"{MESSAGE},{MESSAGE}", "-M", f"{MESSAGE},{MESSAGE}")
    cpu, values = netperf(stage, cpus, "TCP_STREAM", (*sizes, "-K", congestion))
    return Cost(cpu, values[0] * 1e6 / 8 * values[1])


def netperf_transactions(stage: Stage, cpus: tuple[str | None, str | None], congestion: str) -> Cost:
    cpu, values = netperf(stage, cpus, "TCP_RR", ("-r", "1,1", "-K", congestion))
    return Cost(cpu, values[0] * values[1])


def netperf(
    stage: Stage, cpus: tuple[str | None, str | None], test: str, words: Sequence[str]
) -> tuple[float, tuple[float, float]]:
    """CPU seconds, and netperf's throughput with its time."""
    server = ("netserver", "-D", "-4", "-p", str(PORT))
    client = ("netperf", "-H", FAR, "-p", str(PORT), "-t", test, "-l", str(SECONDS), "-P", "0", "--", *words)
    cpu, text = foreign(stage, cpus, server, (*client, "-k", "THROUGHPUT,ELAPSED_TIME"), PORT)
    values = dict(line.split("=", 1) for line in text.splitlines() if "=" in line)
    return cpu, (float(values["THROUGHPUT"]), float(values["ELAPSED_TIME"]))


def foreign(
    stage: Stage, cpus: tuple[str | None, str | None], server: Sequence[str], client: Sequence[str], port: int
) -> tuple[float, str]:
    """CPU seconds of a client and its server, and what the client prints."""
    before = cpu_s(stage)
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    serving = subprocess.Popen([*stage.under(stage.far, cpus[1]), *server], **quiet)
    try:
        wait_for_listener(stage, port)
        done = subprocess.run([*stage.under(stage.near, cpus[0]), *client], capture_output=True, text=True, check=True)
    finally:
        serving.terminate()
        serving.wait()
    return cpu_s(stage) - before, done.stdout


def wait_for_listener(stage: Stage, port: int) -> None:
    """Wait until something listens in the far namespace."""
    for _ in range(500):
        asked = ["ip", "netns", "exec", stage.far, "cat", "/proc/net/tcp", "/proc/net/tcp6"]
        lines = subprocess.run(asked, capture_output=True, text=True, check=True).stdout.splitlines()
        if any(line.split()[1].endswith(f":{port:04X}") and line.split()[3] == "0A" for line in lines):
            return
        time.sleep(0.01)
    raise RuntimeError(f"nothing listens on port {port}")
