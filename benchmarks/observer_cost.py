"""CPU time of one look of every observer, beside the cost that the observer declares.

In process, as `assay selftest` measures it: the thread's CPU time of up to 300 looks, plus that of the commands that a look runs,
median of five rounds. The subject is this process with one file, its block devices, and this process again as a server with one
data file. A companion such as bpftrace is started for the measurement and its CPU time is included. A row is marked if the
measured cost differs from every declared figure by more than a factor of 3: then correct the declaration or check its condition.

Then the observers of whole trials: ten files of 48 MiB to and from a server behind a path of 1 Gbit/s, each file by a program of
its own. Given is the CPU time of all looks that ended within the clock, as a share of one CPU, and that of each observer.
Commands that a look runs are included. Rule E04 allows 2 %. `observer_cost.py served [TARGET...]` measures these trials
alone, `observer_cost.py NAME...` the looks of these observers, and ends with 1 if the cost of one is off by more than the factor.
"""

from __future__ import annotations

import math
import os
import re
import resource
import statistics
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from assay import catalogue, sampler
from assay.catalogue import Host, Observer
from assay.errors import AssayError
from assay.experiment import plan, read
from assay.hosts.local import Local
from assay.laboratory.session import conduct
from assay.machine import stack
from assay.records import Outcome, ServerNode, Subject
from assay.terminal.progress import ProgressMode

ROUNDS = 5
LOOKS = 300
ROUND_NS = 300_000_000
FACTOR = 3.0
UNITS = {"ns": 1e-9, "µs": 1e-6, "ms": 1e-3, "s": 1.0}
DECLARED = re.compile(r"([\d.]+) (ns|µs|ms|s) CPU per look")
TICK_S = 1 / os.sysconf("SC_CLK_TCK")
Look = tuple[str, int, float]
"""Observer, when its look ended (ns), CPU seconds."""
BUILT_SSHD = Path(".build/sshd/usr/sbin/sshd")
CLIENTS: Mapping[str, str] = {
    "webdav": """put = ["curl", "-fsS", "-T", "{source}", "http://{server.address}/{name}"]
get = ["curl", "-fsS", "-o", "{destination}", "http://{server.address}/{name}"]""",
    "sftp_openssh": """put = ["scp", "-q", "-F", "{instance}/ssh_config", "{source}", "{server.address}:{data}/{name}"]
get = ["scp", "-q", "-F", "{instance}/ssh_config", "{server.address}:{data}/{name}", "{destination}"]""",
}
TRIAL = """title = "observers of a served trial"
repeats = 1
[paths.lan]
rate = "1 Gbit/s"
delay = "100 us"
queue = "1 MB"
[targets.disk]
kind = "loopfs"
filesystem = "ext4"
size = "1 GiB"
[targets.served]
on = "disk"
through = "lan"
%s
[workloads.files]
kind = "transfer"
file_size = "48 MiB"
[measures]
"files.put.bytes_per_s" = { claim = { path = "emulated" } }
"files.get.bytes_per_s" = { claim = { path = "emulated" } }
"""


def looks(names: Sequence[str], off: set[str]) -> Iterator[tuple[str, str]]:
    """(observer, measured and declared cost); `off` gets those whose declared cost is not the measured one."""
    with tempfile.TemporaryDirectory(dir=Path.cwd(), prefix="bench-") as folder:
        file, pid_file = Path(folder, "data"), Path(folder, "pid")
        file.write_bytes(bytes(1 << 20))
        pid_file.write_text(str(os.getpid()))
        server = ServerNode(pid_file=str(pid_file), data=(str(file),), address="127.0.0.1")
        devices = stack.stack(Local(), folder)
        subject = Subject(pids=(os.getpid(),), paths=(str(file),), directory=folder, devices=devices, server=(server,))
        for name in names:
            yield name, comparison(catalogue.find("observers", name), subject, off)
    yield "(conditions)", f"stack {' > '.join(devices) or 'without a device'}"


def measure() -> Iterator[tuple[str, str]]:
    """The looks of all observers, then those of whole trials."""
    yield from looks(catalogue.names("observers"), set())
    processes = sum(path.name.isdigit() for path in Path("/proc").iterdir())
    yield from (row for kind in CLIENTS for row in served(kind))
    yield "(conditions)", f"{os.cpu_count()} CPUs; {processes} processes"


def comparison(observer: Observer, subject: Subject, off: set[str]) -> str:
    """The two figures of an observer in one line; its name is added to `off` where they differ by more than the factor."""
    host = Local()
    reason = observer.available(host)
    if reason is not None:
        return f"not available: {reason}"
    try:
        measured = look_s(observer, host, subject)
    except (AssayError, OSError) as error:
        return f"not measured: {error}"
    if is_off(observer.cost, measured):
        off.add(observer.name)
    mark = " **off by more than a factor of 3**" if observer.name in off else ""
    return f"{readable(measured)} CPU per look; declared: {observer.cost}{mark}"


def is_off(cost: str, measured_s: float) -> bool:
    """True if no declared figure is within the factor."""
    declared = [float(number) * UNITS[unit] for number, unit in DECLARED.findall(cost)]
    return not any(abs(math.log(measured_s / one)) <= math.log(FACTOR) for one in declared)


