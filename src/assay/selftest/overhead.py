"""`assay selftest` alone: what a look of each observer, the engine's empty loop and the start of 16 clients cost here."""

from __future__ import annotations

import os
import resource
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from assay import catalogue, measures
from assay.answer.wording.load import counted
from assay.catalogue import Observer, ObserverScope
from assay.errors import MissingError, TrialError
from assay.experiment import single
from assay.hosts.local import Local
from assay.laboratory.session import conduct, own_ledger
from assay.machine import stack
from assay.machine.engine_file import engine_path
from assay.records import Outcome, Subject
from assay.terminal.output import Row, deliver, table
from assay.terminal.progress import SECOND_NS, ProgressMode
from assay.trial.clients import Crew
from assay.trial.fleet import Station
from assay.units import Unit

LOOKS = 300
MOST_NS = SECOND_NS
"""An observer that is slower is looked with less often."""
NULL_OPS = 5_000_000
CLIENTS = 16
HELLO_S = 20.0


@dataclass(frozen=True, kw_only=True)
class LookCost:
    """What looking with one observer costs; why it cannot where it cannot."""

    observer: str
    looks: int = 0
    cpu_ns: float = 0
    """Processor time of one look."""
    every_s: float | None = None
    """How often it looks while a load runs; None where at its edges only."""
    obstacle: str | None = None

    @property
    def share(self) -> float | None:
        """Of one processor while a load runs; None where it looks at the edges only."""
        return None if self.every_s is None or self.obstacle else self.cpu_ns / SECOND_NS / self.every_s


@dataclass(frozen=True, kw_only=True)
class Start:
    """What starting the clients costs."""

    elapsed_ns: int
    """From the first to the hello of the last, with what is written down to undo each."""
    cpu_ns: int
    """Of ours and of theirs, to the end of the last."""


@dataclass(frozen=True, kw_only=True)
class LabCost:
    """What the lab costs on this machine."""

    looks: tuple[LookCost, ...]
    null: dict[str, float | None]
    """The figures of `measures.costs` of the engine's loop without a system call."""
    start: Start


def measure_overhead(*, json_to: str | None) -> int:
    """Measure and print. Raises MissingError without an engine, TrialError where it does not run."""
    with tempfile.TemporaryDirectory(prefix="assay-selftest-") as directory:
        looks = tuple(look_costs(directory))
    found = LabCost(looks=looks, null=null_loop(), start=started())
    deliver(json_to, "selftest", lambda: plain(found), lambda: text(found))
    return 0


def look_costs(directory: str) -> Iterator[LookCost]:
    """Look with each observer at this process, a file in the directory, and its devices."""
    host, file = Local(), Path(directory, "data")
    file.write_bytes(bytes(1 << 20))
    devices = stack.stack(host, directory)
    subject = Subject(pids=(os.getpid(),), paths=(str(file),), directory=directory, devices=devices)
    for observer in (catalogue.find("observers", name) for name in catalogue.names("observers")):
        yield look(observer, host, subject)


def look(observer: Observer, host: Local, subject: Subject) -> LookCost:
    """The processor time of many looks, each as a look's part."""
    every_s = observer.every_s if observer.scope is ObserverScope.PHASE else None
    if (obstacle := observer.available(host)) is not None:
        return LookCost(observer=observer.name, obstacle=obstacle)
    if observer.beside is not None:
        return LookCost(
            observer=observer.name, obstacle=f"samples during a phase only. Run assay selftest --observers {observer.name}"
        )
    try:
        observer.read(host, subject)  # the first opens what stays open
        began_ns, looks = time.thread_time_ns(), 0
        until_ns = time.monotonic_ns() + MOST_NS
        while looks < LOOKS and time.monotonic_ns() < until_ns:
            observer.read(host, subject)
            looks += 1
    except (MissingError, OSError) as error:
        return LookCost(observer=observer.name, obstacle=str(error))
    cpu_ns = (time.thread_time_ns() - began_ns) / max(looks, 1)
    return LookCost(observer=observer.name, looks=looks, cpu_ns=cpu_ns, every_s=every_s)


