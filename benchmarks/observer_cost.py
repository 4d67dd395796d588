"""CPU time of one look of every observer, beside the cost that the observer declares.

In process, as `assay selftest` measures it: the thread's CPU time of up to 300 looks, plus that of the commands that a look runs,
median of five rounds. The subject is this process with one file, its block devices, and this process again as a server with one
data file. A companion such as bpftrace is started for the measurement and its CPU time is included. A row is marked if the
measured cost differs from every declared figure by more than a factor of 3: then correct the declaration or check its condition.
"""

from __future__ import annotations

import math
import os
import re
import resource
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from assay import catalogue
from assay.catalogue import Observer
from assay.errors import AssayError
from assay.hosts.local import Local
from assay.machine import stack
from assay.records import ServerNode, Subject

ROUNDS = 5
LOOKS = 300
ROUND_NS = 300_000_000
FACTOR = 3.0
UNITS = {"ns": 1e-9, "µs": 1e-6, "ms": 1e-3, "s": 1.0}
DECLARED = re.compile(r"([\d.]+) (ns|µs|ms|s) CPU per look")
TICK_S = 1 / os.sysconf("SC_CLK_TCK")


def measure() -> Iterator[tuple[str, str]]:
    """(observer, measured and declared cost)."""
    with tempfile.TemporaryDirectory(dir=Path.cwd(), prefix="bench-") as folder:
        file, pid_file = Path(folder, "data"), Path(folder, "pid")
        file.write_bytes(bytes(1 << 20))
        pid_file.write_text(str(os.getpid()))
        server = ServerNode(pid_file=str(pid_file), data=(str(file),), address="127.0.0.1")
        devices = stack.stack(Local(), folder)
        subject = Subject(pids=(os.getpid(),), paths=(str(file),), directory=folder, devices=devices, server=(server,))
        for name in catalogue.names("observers"):
            yield name, comparison(catalogue.find("observers", name), subject)
    processes = sum(path.name.isdigit() for path in Path("/proc").iterdir())
    yield "(conditions)", f"stack {' > '.join(devices) or 'without a device'}; {os.cpu_count()} CPUs; {processes} processes"


def comparison(observer: Observer, subject: Subject) -> str:
    """The two figures of an observer in one line."""
    host = Local()
    reason = observer.available(host)
    if reason is not None:
        return f"not available: {reason}"
    try:
        measured = look_s(observer, host, subject)
    except (AssayError, OSError) as error:
        return f"not measured: {error}"
    mark = " **off by more than a factor of 3**" if is_off(observer.cost, measured) else ""
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


def readable(seconds: float) -> str:
    """Two digits and a unit."""
    unit = next((name for name, size in reversed(UNITS.items()) if seconds >= size), "ns")
    return f"{seconds / UNITS[unit]:.2g} {unit}" if seconds < 100 * UNITS[unit] else f"{seconds / UNITS[unit]:.0f} {unit}"


if __name__ == "__main__":
    for what, figure in measure():
        print(f"{what:16} {figure}")
