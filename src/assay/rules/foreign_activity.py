"""Finds other programs that can have changed the figure: on the CPUs, or on the measured device.

The observer `processes` reads every process just before the clock and just after the last operation.
The lab's own processes and kernel threads do not count; exited children count for their parents.
The rule works out the share of its time that the load lost to them at most:
- A CPU that other programs keep busy beside the load shares caches, memory and clock rate with it. It takes at most
  `neighbour_share` of the load's time on a CPU, in proportion to the CPUs that the load leaves and other programs use.
- With more workers than CPUs, or with threads whose waiting was not seen, their share of the CPU time is missing as well.
  That is at most `competitors` times as long as the load was on a CPU: a load that sleeps waits for none.
- Their share of the lowest device's work counts for the time that the load waits for the device. A load without any storage
  request waited for none. Work is bytes, and
  `operation_bytes` for each operation; other programs' operations are those of the idle baseline. Fewer than `least_bytes` do
  not count.
- The bytes of two ends of the lab are known. Other traffic on the load's interface took as much from it, unless the link to the
  server had room for both. The interface of the server's host that the load's bytes passed is judged alike.

On the target's host they are beside its server, where that is observed: they take from the time in which the load waits for it.

Below `noted_share` of the figure it is a pass, up to the experiment's `matters` a note, above it BOUNDED.
If the device is capped (say at 100 MB/s), a disturbance can have cost at most the gap between the result and the cap.
Behind fuse, nfs, smb or 9p the program may be the server: a note.

Noise never invalidates; N02 measures the waiting of the load's threads.
Bytes of a program count only up to the device's bytes beyond the load's own I/O.
Programs in other containers and other machines on the same disk are invisible. Without root the bytes of other users' programs
are unknown.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from assay import measures
from assay.catalogue import About, Rule, TrialCase
from assay.evidence import ladder, served
from assay.measures import connections
from assay.measures.figures import charges_drain
from assay.records import ABSOLUTE, Direction, Finding, HostRole, Rung, Scope, Severity, State
from assay.rulekit import noise
from assay.rulekit.applicability import feels_storage
from assay.rulekit.findings import found
from assay.units import Unit

SERVED = ("fuse", "nfs", "cifs", "smb", "9p", "ceph", "afs", "gluster", "lustre")
"""File systems behind which a program answers that may run on this very machine."""
WAYS = (Direction.READ, Direction.WRITE)
MOST_NAMED = 3
TINY = 1e-3


@dataclass(frozen=True, kw_only=True)
class OtherProgramsUse:
    """Other programs' use of one resource."""

    share: float
    """Of the resource, at least."""
    lost: float
    """Of the load's time, at most."""
    words: str
    shared: float = 0.0
    """Of the load's time on a CPU, at most: what caches, memory and cores that are shared cost."""
    neighbours: str = ""


def check(case: TrialCase) -> Finding:
    """What the load lost to CPU time and bytes of other programs, together."""
    uses = {"cpu_share": processors(case), "bytes_share": device(case), "interface_share": interface(case)}
    known = [use for use in uses.values() if use is not None]
    loss = noise.effect(case, 1 - math.prod(1 - use.lost for use in known), max((use.shared for use in known), default=0.0))
    observed: dict[str, float | str | None] = {name: use.share if use else None for name, use in uses.items()}
    observed |= {"unseen_share": unseen(case), "effect_share": loss.share}
    observed["neighbours"] = ", ".join(dict.fromkeys(name for use in known for name in use.neighbours.split(", ") if name))
    statement = f"Other programs: {'; '.join(use.words for use in known)}. {noise.in_words(case, loss)}"
    if loss.state is State.FAIL:
        return found(
            RULE,
            case,
            State.FAIL,
            statement,
            severity=Severity.NOTES if is_served(case) else loss.severity,
            bound=None if is_served(case) else loss.bound,
            observed=observed,
            evidence=tuple(f"processes:/proc/*/{{stat,io}}: {text}" for text in users(case)),
        )
    for doubt in doubts(case, uses):
        return found(RULE, case, State.UNVERIFIED, doubt, observed=observed)
    return found(RULE, case, State.PASS, statement, observed=observed)


