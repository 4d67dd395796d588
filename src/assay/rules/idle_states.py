"""Explains latencies by the wake-up of sleeping CPUs: a load that waits much lets its CPU fall asleep.

The observer `idle_states` counts entries into each idle state during the clock and reads the driver's wake-up time.
The slowest wake-up among states with `entered_share` of all entries is divided by the latency; above `wake_share` it is a
note.
It changes no verdict, since a user waits for the CPU too. It explains a difference between machines or loads. Figures other
than latencies are n/a.
The rule does not see which CPUs served the load, a hypervisor's sleep, or the device's own power states (NVMe, SATA).
"""

from __future__ import annotations

from dataclasses import dataclass

from assay import measures
from assay.catalogue import Rule, TrialCase
from assay.evidence import ladder
from assay.records import Finding, Scope, Severity, State
from assay.rulekit.findings import Figures, found
from assay.units import Unit


@dataclass(frozen=True, kw_only=True)
class Sleep:
    """One idle state under the clock."""

    name: str
    entries: float
    wake_ns: float


def applies(case: TrialCase) -> str | None:
    """Latencies."""
    return None if case.measure.figure.startswith("latency_") and case.value else "the figure is no latency"


def check(case: TrialCase) -> Finding:
    """The slowest wake of a state that was entered often, over the latency."""
    slept, limits = sleeps(case), case.thresholds
    if not slept:
        return found(RULE, case, State.UNVERIFIED, "Idle states not counted at both ends of the clock.")
    entries = sum(sleep.entries for sleep in slept)
    often = [sleep for sleep in slept if sleep.entries and sleep.entries >= limits["entered_share"] * entries]
    deepest = max(often, key=lambda sleep: sleep.wake_ns, default=None)
    if deepest is None or not case.value:
        return found(RULE, case, State.PASS, "No CPU was idle during the clock.", observed={"entries": entries})
    share = deepest.wake_ns / case.value
    observed: Figures = {"wake_ns": deepest.wake_ns, "state": deepest.name, "wake_share": share, "entries": entries}
    wake, latency = (measures.with_unit(time, Unit.NANOSECONDS) for time in (deepest.wake_ns, case.value))
    slept_in = f"CPUs entered {deepest.name} {deepest.entries:,.0f} times (wake-up {wake} at most)"
    if share <= limits["wake_share"]:
        return found(RULE, case, State.PASS, f"{slept_in}: negligible for {latency}.", observed=observed)
    return found(
        RULE,
        case,
        State.FAIL,
        f"{slept_in}: up to {measures.percent(min(1.0, share))} of the latency of {latency} is CPU wake-up.",
        observed=observed,
        evidence=tuple(f"idle_states: {sleep.name} {sleep.entries:,.0f} times, {sleep.wake_ns:,.0f} ns" for sleep in slept),
    )


def sleeps(case: TrialCase) -> list[Sleep]:
    """Every CPU idle state, with its entries between the samples that enclose the clock."""
    phase, seen = case.phase, case.observations
    wakes = {(one.host, one.subject): max(one.value, default=0.0) for one in seen.over_time(phase.name, "idle", "wake_ns")}
    return [
        Sleep(
            name=entries.subject.partition(":")[2],
            entries=risen,
            wake_ns=wakes.get((entries.host, entries.subject), 0.0),
        )
        for entries in seen.over_time(phase.name, "idle", "entries")
        if (risen := ladder.rise(entries, phase.start_ns, phase.end_ns)) is not None
    ]


RULE = Rule(
    id="N06",
    name="idle-states",
    scope=Scope.TRIAL,
    severity=Severity.NOTES,
    part="noise",
    needs=("idle.entries", "idle.wake_ns"),
    applies=applies,
    check=check,
    wrong="A client that waits for each answer leaves its CPU idle in between. The CPU sleeps, more deeply the longer it is "
    "idle, and the answer must wake it first. Deep states of a server take some hundred microseconds. The same disk "
    "looks slower at one request at a time, and faster under load.",
    alternatives=(
        "Other CPUs slept: the counters include all of them.",
        "The device's own power states (NVMe, SATA links) have the same effect, and no kernel counter shows them.",
    ),
    advice="Measure a second time with a program that holds 0 in /dev/cpu_dma_latency open: the difference is the sleep's. Use "
    "the same setting in both arms of a comparison; leave it unchanged for user-visible latency.",
    sources=(
        "Linux: admin-guide/pm/cpuidle.rst, power/pm_qos_interface.rst",
        "Li et al., SoCC 2014: tales of the tail",
    ),
)
