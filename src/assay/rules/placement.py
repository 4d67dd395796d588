"""Finds poor placement: memory of another node, threads far from their disk, interrupts on one CPU.

The observer `placement` counts pages by node, soft interrupts by CPU, and reads the CPUs of the load's threads.
- Pages from another node above `remote_share`.
- Threads of the load on another node than the lowest disk.
- One CPU handled more than `busiest_times` its share of the disk's (or under a wire claim the network's) soft interrupts, of at
  least `least_interrupts`.

It is always a note: the figure is true for this placement. A share counts CPUs, workers and queues, whichever are fewest.
A machine with one node and no device with several queues, or with few CPUs, is n/a.
"""

from __future__ import annotations

from collections.abc import Iterator

from assay import measures
from assay.catalogue import Rule, TrialCase
from assay.evidence import ladder
from assay.records import Finding, Path, Scope, Severity, State
from assay.rulekit.findings import found

NETWORK = ("nfs", "cifs", "smb", "9p", "ceph", "lustre")
WORDS = {"block": "the disk's completions", "net_rx": "the received packets"}


def applies(case: TrialCase) -> str | None:
    """Machines on which work can be here or there."""
    nodes, queues, cpus = largest(case, "nodes"), largest(case, "queues"), processors(case)
    if nodes is None:
        return None
    few = cpus is not None and cpus <= case.thresholds["busiest_times"]
    several = nodes > 1 or over_network(case) or (queues or 0) > 1
    if not several:
        return "one memory node, and no device with several queues"
    return f"one memory node and {cpus:.0f} CPUs" if nodes <= 1 and few else None


def check(case: TrialCase) -> Finding:
    """What was far away, and what piled up."""
    observed: dict[str, float | str | None] = {"nodes": largest(case, "nodes"), "remote_share": remote(case)}
    wrong = [*far(case), *piled(case, observed)]
    if not wrong and (unknown := [*uncounted(case)]):
        return found(RULE, case, State.UNVERIFIED, f"Not counted: {', '.join(unknown)}.", observed=observed)
    if not wrong:
        return found(RULE, case, State.PASS, "Memory, threads and interrupts well placed.", observed=observed)
    return found(
        RULE,
        case,
        State.FAIL,
        f"Poor placement: {'; '.join(wrong)}. Another placement gives another figure.",
        observed=observed,
        evidence=("placement:/proc/softirqs, /sys/devices/system/node",),
    )


def uncounted(case: TrialCase) -> Iterator[str]:
    """What could be far away or pile up here, and was not counted."""
    if (largest(case, "nodes") or 1) > 1 and None in (risen(case, "local_pages"), risen(case, "remote_pages")):
        yield "memory by node"
    spread = {"block": (largest(case, "queues") or 1) > 1, "net_rx": over_network(case)}
    for kind in WORDS:
        if spread[kind] and None in (risen(case, f"{kind}_softirqs"), risen(case, f"busiest_{kind}_softirqs")):
            yield f"{kind} soft interrupts by CPU"


def far(case: TrialCase) -> Iterator[str]:
    """Memory and threads on another node."""
    share = remote(case)
    if share is not None and share > case.thresholds["remote_share"]:
        limit = measures.percent(case.thresholds["remote_share"])
        yield f"{measures.percent(share)} of the allocated memory came from another node (limit {limit})"
    for series in case.observations.over_time(case.phase.name, "placement", "far_threads"):
        away = ladder.value_after(series, case.phase.end_ns)
        if away:
            yield f"{away:.0f} threads ran on another node than {series.subject.partition(':')[2]}"


def piled(case: TrialCase, observed: dict[str, float | str | None]) -> Iterator[str]:
    """Soft interrupts of which one CPU did several times its share, though they could have been spread."""
    ways = min(processors(case) or 1.0, sum(client.workers for client in case.phase.clients))
    each = {"block": min(ways, largest(case, "queues") or 1.0), "net_rx": ways if over_network(case) else 1.0}
    for kind, words in WORDS.items():
        every, busiest = risen(case, f"{kind}_softirqs"), risen(case, f"busiest_{kind}_softirqs")
        if every is None or busiest is None or every < case.thresholds["least_interrupts"]:
            continue
        times = busiest * each[kind] / every
        observed[f"busiest_{kind}_times"] = times
        if times > case.thresholds["busiest_times"]:
            yield f"one CPU handled {measures.percent(busiest / every)} of {words}, {times:.3g} times its share"


def remote(case: TrialCase) -> float | None:
    """Share of the pages that came from another node; None where it was not counted, or none was asked for."""
    here, there = (risen(case, metric) for metric in ("local_pages", "remote_pages"))
    return there / (here + there) if here is not None and there is not None and here + there > 0 else None


def over_network(case: TrialCase) -> bool:
    """Whether what was measured came over an interface."""
    return case.claim.path is Path.WIRE or any((place.filesystem or "").startswith(NETWORK) for place in case.run.places)


def processors(case: TrialCase) -> float | None:
    """Number of CPUs of the host; the most of several hosts."""
    every = case.observations.over_time(case.phase.name, "cpu", "cpus")
    return max((max(series.value) for series in every if series.value), default=None)


def largest(case: TrialCase, metric: str) -> float | None:
    """The highest value of a gauge."""
    every = case.observations.over_time(case.phase.name, "placement", metric)
    return max((max(series.value) for series in every if series.value), default=None)


def risen(case: TrialCase, metric: str) -> float | None:
    """By how much a count rose between the looks that enclose the clock."""
    every = [*case.observations.over_time(case.phase.name, "placement", metric)]
    return ladder.rises(every, case.phase.start_ns, case.phase.end_ns)


RULE = Rule(
    id="N04",
    name="placement",
    scope=Scope.TRIAL,
    severity=Severity.NOTES,
    part="noise",
    needs=("placement.nodes", "cpu.cpus"),
    applies=applies,
    check=check,
    wrong="On a machine with two sockets a program may run on one and have its memory and disk on the other. One CPU may "
    "handle all packets. The scheduler decides anew at each start, so the same test has two or three results without a visible "
    "cause (S03 finds the groups).",
    alternatives=(
        "The counters include the whole machine: another program may own the remote memory or the interrupts.",
        "A disk with a queue per CPU completes requests where its clients run. Check the number of clients.",
    ),
    advice="Pin the load to the node of the disk (knob cpus; numactl --cpunodebind --membind), check the interrupts "
    "(/proc/interrupts, irqbalance), and record the placement. Or leave it to chance and repeat often enough.",
    at_shell="Pin the command to the node of the disk (numactl --cpunodebind --membind), or repeat often enough.",
    sources=(
        "Linux: admin-guide/numastat.rst; networking/scaling.rst",
        "Lepers et al., USENIX ATC 2015: thread and memory placement on NUMA systems",
    ),
)
