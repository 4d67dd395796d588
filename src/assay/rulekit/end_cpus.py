"""The CPUs of a network load's ends: both ends and their soft interrupts, added up for each CPU, and their busiest threads."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from assay import measures
from assay.catalogue import TrialCase
from assay.evidence import ladder
from assay.measures.cost import processor_ns
from assay.records import Client, Observations, Series

LAYER = "end_cpu"
LOAD, SERVER, SOFT = "the load", "the server", "soft interrupts"


@dataclass(frozen=True, kw_only=True)
class EndsOfCpu:
    """One CPU of a host during a phase, as shares of the time that it had."""

    name: str
    """`CPU 0`, and its host if there are several."""
    busy: float
    parts: dict[str, float] = field(default_factory=dict)
    """LOAD, SERVER and SOFT -> share. Packets that a thread serves itself count in both."""

    @property
    def own(self) -> float:
        """The part of its busy time that belongs to the ends and to packets."""
        return min(1.0, sum(self.parts.values()) / self.busy) if self.busy else 0.0

    def __str__(self) -> str:
        parts = [f"{name} {measures.percent(share)}" for name, share in self.parts.items() if share >= 0.005]
        return f"{self.name} {measures.percent(self.busy)} busy ({', '.join(parts)})"


def full(case: TrialCase, cpus: Iterable[EndsOfCpu]) -> list[EndsOfCpu]:
    """The CPUs at their limit by the case's `busy_share`, at least `own_share` of it with the ends or their packets."""
    limits = case.thresholds
    return [one for one in cpus if one.busy >= limits["busy_share"] and one.own >= limits["own_share"]]


def busiest_thread(case: TrialCase) -> tuple[str, float]:
    """Which end has the busiest thread, and the share of the time that it could run in which it ran."""
    return max(threads(case), key=lambda one: one[1], default=("", 0.0))


def cpus_of(case: TrialCase) -> Iterator[EndsOfCpu]:
    """Each CPU that an end ran on or that served packets, on the load hosts and on the server's."""
    yield from on_hosts(case, case.observations, named=case.run.is_spread)
    if case.beyond is not None:
        yield from on_hosts(case, case.beyond, named=True)


def on_hosts(case: TrialCase, seen: Observations, *, named: bool) -> Iterator[EndsOfCpu]:
    """The CPUs that some evidence is about; `named`: with their host."""
    for busy in seen.over_time(case.phase.name, LAYER, "busy_ns"):
        cpu = busy.subject.partition(":")[2]
        of_cpu = {name: rise_of(case, seen, (busy.host, busy.subject), name) for name in ("total_ns", "stolen_ns", "soft_ns")}
        had = (of_cpu["total_ns"] or 0.0) - (of_cpu["stolen_ns"] or 0.0)
        ran = ladder.rise(busy, case.phase.start_ns, case.phase.end_ns)
        if had <= 0 or ran is None:
            continue
        parts = {SOFT: (of_cpu["soft_ns"] or 0.0) / had}
        for name, run in runs_on(case, seen, busy.host, cpu):
            parts[name] = parts.get(name, 0.0) + run / had
        yield EndsOfCpu(
            name=f"CPU {cpu}{f' of {busy.host}' if named else ''}",
            busy=ran / had,
            parts={name: parts[name] for name in (LOAD, SERVER, SOFT) if name in parts},
        )


def rise_of(case: TrialCase, seen: Observations, of: tuple[str, str], metric: str) -> float | None:
    """By how much a counter of a host's CPU rose under the clock."""
    every = seen.over_time(case.phase.name, LAYER, metric, of[1])
    return next((ladder.rise(one, case.phase.start_ns, case.phase.end_ns) for one in every if one.host == of[0]), None)


def runs_on(case: TrialCase, seen: Observations, host: str, cpu: str) -> Iterator[tuple[str, float]]:
    """Each process of an end that ran on a CPU: which end it is, and its time there (ns)."""
    servers = {one.pid for one in case.phase.servers if one.host == host}
    for series in seen.over_time(case.phase.name, LAYER, "run_ns"):
        kind, _, rest = series.subject.partition(":")
        pid, _, where = rest.partition("@cpu:")
        if series.host == host and where == cpu:
            end = SERVER if kind == "server" or (pid.isdigit() and int(pid) in servers) else LOAD
            yield end, ladder.known_rise(series, case.phase.start_ns, case.phase.end_ns)


def threads(case: TrialCase) -> Iterator[tuple[str, float]]:
    """Which end, and the share of the time that it could run in which its mean or busiest worker ran."""
    for one in (*case.phase.clients, *case.phase.servers):
        lasted = one.until_ns - one.first_ns
        seen = (case.everywhere or case.observations).on(one.host)
        if lasted <= 0 or one.cost is None or case.phase.values:
            continue
        workers = max(1, one.workers)
        waited = sum(rises(case, seen, one, "run_delay_ns")) / workers / lasted
        ran = max(processor_ns(one.cost) / workers, *rises(case, seen, one, "busiest_thread_ns"), 0.0) / lasted
        if ran >= case.thresholds["own_share"]:
            yield SERVER if one in case.phase.servers else LOAD, min(1.0, ran / max(ran, 1.0 - waited))


def without_time(case: TrialCase) -> bool:
    """Whether an end of the lab's own tells no CPU time: then its busiest thread is unknown."""
    return not case.phase.values and any(one.cost is None for one in (*case.phase.clients, *case.phase.servers))


def rises(case: TrialCase, seen: Observations, client: Client, metric: str) -> list[float]:
    """By how much a counter of a client's process rose under the clock; empty if nobody looked at both ends."""
    every: Iterator[Series] = seen.over_time(case.phase.name, "process", metric, f"pid:{client.pid}")
    each = (ladder.rise(one, case.phase.start_ns, case.phase.end_ns) for one in every)
    return [one for one in each if one is not None]