def doubts(case: TrialCase, uses: Mapping[str, OtherProgramsUse | None]) -> Iterator[str]:
    """Why nothing can be passed, one reason after the other."""
    if uses["cpu_share"] is None and case.role is not HostRole.TARGET:
        yield "CPU time of other programs unknown: no counters of the host (observer cpu)."
    if uses["bytes_share"] is None and device_is_busy(case):
        reason = case.observations.why_missing("other_processes.read_bytes") or "no observer of other processes"
        yield f"Other programs' use of the device unknown: {reason}."
    if (share := unseen(case)) is not None and share > case.thresholds["unseen_share"]:
        yield f"{measures.percent(share)} of the CPU time belongs to no visible process (another container?)."


def unseen(case: TrialCase) -> float | None:
    """Share of CPU time that no process and no kernel thread accounts for: interrupts, hidden programs."""
    accounts = [risen(case, metric) for metric in ("cpu_ns", "own_cpu_ns", "kernel_cpu_ns")]
    spent = [risen(case, metric, "cpu") for metric in ("user_ns", "system_ns")]
    whole, known = risen(case, "total_ns", "cpu"), [time for time in (*accounts, *spent) if time is not None]
    if not whole or whole < case.thresholds["unseen_ns"] or len(known) < len(accounts) + len(spent):
        return None
    return max(0.0, sum(known[len(accounts) :]) - sum(known[: len(accounts)])) / whole


def processors(case: TrialCase) -> OtherProgramsUse | None:
    """Least share of a host's CPU time of other programs, and what the load or its server lost to it; None if unobserved."""
    if noise.of_no_server(case) is not None:
        return None
    sure, whole = risen(case, "sure_cpu_ns"), risen(case, "total_ns", "cpu")
    idle = [risen(case, metric, "cpu") for metric in ("idle_ns", "iowait_ns")]
    if sure is None or not whole or None in idle:
        return None
    busy, own = 1 - sum(time for time in idle if time is not None) / whole, (risen(case, "own_cpu_ns") or 0.0) / whole
    share = min(sure / whole, max(0.0, busy - own))
    on_cpu = noise.on_cpu_share(case)
    slowed = min(1.0, share / max(TINY, 1 - own)) * case.thresholds["neighbour_share"]
    beside = slowed * on_cpu
    missing = min(share * missed(case, busy), case.thresholds["competitors"] * on_cpu)
    by = by_whom(case, "cpu_ns") if share > case.thresholds["noted_share"] else ""
    words = f"{measures.percent(share)} of the CPU time{by}, with the CPUs {measures.percent(busy)} busy"
    return OtherProgramsUse(
        share=share, lost=1 - (1 - beside) * (1 - missing), words=words, shared=slowed, neighbours=names_of(by)
    )


def names_of(by: str) -> str:
    """` (dd, cc1plus)` without what stands around the names."""
    return by.strip(" ()")


def missed(case: TrialCase, busy: float) -> float:
    """Share of the load's time that lacks what other programs took: none where the waiting of its threads shows it (N02).

    A server may have waited where less than one CPU of its host was idle.
    """
    cpus = max((max(one.value) for one in case.observations.over_time(case.phase.name, "cpu", "cpus") if one.value), default=1.0)
    if case.role is HostRole.TARGET:
        return noise.waiting_share(case) if busy * cpus > cpus - 1 else 0.0
    return 1.0 if crowded(case, cpus) else 0.0


def crowded(case: TrialCase, cpus: float) -> bool:
    """Whether the waiting of the load's threads does not show what other programs took: unseen, or their own doing."""
    seen = any(case.observations.over_time(case.phase.name, "process", "run_delay_ns"))
    return not seen or noise.workers(case) > cpus


