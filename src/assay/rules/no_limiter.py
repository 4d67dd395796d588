"""Finds steady rates for which no limit can be named: no processor of the load, no device was busy, and still it went no faster.

Evidence: what the load's threads ran or stood ready to, and for how long each device had something to do (`io_ticks`), both over
the clock; the same of a server's busiest thread, and how full the way to it was, where the target names one; the rate in both
halves of the time. One after the other they may fill it, so their shares are added. Where that is
not most of the time, and the rate stayed as it was, something held it back that no counter here shows: a lock, one thread
behind another, a sleep, another machine. A device that was busy may do more at a greater depth all the same, so busy devices
prove no limit; idle ones prove that they were none.
"""

from __future__ import annotations

from collections.abc import Iterator

from assay import measures
from assay.catalogue import Case, Rule, TrialCase
from assay.evidence import ladder, served
from assay.measures import cost
from assay.records import Client, Finding, Scope, Severity, State
from assay.rulekit.findings import found, knob

PARTS = 2
RULES = ("limit_read_bytes_per_s", "limit_write_bytes_per_s", "limit_read_ops_per_s", "limit_write_ops_per_s")


def applies(case: Case) -> str | None:
    """Closed loads of our own engines without a known limit."""
    assert isinstance(case, TrialCase)
    if case.phase.values or any(client.load is not None for client in case.phase.clients) or knob(case, "think"):
        return "not a closed load of ours, which asks for as much as it is given"
    declared = any(place.limits for place in case.run.places)
    throttled = any(any(case.observations.over_time(case.phase.name, "cgroup", metric)) for metric in RULES)
    return "a limit is known (L04, L06)" if declared or throttled else None


def check(case: Case) -> Finding:
    """What was busiest, against its threshold, where the rate was flat."""
    assert isinstance(case, TrialCase)
    seconds = (case.phase.end_ns - case.phase.start_ns) / 1e9
    devices, threads = dict(busy_devices(case)), [share for c in case.phase.clients if (share := busy(case, c)) is not None]
    if seconds < case.thresholds["seconds"] or not devices or not threads:
        said = "Whether anything was at its limit is not known: it ran for too short, or nobody watched threads and devices."
        return found(RULE, case, State.UNVERIFIED, said, threshold={**case.thresholds})
    device, most = max(devices.items(), key=lambda item: item[1])
    in_turn = {device: most, **dict(server_side(case))}
    accounted, spread = min(1.0, max(threads) + sum(in_turn.values())), range_share(case)
    observed = {"thread_share": max(threads), **devices, **in_turn, "range_share": spread}
    others = ", ".join(f"{name} for {measures.percent(share)}" for name, share in in_turn.items())
    told = f"a thread of the load was at work for {measures.percent(max(threads))} of the time, {others}"
    if accounted >= case.thresholds["busy_share"] or spread is None or spread > case.thresholds["range_share"]:
        said = f"{told[:1].upper()}{told[1:]}."
        return found(RULE, case, State.PASS, said, observed=observed, threshold={**case.thresholds})
    said = f"Nothing that is watched was busy ({told}), and the rate stayed as it was: what held it back is in no counter here."
    return found(RULE, case, State.FAIL, said, observed=observed, threshold={**case.thresholds}, evidence=tuple(devices))


def busy_devices(case: TrialCase) -> Iterator[tuple[str, float]]:
    """Name and share of the clock in which each device had a request in flight."""
    lasted = case.phase.end_ns - case.phase.start_ns
    for series in case.observations.over_time(case.phase.name, "block", "io_ticks"):
        ticks_ns = ladder.rise(series, case.phase.start_ns, case.phase.end_ns) * 1e6
        yield series.subject.partition(":")[2], min(1.0, ticks_ns / lasted) if lasted > 0 else 0.0


def server_side(case: TrialCase) -> Iterator[tuple[str, float]]:
    """For which share of the clock the busiest thread of a named server ran or stood ready, and how full the way to it was."""
    busiest = served.rose(case.phase, case.observations, "busiest_thread_ns")
    if busiest is not None:
        yield "the server's busiest thread", min(1.0, busiest / (case.phase.end_ns - case.phase.start_ns))
    link = served.link_share(case.phase, case.observations)
    if link is not None:
        yield "the way to the server", min(1.0, link)


def busy(case: TrialCase, client: Client) -> float | None:
    """For which share of its time a client's threads ran or stood ready, in the mean; None where it did not tell."""
    lasted = (client.last_ns - client.first_ns) * max(1, client.workers)
    if client.cost is None or lasted <= 0:
        return None
    delay = next(case.observations.over_time(case.phase.name, "process", "run_delay_ns", f"pid:{client.pid}"), None)
    stood = 0.0 if delay is None else ladder.rise(delay, case.phase.start_ns, case.phase.end_ns)
    return min(1.0, (cost.processor_ns(client.cost) + stood) / lasted)


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
    needs=(),
    applies=applies,
    check=check,
    wrong='"Why not double?" has no answer. Then the figure may be that of a lock, of one thread behind another, of a sleep, of '
    "another machine: two disks that are compared so come out alike whatever they can do.",
    alternatives=(
        "A quota or a hypervisor's cap that shows in no file of this host: hold the rate against the contract (L04).",
        "Threads of the kernel that work for the load, one after the other, are not its own: look at them with top -H.",
    ),
    advice="Add workers or depth: where the rate rises with them it is latency that holds it back; where not, see what they wait"
    " for (/proc/PID/task/*/wchan, off-CPU profile).",
    sources=("Gregg, checklist for benchmarks: why not double?", "Gregg, Systems Performance: the USE method"),
)
