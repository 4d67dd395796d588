"""Hosts: how far apart clients on 8 and 30 far machines start, what is known of their clocks, deaths, and what it all costs.

Far machines are namespaces on this machine with an sshd and a clock of their own, so that starts and clocks are held against the
truth. All of them share its CPUs: a real fleet is faster. The load average of the machine is a row, as others may use it.
Starts: clients of the engine `null` with a think time of 1 ms, armed and started by the parts that every trial uses. The skew is
the time from the first client's start to the last one's, by the true clocks. Deaths and costs: whole runs of `assay run`.

    python benchmarks/hosts.py [PART...]
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import textwrap
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "tests"))

from assay.laboratory import hosts as reached  # noqa: E402
from assay.laboratory.session import FAR_ENGINE, engine_path, own_ledger  # noqa: E402
from assay.records import HostSpec  # noqa: E402
from assay.trial import clocks  # noqa: E402
from assay.trial.clients import Crew  # noqa: E402
from assay.trial.dialogue import Dialogue  # noqa: E402
from assay.trial.fleet import Station  # noqa: E402
from assay.trial.rendezvous import Rendezvous, State  # noqa: E402
from far_machines import far_machines  # noqa: E402

Rows = Iterator[tuple[str, str]]
STARTS = 20
LASTS_S = 0.5
LIMIT_NS = 60 * 10**9
PHASE_S = 20
CONFIG = {
    "engine": "null",
    "seed": 1,
    "cpus": None,
    "interval_ns": 100_000_000,
    "settings": {
        "operation": "null",
        "ops": None,
        "duration_ns": round(LASTS_S * 1e9),
        "workers": 1,
        "load": {"think_ns": 1_000_000},
    },
}


def measure() -> Rows:
    """Every part, or those named."""
    yield "load average of the machine before and after", f"{os.getloadavg()[0]:.1f}"
    for part in sys.argv[1:] if __name__ == "__main__" and sys.argv[1:] else PARTS:
        yield from PARTS[part]()
    yield "... after", f"{os.getloadavg()[0]:.1f}"


# --- starts -----------------------------------------------------------------------------------------------------------


@dataclass
class Seen:
    """What many starts were like, in ns."""

    armed_ns: int = 0
    """From the first engine's start to the first phase in which all are armed, clocks compared."""
    skews: list[int] = field(default_factory=list)
    errors: list[int] = field(default_factory=list)
    """By how much the offset said of a host's clock was wrong."""
    bounds: list[int] = field(default_factory=list)
    late: int = 0


@contextlib.contextmanager
def machines(count: int, **options: Any) -> Iterator[Any]:
    """A fleet on which this Python is also there: /root of a far machine is not ours, and Python may live in it."""
    lend = 'mkdir -p /run/under "$0" && mount --bind / /run/under && mount --bind "/run/under$0" "$0"'
    with far_machines(count, **options) as fleet:
        for machine in fleet:
            machine.run("sh", "-c", lend, sys.base_prefix)
        yield fleet


def starts(count: int, via: str) -> Rows:
    """Clients on so many far machines, started again and again."""
    with machines(count) as fleet, home(fleet.home), own_ledger() as ledger:
        began_ns = time.monotonic_ns()
        with reached.opened(specs(fleet, via), ledger, engine_path()) as hosts:
            connected_s = (time.monotonic_ns() - began_ns) / 1e9
            truth = {name: machine.offset_ns for name, machine in zip(hosts, fleet, strict=True)}
            stations = [Station(host=host, undo=ledger.on(host), scratch="", engine=FAR_ENGINE) for host in hosts.values()]
            seen = started(stations, truth)
    label = f"{count} hosts by {via}"
    within = sum(error <= bound for error, bound in zip(seen.errors, seen.bounds, strict=True))
    yield f"{label}: skew of {len(seen.skews)} starts", f"median {ms(middle(seen.skews))}, p90 {ms(p90(seen.skews))}"
    yield f"{label}: connected, then armed", f"{connected_s:.1f} s, then {seen.armed_ns / 1e9:.2f} s"
    yield f"{label}: true offset within the bound", f"{within} of {len(seen.errors)}; {seen.late} clients late"
    yield (
        f"{label}: error, bound of a clock",
        f"median {ms(middle(seen.errors))}, {ms(middle(seen.bounds))}; p90 {ms(p90(seen.errors))}, {ms(p90(seen.bounds))};"
        f" largest {ms(max(seen.errors))}, {ms(max(seen.bounds))}",
    )


def specs(fleet: Any, via: str) -> list[HostSpec]:
    """The lines of [hosts] for a fleet."""
    if via == "ssh":
        return [machine.spec(engine=True, load=True) for machine in fleet]
    return [
        HostSpec(
            name=f"n.{machine.number}",
            via="dask",
            group="n",
            cluster="ssh",
            engine=True,
            load=True,
            address=machine.address,
            options={"python": sys.executable},
        )
        for machine in fleet
    ]