def look_s(observer: Observer, host: Local, subject: Subject) -> float:
    """Median CPU seconds of a look."""
    if observer.beside is None:
        return median_s(lambda: observer.read(host, subject), lambda: 0.0)
    beside, process = observer.beside, host.spawn(observer.beside.argv(host, subject))
    try:
        return median_s(lambda: {**observer.read(host, subject), **beside.read(host, process)}, lambda: companion_s(process.pid))
    finally:
        process.kill()
        process.wait(10.0)


def median_s(look: Callable[[], object], companion: Callable[[], float]) -> float:
    """Median of several rounds; the first look is not counted: it opens files that stay open."""
    look()
    return statistics.median(round_s(look, companion) for _ in range(ROUNDS))


def round_s(look: Callable[[], object], companion: Callable[[], float]) -> float:
    """CPU seconds of a look in one round of many."""
    looks, until_ns, began = 0, time.monotonic_ns() + ROUND_NS, used_s() + companion()
    while looks < LOOKS and time.monotonic_ns() < until_ns:
        look()
        looks += 1
    return (used_s() + companion() - began) / looks


def used_s() -> float:
    """CPU time of this thread and of ended children."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.thread_time() + children.ru_utime + children.ru_stime


def companion_s(pid: int) -> float:
    """CPU time of a running companion."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) * TICK_S


def served(kind: str) -> Iterator[tuple[str, str]]:
    """(target and phase, CPU time of all observers and of each) of one trial."""
    tally, of_phase, roll_call, seen = list[Look](), dict[str, list[Look]](), sampler.roll_call, sampler.Sampler.seen

    def counted_roll_call(host: Host, observers: Iterable[Observer]) -> tuple[tuple[Observer, ...], dict[str, str]]:
        present, missing = roll_call(host, observers)
        return tuple(replace(one, read=counted(one, tally)) for one in present), missing

    def counted_seen(watching: sampler.Sampler, phase: str, t0_ns: int) -> sampler.Seen:
        of_phase[phase] = [(name, at_ns - t0_ns, spent_s) for name, at_ns, spent_s in tally]
        tally.clear()
        return seen(watching, phase, t0_ns)

    sampler.roll_call, sampler.Sampler.seen = counted_roll_call, counted_seen
    try:
        yield from shares(kind, of_phase)
    except AssayError as error:
        yield f"trial of {kind}", f"not run: {error}"
    finally:
        sampler.roll_call, sampler.Sampler.seen = roll_call, seen


def counted(observer: Observer, tally: list[Look]) -> Callable[[Host, Subject], Mapping[str, object]]:
    """The observer's `read`, whose CPU time is noted."""

    def look(host: Host, subject: Subject) -> Mapping[str, object]:
        began_s = used_s()
        try:
            return observer.read(host, subject)
        finally:
            tally.append((observer.name, time.monotonic_ns(), used_s() - began_s))

    return look


def shares(kind: str, of_phase: Mapping[str, Sequence[Look]]) -> Iterator[tuple[str, str]]:
    """Conduct the trial; yield the shares of a CPU in each measured phase. Raises AssayError."""
    built = f'\nserver.program = "{BUILT_SSHD.resolve()}"' if kind == "sftp_openssh" and BUILT_SSHD.exists() else ""
    with tempfile.TemporaryDirectory(dir=Path.cwd(), prefix="bench-") as folder:
        experiment = read.parse(TRIAL % f'kind = "{kind}"{built}\n{CLIENTS[kind]}', "served")
        run, _ = conduct(experiment, plan.plan(experiment), Local(), ProgressMode.NONE, Path(folder))
    if run.outcome is not Outcome.FINISHED:
        yield f"trial of {kind}", f"{run.outcome}: {run.error}"
        return
    for phase in (one for one in run.phases if one.measured):
        spent, lasted_s = Counter[str](), phase.lasted_ns / 1e9
        for name, at_ns, spent_s in of_phase[phase.name]:
            spent[name] += spent_s if phase.start_ns < at_ns <= phase.end_ns else 0
        each = ", ".join(f"{name} {used_in_s / lasted_s:.2%}" for name, used_in_s in spent.most_common(8))
        yield f"{kind}, {phase.name}", f"{sum(spent.values()) / lasted_s:.2%} of a CPU in {lasted_s:.1f} s: {each}"


def readable(seconds: float) -> str:
    """Two digits and a unit."""
    unit = next((name for name, size in reversed(UNITS.items()) if seconds >= size), "ns")
    return f"{seconds / UNITS[unit]:.2g} {unit}" if seconds < 100 * UNITS[unit] else f"{seconds / UNITS[unit]:.0f} {unit}"


if __name__ == "__main__":
    off: set[str] = set()
    first, *names = sys.argv[1:] or [""]
    if first == "served":
        rows = (row for kind in names or CLIENTS for row in served(kind))
    elif unknown := {first, *names} - {"", *catalogue.names("observers")}:
        sys.exit(f"found {', '.join(sorted(unknown))}; expected names of observers, or: served [TARGET...]")
    else:
        rows = looks([first, *names], off) if first else measure()
    for what, figure in rows:
        print(f"{what:16} {figure}", flush=True)
    sys.exit(1 if off else 0)
