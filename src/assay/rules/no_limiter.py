"""Finds loads without a visible limit: by looks at their threads neither a CPU, a device nor another end had their time.

The one account of the time says what the limit was (`evidence.time_limit`), for engine and external tools, on all hosts.
A wait that neither CPU nor device explains is a note: sleep, a lock, another program, files without a busy device.
If the load waits for its server, the server's own wait counts.
If a limit is known (declared, or a throttle rule), L04 and L06 apply instead. Paced loads are n/a.
A busy device may do more at a greater depth, so busy devices prove no limit. Idle devices prove that they were not the limit.
"""

from __future__ import annotations

from assay import measures
from assay.catalogue import About, Rule, TrialCase
from assay.evidence import time_ladder, time_limit
from assay.records import Cause, Finding, Scope, Severity, State
from assay.rulekit.findings import found, knob

OBSERVER = "thread_states"
UNEXPLAINED = {
    Cause.SLEEP: "slept",
    Cause.FILES: "waited for files, and no device here was busy with them",
    Cause.LOCK: "had threads that waited for a lock",
    Cause.TURNS: "had threads that took turns",
    Cause.PIPE: "waited for another program",
    Cause.TERMINAL: "waited for the terminal",
    Cause.STOPPED: "was stopped",
    Cause.NOTHING: "waited for what did not come",
}
"""What was done for most of the time that neither CPU nor device explains."""


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
    """What had most of the time, and whether a CPU, a device or another end explains it."""
    if time_ladder.of_phase(case.phase, case.observations) is None:
        statement = "Limit unknown: phase too short, or too few looks at the threads of the load."
        return found(RULE, case, State.UNVERIFIED, statement)
    most = time_limit.of_phase(case.phase, case.observations)
    if most is not None and most.cause is Cause.FILES and not any(time_limit.devices(case.phase, case.observations)):
        statement = "Limit unknown: the load waited for files, and nobody saw the devices that they are on."
        return found(RULE, case, State.UNVERIFIED, statement)
    share = 0.0 if most is None else most.share
    if most is None or not most.is_certain or most.cause not in UNEXPLAINED:
        statement = "CPUs, devices or another end explain the time of the load, or nothing had most of it."
        return found(RULE, case, State.PASS, statement, observed={"share": share})
    own = most.process.startswith(time_ladder.OWN_PROGRAM)
    who = ("the other end" if own else f"the server ({most.process})") if most.at_server else "the load" if own else most.process
    statement = f"No CPU and no device was the limit: {who} {UNEXPLAINED[most.cause]} ({measures.percent(share)})."
    return found(RULE, case, State.FAIL, statement, observed={"share": share}, evidence=(OBSERVER,))


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
