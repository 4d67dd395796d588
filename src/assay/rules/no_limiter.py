"""Finds steady rates without a visible limit: neither a CPU of the load nor a device was busy.

The rule adds two shares of the clock: in the first, the load's busiest thread ran or waited for a CPU.
In the second, the busiest device had a request (`io_ticks`). The thread makes a request, the device serves it.
A named server adds its busiest thread and the use of the path to it.
Less than `busy_share` in total, with both halves of the time within `range_share`, is a note.
Then an unobserved resource limited the load: a lock, serial threads, a sleep, another machine.
If a limit is known (declared, or a throttle rule), L04 and L06 apply instead. Paced loads are n/a.
Looks at the threads of an external tool tell the same.
A wait for most of the time that neither CPU nor device explains is a note.
A busy device may do more at a greater depth, so busy devices prove no limit. Idle devices prove that they were not the limit.
"""

from __future__ import annotations

from collections.abc import Iterator

from assay import measures
from assay.catalogue import About, Rule, TrialCase
from assay.evidence import ladder, served, time_ladder, time_limit
from assay.measures import cost
from assay.records import Cause, Client, Finding, Scope, Severity, State
from assay.rulekit.findings import found, knob

PARTS = 2
UNEXPLAINED = {
    Cause.SLEEP: "it slept",
    Cause.FILES: "it waited for files, and no device here was busy with them",
    Cause.LOCK: "its threads waited for a lock",
    Cause.TURNS: "its threads took turns",
    Cause.PIPE: "it waited for another program",
    Cause.TERMINAL: "it waited for the terminal",
    Cause.STOPPED: "it was stopped",
    Cause.NOTHING: "it waited for what did not come",
}
"""What a tool did for most of its time that neither CPU nor device explains."""


def applies(case: TrialCase) -> str | None:
    """Closed loads without a known limit; of external tools those with looks at their threads."""
    if case.phase.values and time_ladder.of_phase(case.phase, case.observations) is None:
        return "too few looks at the threads of the tool"
    if any(client.load is not None for client in case.phase.clients) or knob(case, "think"):
        return "a paced load: idle by design"
    declared = any(place.limits for place in case.run.places)
    throttled = any(any(case.observations.over_time(case.phase.name, "cgroup", metric)) for metric in time_limit.LIMITS)
    return "a known limit (L04, L06)" if declared or throttled else None


def check(case: TrialCase) -> Finding:
    """What was busiest, against its threshold, where the rate was flat."""
    if case.phase.values:
        return of_tool(case)
    seconds = (case.phase.end_ns - case.phase.start_ns) / 1e9
    devices, threads = dict(busy_devices(case)), [share for c in case.phase.clients if (share := busy(case, c)) is not None]
    if seconds < case.thresholds["seconds"] or not devices or not threads:
        statement = "Limits unknown: phase too short, or threads and devices not observed."
        return found(RULE, case, State.UNVERIFIED, statement)
    device, most = max(devices.items(), key=lambda item: item[1])
    in_turn = {device: most, **dict(server_side(case))}
    accounted, spread = min(1.0, max(threads) + sum(in_turn.values())), range_share(case)
    observed = {"thread_share": max(threads), **devices, **in_turn, "range_share": spread}
    served_by = ", ".join(f"{name} for {measures.percent(share)}" for name, share in in_turn.items())
    busy_parts = f"a thread of the load was busy for {measures.percent(max(threads))} of the time, {served_by}"
    if accounted >= case.thresholds["busy_share"] or spread is None or spread > case.thresholds["range_share"]:
        return found(RULE, case, State.PASS, f"{busy_parts[:1].upper()}{busy_parts[1:]}.", observed=observed)
    statement = f"No visible limit ({busy_parts}), and a constant rate: an unobserved resource limits it."
    return found(RULE, case, State.FAIL, statement, observed=observed, evidence=tuple(devices))


def of_tool(case: TrialCase) -> Finding:
    """What an external tool did for most of its time."""
    most = time_limit.of_phase(case.phase, case.observations)
    if most is None or most.at_server or not most.is_certain or most.cause not in UNEXPLAINED:
        share = 0.0 if most is None else most.share
        statement = "CPUs, devices or another end explain the time of the tool, or nothing had most of it."
        return found(RULE, case, State.PASS, statement, observed={"share": share})
    why = UNEXPLAINED[most.cause]
    statement = f"No CPU and no device was the limit: {why} ({measures.percent(most.share)})."
    return found(RULE, case, State.FAIL, statement, observed={"share": most.share}, evidence=("thread_states",))


def busy_devices(case: TrialCase) -> Iterator[tuple[str, float]]:
    """Name and share of the clock in which each device had a request in flight."""
    for series in case.observations.over_time(case.phase.name, "block", "io_ticks"):
        ticks = ladder.rate(series, case.phase.start_ns, case.phase.end_ns)
        if ticks is not None:
            yield series.subject.partition(":")[2], min(1.0, ticks * 1e6)


def server_side(case: TrialCase) -> Iterator[tuple[str, float]]:
    """Share of the clock that a named server's busiest thread ran or was ready, and use of the link to it."""
    busiest = max(served.each_rose(case.phase, case.observations, "busiest_thread_ns").values(), default=None)
    if busiest is not None:
        yield "the server's busiest thread", min(1.0, busiest / (case.phase.end_ns - case.phase.start_ns))
    link = served.fullest_link(case.phase, case.observations, case.beyond)
    if link is not None:
        yield "the way to the server", min(1.0, link.share)


def busy(case: TrialCase, client: Client) -> float | None:
    """Mean share of its time that a client's threads ran or were ready; None without its report."""
    lasted = (client.until_ns - client.first_ns) * max(1, client.workers)
    if client.cost is None or lasted <= 0:
        return None
    every = case.observations.over_time(case.phase.name, "process", "run_delay_ns", f"pid:{client.pid}")
    delay = next((one for one in every if one.host == client.host), None)
    ready = 0.0 if delay is None else ladder.rise(delay, case.phase.start_ns, case.phase.end_ns)
    return None if ready is None else min(1.0, (cost.processor_ns(client.cost) + ready) / lasted)


def range_share(case: TrialCase) -> float | None:
    """By how much the rate differed between the halves of the time, over its mean; None where too little is known within."""
    window = measures.whole_window(case.phase, case.measure.operation)
    if window is None:
        return None
    edges = (window.from_ns, window.to_ns)
    if measures.points_inside(case.phase, case.observations, case.measure.operation, edges) < PARTS:
        return None
    done = measures.in_parts(case.phase, case.observations, (case.measure.operation, "count"), edges, PARTS)
    return (max(done) - min(done)) * PARTS / sum(done) if sum(done) else None


RULE = Rule(
    id="L09",
    name="no-limiter",
    scope=Scope.TRIAL,
    severity=Severity.NOTES,
    part="load",
    applies=applies,
    check=check,
    about=About.ALL_HOSTS,
    wrong='"Why not double?" has no answer. The figure may be that of a lock, of serial threads, of a sleep or of another '
    "machine. Two disks compared that way look alike whatever they can do.",
    alternatives=(
        "A quota or a hypervisor's limit that shows in no file of this host. Compare the rate with the contract (L04).",
        "Kernel threads that work for the load in series are not its own. Check them with top -H.",
    ),
    advice="Add workers or depth. If the rate rises, latency was the limit; if not, find what the threads wait for "
    "(/proc/PID/task/*/wchan, off-CPU profile).",
    sources=("Gregg, checklist for benchmarks: why not double?", "Gregg, Systems Performance: the USE method"),
)
