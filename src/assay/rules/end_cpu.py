"""Names a CPU as the limit of a network load: both ends and their soft interrupts, added up for each CPU.

The rule reads each CPU's busy time (/proc/stat), without the time that a hypervisor took. It adds the time of both ends' threads
on that CPU, and the CPU's soft interrupts.
- A CPU busy for `busy_share`, at least `own_share` of it with an end or its packets: that CPU was the limit.
- Else the busiest thread of an end that ran for `thread_share` of the time it could have: that thread was the limit.

A thread counts for the CPU that it ran on at each look. Without the account by CPU, or in less than `seconds`, it is unverified.
It is a note: the figure is right, and describes CPUs instead of the network.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from assay import measures
from assay.catalogue import About, Rule, TrialCase
from assay.evidence import ladder, served
from assay.measures.cost import processor_ns
from assay.records import Client, Finding, Observations, Scope, Series, Severity, State
from assay.rulekit.findings import found

LAYER = "end_cpu"
LOAD, SERVER, SOFT = "the load", "the server", "soft interrupts"
NAMED_SHARE = 0.1
"""An end with less of a CPU is not named with it."""


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


def applies(case: TrialCase) -> str | None:
    """Loads that reach a server by an address."""
    server = served.server(case.run)
    return None if server is not None and server.addresses else "the target names no address of a server"


def check(case: TrialCase) -> Finding:
    """The busiest CPU of the ends, else the busiest thread, against the limits."""
    seconds, cpus = (case.phase.end_ns - case.phase.start_ns) / 1e9, [*cpus_of(case)]
    if seconds < case.thresholds["seconds"]:
        return found(RULE, case, State.UNVERIFIED, f"{seconds:.2g} s are too short for the time of each CPU. Run longer.")
    if not cpus:
        return found(RULE, case, State.UNVERIFIED, "Time of the ends on each CPU unknown.")
    limits, busiest = case.thresholds, max(cpus, key=lambda one: one.busy)
    full = [one for one in cpus if one.busy >= limits["busy_share"] and one.own >= limits["own_share"]]
    observed = {f"{one.name} busy_share": one.busy for one in cpus} | {
        f"{one.name} {part}": share for one in cpus for part, share in one.parts.items()
    }
    if full:
        words = "; ".join(map(str, full))
        return limited(case, f"{words} (limit {measures.percent(limits['busy_share'])})", label(full), observed)
    name, thread = max(threads(case), key=lambda one: one[1], default=("", 0.0))
    observed["busiest_thread_share"] = thread
    if thread >= limits["thread_share"]:
        words = f"A thread of {name} ran for {measures.percent(thread)} of the time that it could"
        limit = measures.percent(limits["thread_share"])
        return limited(case, f"{words} (limit {limit})", f"limited by one thread of {name}", observed)
    others = ", mostly with other programs" if busiest.busy >= limits["busy_share"] else ""
    statement = f"{busiest}{others}; busiest thread of an end {measures.percent(thread)}: no CPU of an end was the limit."
    return found(RULE, case, State.PASS, statement, observed=observed)


def limited(case: TrialCase, words: str, relabel: str, observed: dict[str, float]) -> Finding:
    """The note that names the limiter."""
    statement = f"{words}: the CPU was the limit, so the network was not."
    return found(RULE, case, State.FAIL, statement, observed=observed, relabel=relabel, detail=words.partition(" (limit")[0])


def label(full: list[EndsOfCpu]) -> str:
    """Which end's CPU it was."""
    ends = [{name for name in (LOAD, SERVER) if one.parts.get(name, 0.0) >= NAMED_SHARE} for one in full]
    if any(len(one) > 1 for one in ends):
        return "limited by a CPU that both ends share" if len(full) == 1 else "limited by the CPUs that both ends share"
    together = set().union(*ends)
    if len(together) > 1:
        return "limited by the CPUs of both ends"
    return f"limited by the CPU of {together.pop()}" if together else "limited by a CPU that serves packets"


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
        if had <= 0:
            continue
        parts = {SOFT: (of_cpu["soft_ns"] or 0.0) / had}
        for name, run in runs_on(case, seen, busy.host, cpu):
            parts[name] = parts.get(name, 0.0) + run / had
        yield EndsOfCpu(
            name=f"CPU {cpu}{f' of {busy.host}' if named else ''}",
            busy=ladder.rise(busy, case.phase.start_ns, case.phase.end_ns) / had,
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
            yield end, ladder.rise(series, case.phase.start_ns, case.phase.end_ns)


def threads(case: TrialCase) -> Iterator[tuple[str, float]]:
    """Which end, and the share of the time that it could run in which its mean or busiest worker ran."""
    for one in (*case.phase.clients, *case.phase.servers):
        lasted = one.last_ns - one.first_ns
        seen = (case.everywhere or case.observations).on(one.host)
        if lasted <= 0 or one.cost is None or case.phase.values:
            continue
        workers = max(1, one.workers)
        waited = sum(rises(case, seen, one, "run_delay_ns")) / workers / lasted
        ran = max(processor_ns(one.cost) / workers, *rises(case, seen, one, "busiest_thread_ns"), 0.0) / lasted
        if ran >= case.thresholds["own_share"]:
            yield SERVER if one in case.phase.servers else LOAD, min(1.0, ran / max(ran, 1.0 - waited))


def rises(case: TrialCase, seen: Observations, client: Client, metric: str) -> list[float]:
    """By how much a counter of a client's process rose under the clock; empty if nobody looked."""
    every: Iterator[Series] = seen.over_time(case.phase.name, "process", metric, f"pid:{client.pid}")
    return [ladder.rise(one, case.phase.start_ns, case.phase.end_ns) for one in every]


RULE = Rule(
    id="L12",
    name="end-cpu",
    scope=Scope.TRIAL,
    severity=Severity.NOTES,
    part="load",
    short="an end's CPU at its limit",
    reads=("end_cpu.busy_ns", "end_cpu.soft_ns", "end_cpu.run_ns", "process.run_delay_ns"),
    applies=applies,
    check=check,
    about=About.ALL_HOSTS,
    wrong="A network tool reports 9 Gbit/s over a link of 25. Sender, receiver and the soft interrupts of the card share one "
    "CPU, which is never idle. The link is called slow; another placement of the same programs doubles the figure.",
    alternatives=(
        "A polling end (busy_poll, DPDK) uses its CPU although it waits. Halve the load and compare.",
        "Two threads of one core count as two CPUs. From half on such a pair may be at its limit.",
        "Other programs use the CPU (N03). Their time is not the ends', and the finding says so.",
    ),
    advice="Put the ends on CPUs of their own (placement = different, or cpus and server_cpus), add connections and workers, "
    "or use larger messages. Report the figure as one of these CPUs, with the CPU time per GB.",
    sources=(
        "netperf manual: CPU utilization and service demand of both ends",
        "measured: the same load 0.56 GB/s on different CPUs, 1.10 GB/s on one CPU",
    ),
)
