"""Names a CPU as the limit of a network load: both ends and their soft interrupts, added up for each CPU.

The rule reads each CPU's busy time (/proc/stat), without the time that a hypervisor took. It adds the time of both ends' threads
on that CPU, and the CPU's soft interrupts.
- A CPU busy for `busy_share`, at least `own_share` of it with an end or its packets: that CPU was the limit.
- Else the busiest thread of an end that ran for `thread_share` of the time it could have: that thread was the limit.

A thread counts for the CPU that it ran on at each look. Without the account by CPU, or in less than `seconds`, it is unverified.
It is a note: the figure is right, and describes CPUs instead of the network.
"""

from __future__ import annotations

from assay import measures
from assay.catalogue import About, Rule, TrialCase
from assay.evidence import served
from assay.measures import coherence
from assay.records import Finding, Scope, Severity, State
from assay.rulekit import end_cpus
from assay.rulekit.end_cpus import LOAD, SERVER, EndsOfCpu, busiest_thread, cpus_of
from assay.rulekit.findings import found

NAMED_SHARE = 0.1
"""An end with less of a CPU is not named with it."""


def applies(case: TrialCase) -> str | None:
    """Loads that reach a server by an address. A reader that looks until it sees something waits for the server by running."""
    if coherence.in_turn(case.phase):
        return "a writer and a reader, which act in turn"
    server = served.server(case.run)
    return None if server is not None and server.addresses else "the target names no address of a server"


def check(case: TrialCase) -> Finding:
    """The busiest CPU of the ends, else the busiest thread, against the limits."""
    seconds, cpus = case.phase.lasted_ns / 1e9, [*cpus_of(case)]
    if seconds < case.thresholds["seconds"]:
        return found(RULE, case, State.UNVERIFIED, f"{seconds:.2g} s are too short for the time of each CPU. Run longer.")
    if not cpus:
        return found(RULE, case, State.UNVERIFIED, "Time of the ends on each CPU unknown.")
    limits, busiest = case.thresholds, max(cpus, key=lambda one: one.busy)
    full = end_cpus.full(case, cpus)
    observed = {f"{one.name} busy_share": one.busy for one in cpus} | {
        f"{one.name} {part}": share for one in cpus for part, share in one.parts.items()
    }
    if full:
        words = "; ".join(map(str, full))
        return limited(case, f"{words} (limit {measures.percent(limits['busy_share'])})", label(full), observed)
    name, thread = busiest_thread(case)
    observed["busiest_thread_share"] = thread
    if thread >= limits["thread_share"]:
        words = f"A thread of {name} ran for {measures.percent(thread)} of the time that it could"
        limit = measures.percent(limits["thread_share"])
        return limited(case, f"{words} (limit {limit})", f"limited by one thread of {name}", observed)
    if busiest.busy >= limits["busy_share"] and not accounted(case):
        statement = f"{busiest}; whose time that was is not known."
        return found(RULE, case, State.UNVERIFIED, statement, observed=observed)
    if end_cpus.without_time(case):
        statement = f"{busiest}; CPU time of the ends' threads unknown."
        return found(RULE, case, State.UNVERIFIED, statement, observed=observed)
    others = ", mostly with other programs" if busiest.busy >= limits["busy_share"] else ""
    statement = f"{busiest}{others}; busiest thread of an end {measures.percent(thread)}: no CPU of an end was the limit."
    return found(RULE, case, State.PASS, statement, observed=observed)


def accounted(case: TrialCase) -> bool:
    """Whether the time of the ends and of soft interrupts on each CPU was counted."""
    seen = case.observations.over_time
    return all(any(seen(case.phase.name, "end_cpu", metric)) for metric in ("run_ns", "soft_ns"))


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