def device(case: TrialCase) -> OtherProgramsUse | None:
    """Least share of the work of the target's lowest device of other programs; None without a device or its count.

    The load loses time to it only while it waits for the device; a drain that is charged is waiting altogether.
    """
    passed = at_device(case)
    steps = [step for step in passed.values() if step is not None]
    whole = sum(step.raw_bytes for step in steps)
    theirs = [(way, risen(case, f"{way}_bytes")) for way in WAYS]
    if not whole or any(amount is None for _, amount in theirs):
        return None
    foreign = sum(min(amount or 0.0, beyond(case, way, passed[way])) for way, amount in theirs)
    share = foreign / whole
    if share <= case.thresholds["bytes_share"] or foreign < case.thresholds["least_bytes"] or is_apart(case):
        return OtherProgramsUse(
            share=share, lost=0.0, words=f"{measures.in_bytes(foreign)} of the device's {measures.in_bytes(whole)}"
        )
    each = case.thresholds["operation_bytes"]
    before = sum(min(step.other_processes_operations, step.raw_operations) for step in steps)
    share = (foreign + each * before) / (whole + each * sum(step.raw_operations for step in steps))
    waits = 1.0 if charges_drain(case.phase, case.measure) else noise.waiting_share(case)
    by = by_whom(case, "read_bytes", "write_bytes")
    words = f"{measures.in_bytes(foreign)} of the device's {measures.in_bytes(whole)}{by}"
    return OtherProgramsUse(share=share, lost=share * waits, words=words, neighbours=names_of(by))


def is_apart(case: TrialCase) -> bool:
    """Whether the load waited for no device: its storage requests were counted, there were none, and it flushed nothing."""
    asking = Rung.SERVER_CACHE if case.role is HostRole.TARGET else Rung.CLIENT_CACHE
    own = [ladder.passed(case.phase, case.observations, asking, way) for way in WAYS]
    flushed = any(case.phase.directions.get(one.operation) is Direction.FLUSH for c in case.phase.clients for one in c.operations)
    changes = Direction.METADATA in case.phase.directions.values()
    return not flushed and not changes and all(step is not None and step.raw_bytes == 0 for step in own)


def interface(case: TrialCase) -> OtherProgramsUse | None:
    """The share of the traffic on a host's interface to the other end that is not the load's own; None where either is unknown.

    Its own are at most its payload with the headers of full segments, and some packets for each operation.
    """
    limits = case.thresholds
    if not case.phase.servers:
        return None
    totals = [total for client in case.phase.clients for total in client.operations]
    again = connections.sums(case.phase.clients, ("retransmitted_bytes",)) or {}
    own = sum(t.bytes * (1 + limits["header_share"]) + t.count * limits["packet_bytes"] for t in totals) + sum(again.values())
    name = of_server(case, sum(total.bytes for total in totals)) if case.role is HostRole.TARGET else of_load(case)
    passed = [amount for one, amount in over(case) if one == name]
    if not passed:
        return None
    whole = float(sum(passed))
    foreign = max(0.0, whole - own)
    share = foreign / whole if whole else 0.0
    link, seconds = case.observations.fact(served.LINK_FACT, host=case.host), case.phase.lasted_ns / 1e9
    roomy = link is not None and link.isdigit() and max(passed) < limits["full_share"] * int(link) * seconds
    counts = share > limits["interface_share"] and foreign >= limits["least_bytes"] and not roomy
    words = f"{measures.in_bytes(foreign)} of the {measures.in_bytes(whole)} that passed {name}"
    return OtherProgramsUse(share=share, lost=share if counts else 0.0, words=words)


def of_load(case: TrialCase) -> str | None:
    """The interface of a load host to the server; None of a client in a namespace whose interfaces are not the host's."""
    way = f"{served.INSIDE_FACT}{case.phase.name}"
    name, space = (case.observations.fact(key, host=case.host) for key in (way, f"{way}.space"))
    return name if space == "own" else None


def of_server(case: TrialCase, moved: int) -> str | None:
    """The interface of the server's host that the load's bytes passed: of those that carried as much, the one with least else."""
    each: dict[str, float] = {}
    for name, amount in over(case):
        each[name] = each.get(name, 0.0) + amount
    enough = {name: whole for name, whole in each.items() if whole >= (1 - case.thresholds["interface_share"]) * moved}
    return min(enough, key=lambda name: enough[name], default=None) if moved else None


