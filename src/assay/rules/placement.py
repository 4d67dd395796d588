"""Says where the work was badly placed: memory of another node, threads far from their disk, interrupts on one processor.

Evidence: pages that were had from another node than the one that asked, threads of the load that ran on another node than the
disk's, and how the kernel's soft interrupts were spread over the processors. A note: what was measured is true of this placement,
and another one gives another figure. Where a machine has one node and a disk with one queue there is nothing to place.
"""

from __future__ import annotations

from collections.abc import Iterator

from assay import measures
from assay.catalogue import Case, Rule, TrialCase
from assay.evidence import ladder
from assay.records import Finding, Path, Scope, Severity, State
from assay.rulekit.findings import found

NETWORK = ("nfs", "cifs", "smb", "9p", "ceph", "lustre")
WORDS = {"block": "the disk's completions", "net_rx": "the packets that came in"}


def applies(case: Case) -> str | None:
    """Machines on which work can be here or there."""
    assert isinstance(case, TrialCase)
    nodes, queues, cpus = largest(case, "nodes"), largest(case, "queues"), processors(case)
    if nodes is None:
        return None
    few = cpus is not None and cpus <= case.thresholds["busiest_times"]
    several = nodes > 1 or over_network(case) or (queues or 0) > 1
    if not several:
        return "one memory node, and no device with more than one queue: there is nothing to place"
    return f"one memory node and {cpus:.0f} processors: nothing can pile up" if nodes <= 1 and few else None


def check(case: Case) -> Finding:
    """What was far away, and what piled up."""
    assert isinstance(case, TrialCase)
    observed: dict[str, float | str | None] = {"nodes": largest(case, "nodes"), "remote_share": remote(case)}
    wrong = [*far(case), *piled(case, observed)]
    if not wrong:
        said = "Memory, threads and interrupts were where they belong."
        return found(RULE, case, State.PASS, said, observed=observed, threshold={**case.thresholds})
    return found(
        RULE,
        case,
        State.FAIL,
        f"The work was not where it belongs: {'; '.join(wrong)}. Another placement gives another figure.",
        observed=observed,
        threshold={**case.thresholds},
        evidence=("placement:/proc/softirqs, /sys/devices/system/node",),
    )


def far(case: TrialCase) -> Iterator[str]:
    """Memory and threads on another node."""
    share = remote(case)
    if share is not None and share > case.thresholds["remote_share"]:
        yield f"{measures.percent(share)} of the memory that was asked for came from another node"
    for series in case.observations.over_time(case.phase.name, "placement", "far_threads"):
        away = ladder.value_after(series, case.phase.end_ns)
        if away:
            yield f"{away:.0f} threads ran on another node than that of {series.subject.partition(':')[2]}"


def piled(case: TrialCase, observed: dict[str, float | str | None]) -> Iterator[str]:
    """Soft interrupts of which one processor did several times its share, where they could have been spread."""
    ways = min(processors(case) or 1.0, sum(client.workers for client in case.phase.clients))
    each = {"block": min(ways, largest(case, "queues") or 1.0), "net_rx": ways if over_network(case) else 1.0}
    for kind, words in WORDS.items():
        every, busiest = risen(case, f"{kind}_softirqs"), risen(case, f"busiest_{kind}_softirqs")
        if every is None or busiest is None or every < case.thresholds["least_interrupts"]:
            continue
        times = busiest * each[kind] / every
        observed[f"busiest_{kind}_times"] = times
        if times > case.thresholds["busiest_times"]:
            yield f"one processor had {measures.percent(busiest / every)} of {words}, {times:.3g} times its share"


def remote(case: TrialCase) -> float | None:
    """Share of the pages that came from another node; None where it was not counted, or none was asked for."""
    pages = [risen(case, metric) for metric in ("local_pages", "remote_pages")]
    known = [count for count in pages if count is not None]
    return known[1] / sum(known) if len(known) == len(pages) and sum(known) > 0 else None


def over_network(case: TrialCase) -> bool:
    """Whether what was measured came over an interface."""
    return case.claim.path is Path.WIRE or any((place.filesystem or "").startswith(NETWORK) for place in case.run.places)


def processors(case: TrialCase) -> float | None:
    """How many processors the host has; of several hosts the most."""
    every = case.observations.over_time(case.phase.name, "cpu", "cpus")
    return max((max(series.value) for series in every if series.value), default=None)


def largest(case: TrialCase, metric: str) -> float | None:
    """The highest value of a gauge."""
    every = case.observations.over_time(case.phase.name, "placement", metric)
    return max((max(series.value) for series in every if series.value), default=None)


def risen(case: TrialCase, metric: str) -> float | None:
    """By how much a count rose between the looks that enclose the clock."""
    every = [*case.observations.over_time(case.phase.name, "placement", metric)]
    return sum(ladder.rise(series, case.phase.start_ns, case.phase.end_ns) for series in every) if every else None


RULE = Rule(
    id="N04",
    name="placement",
    scope=Scope.TRIAL,
    severity=Severity.NOTES,
    part="noise",
    needs=("placement.nodes", "cpu.cpus"),
    applies=applies,
    check=check,
    wrong="On a machine with two sockets a program may run on the one and have its memory and its disk on the other; all packets "
    "may be taken by one processor. The scheduler decides anew at each start, so that the same test has two or three "
    "different results, and nobody knows why (S03 finds the groups).",
    alternatives=(
        "The counters are of the whole machine: another program may have had the far memory, or the interrupts.",
        "A disk whose queues are served by the processor that asks has its completions where its clients run: see how many did.",
    ),
    advice="Pin the load to the node of the disk (knob cpus; numactl --cpunodebind --membind), look at the interrupts"
    " (/proc/interrupts, irqbalance), and write the placement down; or leave it to chance and repeat often enough.",
    sources=(
        "Linux: admin-guide/numastat.rst; networking/scaling.rst",
        "Lepers et al., USENIX ATC 2015: thread and memory placement on NUMA systems",
    ),
)
