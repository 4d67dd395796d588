"""Finds loads that waited for most of their time while neither a CPU nor a device was busy with them.

The rule reads where the time of the load's threads went, and of its server's: looks at random moments, or the kernel's counts.
The limit is the part that had most of the time. It is a note if that is a wait that nothing explains: no CPU, device, quota,
throttle rule, path or other end. Such waits are a sleep, a lock, threads that take turns, files without a busy device, another
program, or a signal.
Then the figure is one of this wait. If the load waits for its server, its limit is what the server did.
A time of which nothing had most has no single limit, and passes.
If a limit is declared, L04 applies instead. Paced loads are n/a: they are idle by design.
A busy device may do more at a greater depth, so a busy device is no proof of a limit. An idle one was not the limit.
"""

from __future__ import annotations

from assay import measures
from assay.catalogue import About, Rule, TrialCase
from assay.evidence import device_idle, time_ladder, time_limit
from assay.records import Cause, Finding, Scope, Severity, State
from assay.rulekit.findings import found, knob

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
"""What a load did for most of its time that neither CPU nor device explains."""


def applies(case: TrialCase) -> str | None:
    """Closed loads without a declared limit that are long enough for looks at their threads."""
    if case.phase.end_ns - case.phase.start_ns < time_ladder.SHORTEST_NS:
        return "too short for looks at the threads"
    if any(client.load is not None for client in case.phase.clients) or knob(case, "think"):
        return "a paced load: idle by design"
    return "a known limit (L04)" if any(place.limits for place in case.run.places) else None


def check(case: TrialCase) -> Finding:
    """What had most of the time of the load."""
    if time_ladder.of_phase(case.phase, case.observations) is None:
        looked = any(case.observations.over_time(case.phase.name, time_ladder.LAYER, time_ladder.LOOKS))
        few = "too few looks at its threads" if looked else "its threads were not observed"
        why = time_ladder.why_unknown(case.phase, case.observations) or few
        return found(RULE, case, State.UNVERIFIED, f"The time of the load is not accounted for: {why}.")
    most = time_limit.of_phase(case.phase, case.observations)
    if most is None:
        return found(RULE, case, State.PASS, "No wait had most of the time of the load.")
    side, share = "server" if most.at_server else "load", measures.percent(most.share)
    observed = {"share": most.share, "error": most.error, "cause": most.cause.value}
    if most.at_server or not most.is_certain or most.cause not in UNEXPLAINED:
        words = most.cause.value.replace("-", " ")
        statement = f"The {side}'s threads tell the limit: {words} ({share})."
        return found(RULE, case, State.PASS, statement, observed=observed)
    if most.cause is Cause.FILES and not any(case.observations.over_time(case.phase.name, "block", device_idle.BUSY)):
        statement = f"The load waited for files ({share}), and no device was observed."
        return found(RULE, case, State.UNVERIFIED, statement, observed=observed)
    statement = f"No CPU and no device was the limit: {UNEXPLAINED[most.cause]} ({share})."
    return found(RULE, case, State.FAIL, statement, observed=observed, evidence=("thread_states",))


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