def over(case: TrialCase) -> list[tuple[str, float]]:
    """The interfaces of the case's host and what passed them, each way by itself."""
    return [
        (reading.subject.removeprefix("interface:"), float(reading.bytes))
        for direction in WAYS
        for reading in case.observations.rung(case.phase.name, Rung.CLIENT_NIC, direction)
        if reading.bytes is not None and case.host in (None, reading.host) and reading.subject.startswith("interface:")
    ]


def beyond(case: TrialCase, way: Direction, step: ladder.LadderStep | None) -> float:
    """Device bytes beyond the storage requests of the load, or of a server apart: the most that other programs can have moved."""
    asking = Rung.SERVER_CACHE if case.role is HostRole.TARGET else Rung.CLIENT_CACHE
    own = ladder.passed(case.phase, case.observations, asking, way)
    return max(0.0, (step.raw_bytes if step else 0.0) - (own.bytes if own else 0.0))


def at_device(case: TrialCase) -> dict[Direction, ladder.LadderStep | None]:
    """What passed the target's lowest device each way; nothing where the target is not, and of a load that feels no storage."""
    ways = WAYS if case.holds_target and feels_storage(case) else ()
    return {way: ladder.passed(case.phase, case.observations, Rung.LOWEST_DEVICE, way) for way in ways}


def device_is_busy(case: TrialCase) -> bool:
    """Whether the lowest device moved enough bytes to judge other programs' part."""
    steps = at_device(case).values()
    return sum(step.raw_bytes for step in steps if step is not None) >= case.thresholds["least_bytes"]


def is_served(case: TrialCase) -> bool:
    """Whether a program on this machine may be what answers: then its time and its bytes are the target's own."""
    return any((place.filesystem or "").startswith(SERVED) for place in case.run.places)


def users(case: TrialCase) -> Iterator[str]:
    """The commands of other processes that used most, each with what it used."""
    for metric, unit in (("cpu_ns", Unit.NANOSECONDS), ("read_bytes", Unit.BYTES), ("write_bytes", Unit.BYTES)):
        for command, amount in largest(case, metric)[:MOST_NAMED]:
            yield f"{command}: {measures.with_unit(amount, unit)} ({metric})"


def by_whom(case: TrialCase, *metrics: str) -> str:
    """` (dd, cc1plus)`: the commands that used most of it."""
    names = [command for command, _ in largest(case, *metrics)[:MOST_NAMED]]
    return f" ({', '.join(names)})" if names else ""


def largest(case: TrialCase, *metrics: str) -> list[tuple[str, float]]:
    """The commands by what they used of these together under the clock, most first."""
    used: dict[str, float] = {}
    for metric in metrics:
        for series in case.observations.over_time(case.phase.name, "other_processes", metric):
            command = series.subject.partition(":")[2]
            used[command] = used.get(command, 0.0) + ladder.known_rise(series, case.phase.start_ns, case.phase.end_ns)
    return sorted(((command, amount) for command, amount in used.items() if command and amount > 0), key=lambda one: -one[1])


def risen(case: TrialCase, metric: str, layer: str = "other_processes") -> float | None:
    """By how much a counter of the hosts rose between the looks that enclose the clock; None where there are no two."""
    every = [*case.observations.over_time(case.phase.name, layer, metric, ABSOLUTE)]
    return ladder.rises(every, case.phase.start_ns, case.phase.end_ns)


RULE = Rule(
    id="N03",
    name="foreign-activity",
    scope=Scope.TRIAL,
    severity=Severity.QUALIFIES,
    part="noise",
    needs=("other_processes.cpu_ns",),
    check=check,
    about=About.EACH_HOST,
    wrong="A backup, a build or a neighbour's benchmark takes CPU, memory bandwidth and disk time from the trial. It may do so "
    "in one arm of a comparison only.",
    alternatives=(
        "The program is the server behind the target, as a service of this machine. Then its work belongs to the target.",
        "The program used another disk: a process's byte counters name no disk.",
        "Programs in other containers are visible only if the lab sees their processes.",
    ),
    advice="Stop the named programs and repeat, run on an idle machine, or use a machine and disk of its own. As root the "
    "bytes of other users' programs are known too.",
    sources=(
        "Uta et al., NSDI 2020: variability of cloud performance",
        "Linux: filesystems/proc.rst, /proc/PID/io and /proc/PID/stat",
    ),
)