def null_loop() -> dict[str, float | None]:
    """The engine's loop with clock and histogram and without a system call, per operation. Raises TrialError."""
    experiment = single.experiment(single.load_request("null", [f"ops={NULL_OPS}"]), None)
    run, _ = conduct(experiment, single.plan(experiment), Local(), ProgressMode.NONE)
    if run.outcome is Outcome.INTERRUPTED:
        raise KeyboardInterrupt
    if run.outcome is not Outcome.FINISHED:
        raise TrialError(f"empty loop of the engine {run.outcome}: {run.error}")
    return measures.costs(run.phases[0])


def started() -> Start:
    """Start the clients, hear the hello of each, end them. Raises TrialError where one says none."""
    began_ns, cpu_ns, greeted = time.monotonic_ns(), cpu_ns_used(), 0
    with own_ledger() as ledger:
        here = Station(host=Local(), undo=ledger, scratch="", engine=str(engine_path()))
        crew = Crew()
        try:
            crew.spawn([here] * CLIENTS)
            while greeted < CLIENTS:
                heard = crew.hear(HELLO_S)
                if heard is None or heard.message is None:
                    raise TrialError(
                        f"{greeted} of {CLIENTS} clients ready; {heard.reason if heard else 'no more within the time limit'}"
                    )
                greeted += 1
            elapsed_ns = time.monotonic_ns() - began_ns
        finally:
            crew.close()
    return Start(elapsed_ns=elapsed_ns, cpu_ns=cpu_ns_used() - cpu_ns)


def cpu_ns_used() -> int:
    """User and system time of this process and of the children that have ended."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return round(sum(one.ru_utime + one.ru_stime for one in used) * SECOND_NS)


def text(found: LabCost) -> str:
    """For people: the answer first."""
    share = sum(one.share or 0 for one in found.looks)
    loop = nanoseconds(found.null["cpu_ns_per_op"])
    answer = (
        f"observers: {measures.with_unit(share, Unit.SHARE)} of one CPU during a load; engine: {loop} of CPU time per operation"
    )
    rows = [row(one) for one in found.looks]
    engine = f"engine, without a system call: {loop} per operation; {counted(found.null)}"
    start = (
        f"start of {CLIENTS} clients: {nanoseconds(found.start.elapsed_ns)} until all are ready, "
        f"{nanoseconds(found.start.cpu_ns)} of CPU time including their end"
    )
    header = ("observer", "CPU time of a sample", "interval", "share of one CPU", "samples")
    return f"{answer}\n\n{table(header, rows, (1, 2, 3, 4))}\n\n{engine}\n{start}"


def row(one: LookCost) -> Row:
    """One observer."""
    if one.obstacle is not None:
        return Row(cells=(one.observer, "-", "-", "-", "-"), note=one.obstacle)
    every = "start and end" if one.every_s is None else nanoseconds(one.every_s * SECOND_NS)
    share = "-" if one.share is None else measures.with_unit(one.share, Unit.SHARE)
    return Row(cells=(one.observer, nanoseconds(one.cpu_ns), every, share, str(one.looks)))


def nanoseconds(value: float | None) -> str:
    """`12.3 us`; `?` where it is not known."""
    return "?" if value is None else measures.with_unit(value, Unit.NANOSECONDS)


def plain(found: LabCost) -> dict[str, Any]:
    """As JSON: times in nanoseconds, null where unknown."""
    return {
        "observers": [
            {
                "observer": one.observer,
                "obstacle": one.obstacle,
                "looks": one.looks,
                "cpu_ns_per_look": None if one.obstacle else one.cpu_ns,
                "every_s": one.every_s,
                "share_of_a_cpu": one.share,
            }
            for one in found.looks
        ],
        "null": found.null,
        "start": {"clients": CLIENTS, "elapsed_ns": found.start.elapsed_ns, "cpu_ns": found.start.cpu_ns},
    }