def started(stations: Sequence[Station], truth: Mapping[str, int]) -> Seen:
    """Start one client on each station many times: gathered, armed, compared and told as in a trial."""
    seen, crew, everywhere = Seen(), Crew(), {one.name: one.host for one in stations}
    began_ns = time.monotonic_ns()
    try:
        crew.spawn(stations)
        known = clocks.compare(everywhere)
        rendezvous = Rendezvous(hosts=[one.name for one in stations], now_ns=time.monotonic_ns(), clocks=known)
        dialogue = Dialogue(crew=crew, rendezvous=rendezvous)
        dialogue.drive(State.READY, State.ENDED)
        with dialogue.kept():
            for number in range(STARTS):
                configs = [{**CONFIG, "client": index, "clients": len(stations)} for index in range(len(stations))]
                dialogue.obey(rendezvous.arm(f"start {number}", configs, LIMIT_NS, time.monotonic_ns()))
                dialogue.drive(State.ARMED, State.ENDED)
                if not number:
                    seen.armed_ns = time.monotonic_ns() - began_ns
                start(dialogue, everywhere, truth, seen)
    finally:
        crew.close()
    return seen


def start(dialogue: Dialogue, everywhere: Mapping[str, Any], truth: Mapping[str, int], seen: Seen) -> None:
    """One start, and what was said of the clocks."""
    rendezvous = dialogue.rendezvous
    rendezvous.clocks = before = clocks.compare(everywhere)
    dialogue.obey(rendezvous.start(time.monotonic_ns()))
    if dialogue.drive(State.ENDED) is not State.ENDED or rendezvous.failures:
        raise SystemExit(f"clients failed: {rendezvous.failures}")
    after = clocks.compare(everywhere)
    courses = {name: clocks.course(before[name], after[name], rendezvous.start_ns or 0) for name in before}
    ours = [result["started_ns"] - truth[rendezvous.hosts[client]] for client, result in rendezvous.results.items()]
    seen.skews.append(max(ours) - min(ours))
    seen.errors += [abs(one.offset_ns - truth[name]) for name, one in courses.items()]
    seen.bounds += [one.error_ns for one in courses.values()]
    seen.late += len(rendezvous.late)


# --- deaths: whole runs -------------------------------------------------------------------------------------------------

EXPERIMENT = """
title = "Hosts"
question = "How fast?"
repeats = 1
{more}
[hosts]
{hosts}
[targets.here]
kind = "directory"
path = "{path}"
{target}
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

    def __init__(self, fleet: Any, seconds: int = PHASE_S, *, via: str = "ssh", more: str = "", target: str = "") -> None:
        self.fleet, self.folder = fleet, Path(tempfile.mkdtemp(prefix="assay-hosts-", dir="/var/tmp"))
        (self.folder / "data").mkdir()
        control = ""
        addresses = ", ".join(f'"{machine.address}"' for machine in fleet)
        ways = {
            "ssh": f'via = "ssh", addresses = [{addresses}]',
            "dask": f'via = "dask", cluster = "ssh", addresses = [{addresses}], python = "{sys.executable}"',
        }
        hosts = f"c = {{ {ways[via]}, load = true{control} }}"
        if fleet.control:
            hosts = "\n".join(
                f'c{one.number} = {{ via = "ssh", address = "{one.address}", control = "{one.control}", load = true }}'
                for one in fleet
            )
        text = EXPERIMENT.format(hosts=hosts, path=self.folder / "data", seconds=seconds, more=more, target=target)
        (self.folder / "t.toml").write_text(textwrap.dedent(text))
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


def death(label: str, strike: Callable[[Any], None], count: int = 3, via: str = "ssh", seconds: int = PHASE_S) -> Rows:
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


def kill(pattern: str) -> Callable[[Any], None]:
    """What kills all processes of a machine whose command line has this in it."""

    def strike(machine: Any) -> None:
        pids = [pid for pid, command in machine.processes().items() if pattern in command and not command.endswith(" agent")]
        if len(pids) != 1:
            raise SystemExit(f"found {len(pids)} processes of {pattern}: {machine.processes()}")
        os.kill(pids[0], signal.SIGKILL)

    return strike


def kill_sshd(machine: Any) -> None:
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


def after(fleet: Any) -> str:
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


def scratch(machine: Any) -> list[str]:
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
                    code = f"import socket,time\ns=socket.socket(socket.AF_INET,socket.SOCK_DGRAM)\ne=time.time()+10\nwhile time.time()<e: s.sendto(bytes(1400),('{fleet[1].address}',9)); time.sleep(0.0002)"
                    flooded = subprocess.Popen((sys.executable, "-c", code))
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


# --- words ------------------------------------------------------------------------------------------------------------


@contextlib.contextmanager
def home(path: Path) -> Iterator[None]:
    """The home of the user whose keys are known, for this process."""
    former = {name: os.environ.pop(name, None) for name in ("HOME", "SSH_AUTH_SOCK")}
    os.environ["HOME"] = str(path)
    try:
        yield
    finally:
        os.environ.update({name: value for name, value in former.items() if value is not None})


def middle(values: Sequence[int]) -> float:
    return statistics.median(values)


def p90(values: Sequence[int]) -> float:
    return sorted(values)[min(len(values) - 1, round(0.9 * len(values)))]


def ms(value_ns: float) -> str:
    return f"{value_ns / 1e6:.2f} ms"


PARTS: dict[str, Callable[[], Rows]] = {
    "ssh8": lambda: starts(8, "ssh"),
    "dask8": lambda: starts(8, "dask"),
    "ssh30": lambda: starts(30, "ssh"),
    "dask30": lambda: starts(30, "dask"),
    "deaths": deaths,
    "cut": cut,
    "controller": controller,
    "flood": flood,
    "idle": idle,
}

if __name__ == "__main__":
    for what, figure in measure():
        print(f"| {what} | {figure} |", flush=True)
