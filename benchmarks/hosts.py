"""Hosts: how far apart clients on 8 and 30 far machines start, what is known of their clocks, deaths, and what it all costs.

Far machines are namespaces on this machine with an sshd and a clock of their own, so that starts and clocks are held against the
truth. All of them share its CPUs: a real fleet is faster. The load average of the machine is a row, as others may use it.
Starts: clients of the engine `null` with a think time of 1 ms, armed and started by the parts that every trial uses. The skew is
the time from the first client's start to the last one's, by the true clocks. Deaths and costs: whole runs of `assay run`.

    python benchmarks/hosts.py [PART...]
"""

from __future__ import annotations

import contextlib
import os
import statistics
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import hosts_runs
from hosts_runs import Rows, machines, ms

from assay.hosts.commands import ENGINE
from assay.laboratory import hosts as reached
from assay.laboratory.session import own_ledger
from assay.machine.engine_file import engine_path
from assay.records import HostSpec
from assay.trial import clocks
from assay.trial.clients import Crew
from assay.trial.dialogue import Dialogue
from assay.trial.fleet import Station
from assay.trial.rendezvous import Rendezvous, Stage
from stage.far_machines import Fleet

STARTS = 20
LASTS_S = 0.5
LIMIT_NS = 60 * 10**9
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


def starts(count: int, via: str) -> Rows:
    """Clients on so many far machines, started again and again."""
    with machines(count) as fleet, home(fleet.home), own_ledger() as ledger:
        began_ns = time.monotonic_ns()
        with reached.opened(specs(fleet, via), ledger, engine_path()) as hosts:
            connected_s = (time.monotonic_ns() - began_ns) / 1e9
            truth = {name: machine.offset_ns for name, machine in zip(hosts, fleet, strict=True)}
            stations = [Station(host=host, undo=ledger.on(host), scratch="", engine=ENGINE) for host in hosts.values()]
            seen = started(stations, truth)
    label = f"{count} hosts by {via}"
    within = sum(error <= bound for error, bound in zip(seen.errors, seen.bounds, strict=True))
    yield f"{label}: skew of {len(seen.skews)} starts", f"median {ms(middle(seen.skews))}, p90 {ms(p90(seen.skews))}"
    yield f"{label}: connected, then armed", f"{connected_s:.1f} s, then {seen.armed_ns / 1e9:.2f} s"
    yield f"{label}: true offset within the bound", f"{within} of {len(seen.errors)}; {seen.late} clients late"
    for what, values in (("error", seen.errors), ("bound", seen.bounds)):
        yield f"{label}: {what} of a clock", f"median {ms(middle(values))}, p90 {ms(p90(values))}, largest {ms(max(values))}"


def specs(fleet: Fleet, via: str) -> list[HostSpec]:
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
        dialogue.drive(Stage.READY, Stage.ENDED)
        with dialogue.kept():
            for number in range(STARTS):
                configs = [{**CONFIG, "client": index, "clients": len(stations)} for index in range(len(stations))]
                dialogue.obey(rendezvous.arm(f"start {number}", configs, LIMIT_NS, time.monotonic_ns()))
                dialogue.drive(Stage.ARMED, Stage.ENDED)
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
    if dialogue.drive(Stage.ENDED) is not Stage.ENDED or rendezvous.failures:
        raise SystemExit(f"clients failed: {rendezvous.failures}")
    after = clocks.compare(everywhere)
    courses = {name: clocks.course(before[name], after[name], rendezvous.start_ns or 0) for name in before}
    ours = [result["started_ns"] - truth[rendezvous.hosts[client]] for client, result in rendezvous.results.items()]
    seen.skews.append(max(ours) - min(ours))
    seen.errors += [abs(one.offset_ns - truth[name]) for name, one in courses.items()]
    seen.bounds += [one.error_ns for one in courses.values()]
    seen.late += len(rendezvous.late)


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


PARTS: dict[str, Callable[[], Rows]] = {
    "ssh8": lambda: starts(8, "ssh"),
    "dask8": lambda: starts(8, "dask"),
    "ssh30": lambda: starts(30, "ssh"),
    "dask30": lambda: starts(30, "dask"),
    "deaths": hosts_runs.deaths,
    "cut": hosts_runs.cut,
    "controller": hosts_runs.controller,
    "flood": hosts_runs.flood,
    "idle": hosts_runs.idle,
}

if __name__ == "__main__":
    for what, figure in measure():
        print(f"| {what} | {figure} |", flush=True)
