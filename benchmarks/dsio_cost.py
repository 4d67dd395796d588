"""What `assay dsio` adds to a directory server: server CPU time of an operation, with the program and without, in pairs.

A private slapd and a private 389 Directory Server with 4,000 people answer one client on the loopback, one request at a time.
Each pair is a run with and a run without the program in an order drawn by lot; the figure is user and system time of the server
over the operations of the run. Searches are cached. The wanted bound is 15 % a search without `-l`, so these have five times the
pairs. Given are the geometric mean of the ratios with its 95 % interval, and the median of the added time. Wall time is not used;
other work on the machine inflates both of a pair. The row "undisturbed" has slapd and its client on one CPU at
real-time priority, so that no other work comes between them, and the lower quartile of stretches of 100 searches.
"""

from __future__ import annotations

import contextlib
import math
import os
import random
import statistics
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

from assay.catalogue import Beside
from assay.hosts.local import Local
from assay.machine import bpftrace, dsio_program, dsio_server
from assay.records import Subject
from assay.sampler import Companion, companion
from assay.statistics.contrast import interval, paired_ratio
from assay.undo.ledger import Ledger

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))
from stage import dsio_stage

PAIRS = int(os.environ.get("PAIRS", "12"))
JUDGED = ("search", False)
"""What has a bound: kind, and whether with `-l`."""
JUDGED_TIMES = 5
SEARCHES, MODIFIES = 6000, 300
STRETCH, PRIORITY = 100, 10
TICK_US = 1e6 / os.sysconf("SC_CLK_TCK")
HOST = Local()


def measure() -> Iterator[tuple[str, str]]:
    """(what, figure)."""
    with tempfile.TemporaryDirectory(dir="/var/tmp", prefix="assay-bench-") as folder:
        home = Path(folder)
        home.chmod(0o755)
        for name, make, lacking in (
            ("slapd", dsio_stage.slapd, dsio_stage.NO_SLAPD),
            ("ns-slapd", dsio_stage.ns_slapd, dsio_stage.NO_389),
        ):
            if lacking or dsio_stage.WHY_NOT:
                yield name, f"not measured: {lacking or dsio_stage.WHY_NOT}"
                continue
            (home / name).mkdir()
            server = make(home / name)
            try:
                yield from of_server(name, server, home)
            finally:
                server.stop()
    yield "(conditions)", f"load average {os.getloadavg()[0]:.1f}; {os.cpu_count()} CPUs"


def of_server(name: str, server: dsio_stage.Server, home: Path) -> Iterator[tuple[str, str]]:
    """The figures of one server."""
    work: tuple[tuple[str, int, Callable[[dsio_stage.Client, int], object]], ...] = (
        ("search", SEARCHES, lambda client, number: client.search(number % dsio_stage.PEOPLE)),
        ("modify", MODIFIES, lambda client, number: client.modify(number, f"value {random.random()}")),
    )
    if name == "slapd":  # threads of ns-slapd wait in loops, which at real-time priority keep all others off the CPU
        ratios = [*pairs(server, home, False, lambda: undisturbed_us(server, work[0][2]), 2 * PAIRS)]
        of = f"{name}, search, undisturbed, {2 * PAIRS} pairs"
        yield of, summary([pair[0] for pair in ratios], [pair[1] for pair in ratios])
    for codes in (False, True):
        for kind, count, one in work:
            number = PAIRS * (JUDGED_TIMES if (kind, codes) == JUDGED else 1)
            ratios = [*pairs(server, home, codes, lambda one=one, count=count: cpu_us(server, count, one), number)]
            yield (
                f"{name}, {kind}{' with -l' if codes else ''}, {number} pairs",
                summary([pair[0] for pair in ratios], [pair[1] for pair in ratios]),
            )


def pairs(
    server: dsio_stage.Server,
    home: Path,
    codes: bool,  # noqa: FBT001 - what is measured
    run: Callable[[], float],
    number: int,
) -> Iterator[tuple[float, float]]:
    """CPU time of an operation without and with the program."""
    run()
    for index in range(number):
        found: dict[bool, float] = {}
        for traced in random.sample((False, True), 2):
            ledger = Ledger(home / f"ledger-{server.software}-{codes}-{index}-{traced}-{random.random()}")
            running = begun(server, codes, ledger) if traced else None
            try:
                found[traced] = run()
            finally:
                if running is not None:
                    running.end()
                ledger.close()
        yield found[False], found[True]


def begun(server: dsio_stage.Server, codes: bool, ledger: Ledger) -> Companion:  # noqa: FBT001 - what is measured
    """The program of a server, running."""
    text = dsio_program.program(HOST, dsio_server.server(HOST, server.process.pid), codes=codes)
    return companion(HOST, ledger, Beside(argv=lambda _host, _subject: bpftrace.argv(text), read=bpftrace.counts), Subject())


def cpu_us(server: dsio_stage.Server, count: int, one: Callable[[dsio_stage.Client, int], object]) -> float:
    """The server's CPU time of one operation."""
    with server.client() as client:
        client.bind()
        before = server_us(server.process.pid)
        for number in range(count):
            one(client, number)
        return (server_us(server.process.pid) - before) / count


def undisturbed_us(server: dsio_stage.Server, one: Callable[[dsio_stage.Client, int], object]) -> float:
    """The server's CPU time of one operation while nothing else runs on its CPU."""
    found = []
    with alone(server.process.pid), server.client() as client:
        client.bind()
        for begin in range(0, SEARCHES // 2, STRETCH):
            before = server_us(server.process.pid)
            for number in range(begin, begin + STRETCH):
                one(client, number)
            found.append((server_us(server.process.pid) - before) / STRETCH)
    return statistics.quantiles(found, n=4)[0]


@contextlib.contextmanager
def alone(pid: int) -> Iterator[None]:
    """Server and client on the last CPU, before all other work there; threads that the server starts go with it."""
    every = os.sched_getaffinity(0)
    place(pid, {max(every)}, os.SCHED_FIFO, PRIORITY)
    try:
        yield
    finally:
        place(pid, every, os.SCHED_OTHER, 0)


def place(pid: int, cpus: set[int], policy: int, priority: int) -> None:
    """Move the threads of the server and this one."""
    for task in (0, *(int(one.name) for one in Path(f"/proc/{pid}/task").iterdir())):
        with contextlib.suppress(ProcessLookupError):
            os.sched_setaffinity(task, cpus)
            os.sched_setscheduler(task, policy, os.sched_param(priority))


def server_us(pid: int) -> float:
    """User and system time of a process: its threads' run time, to the nanosecond."""
    tasks = Path(f"/proc/{pid}/task")
    return sum(int((task / "schedstat").read_text().split()[0]) for task in tasks.iterdir()) / 1e3


def summary(without: list[float], watched: list[float]) -> str:
    """Ratio with interval, and the added time."""
    contrast = paired_ratio(without, watched)
    low, high = interval(contrast, 0.95)
    added = statistics.median(after - before for before, after in zip(without, watched, strict=True))
    base = statistics.median(without)
    return (
        f"x {math.exp(contrast.difference):.3f} ({math.exp(low):.3f} to {math.exp(high):.3f}), +{added:.1f} µs of {base:.0f} µs"
    )
