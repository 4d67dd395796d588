"""Says where a latency may be the time in which a processor wakes up: a load that waits much lets it fall asleep.

Evidence: how often each idle state was entered under the clock, and how long the slowest of those that were used often takes to
wake from, against the latency that was measured. It is a note: the wake is a part of what a user would wait for.
"""

from __future__ import annotations

from dataclasses import dataclass

from assay import measures
from assay.catalogue import Case, Rule, TrialCase
from assay.evidence import ladder
from assay.records import Finding, Scope, Severity, State
from assay.rulekit.findings import found
from assay.units import Unit


@dataclass(frozen=True, kw_only=True)
class Sleep:
    """One idle state under the clock."""

    name: str
    entries: float
    wake_ns: float


def applies(case: Case) -> str | None:
    """Latencies."""
    assert isinstance(case, TrialCase)
    return None if case.measure.figure.startswith("latency_") and case.value else "the figure is no latency"


def check(case: Case) -> Finding:
    """The slowest wake of a state that was entered often, over the latency."""
    assert isinstance(case, TrialCase)
    slept, limits = sleeps(case), case.thresholds
    entries = sum(sleep.entries for sleep in slept)
    often = [sleep for sleep in slept if sleep.entries and sleep.entries >= limits["entered_share"] * entries]
    deepest = max(often, key=lambda sleep: sleep.wake_ns, default=None)
    if deepest is None or not case.value:
        return found(RULE, case, State.PASS, "No processor was idle under the clock.", observed={"entries": entries})
    share = deepest.wake_ns / case.value
    observed: dict[str, float | str | None] = {
        "wake_ns": deepest.wake_ns,
        "state": deepest.name,
        "wake_share": share,
        "entries": entries,
    }
    wake, latency = (measures.with_unit(time, Unit.NANOSECONDS) for time in (deepest.wake_ns, case.value))
    said = f"Processors slept in {deepest.name}, {deepest.entries:,.0f} times, from which they wake in {wake} at most"
    if share <= limits["wake_share"]:
        return found(RULE, case, State.PASS, f"{said}: little, of {latency}.", observed=observed, threshold={**limits})
    part = measures.percent(min(1.0, share))
    return found(
        RULE,
        case,
        State.FAIL,
        f"{said}: up to {part} of this latency ({latency}) is the waking of a processor that the load itself let sleep.",
        observed=observed,
        threshold={**limits},
        evidence=tuple(f"idle_states: {sleep.name} {sleep.entries:,.0f} times, {sleep.wake_ns:,.0f} ns" for sleep in slept),
    )


def sleeps(case: TrialCase) -> list[Sleep]:
    """Every state of the hosts' processors, with how often it was entered between the looks that enclose the clock."""
    phase, seen = case.phase, case.observations
    found_states: list[Sleep] = []
    for entries in seen.over_time(phase.name, "idle", "entries"):
        wakes = next(
            (one for one in seen.over_time(phase.name, "idle", "wake_ns", entries.subject) if one.host == entries.host), None
        )
        found_states.append(
            Sleep(
                name=entries.subject.partition(":")[2],
                entries=ladder.rise(entries, phase.start_ns, phase.end_ns),
                wake_ns=max(wakes.value, default=0.0) if wakes is not None else 0.0,
            )
        )
    return found_states


RULE = Rule(
    id="N06",
    name="idle-states",
    scope=Scope.TRIAL,
    severity=Severity.NOTES,
    part="noise",
    needs=("idle.entries",),
    applies=applies,
    check=check,
    wrong="A client that waits for each answer leaves its processor idle in between. The processor goes to sleep, the deeper the "
    "longer it is left alone, and the answer has to wake it first: up to some hundred microseconds on a server with deep "
    "states. The same disk looks slower at one request at a time than it is, and faster under load, which lets nobody "
    "sleep.",
    alternatives=(
        "Processors that had nothing to do with the load slept: the counters are of all of them.",
        "The device's own power states (NVMe, SATA links) do the same, and no counter of the kernel tells it.",
    ),
    advice="Measure twice, once with a program that holds 0 in /dev/cpu_dma_latency open: the difference is the sleep's. For a"
    " comparison fix the same in both arms; for what users feel leave it as it is.",
    sources=(
        "Linux: admin-guide/pm/cpuidle.rst, power/pm_qos_interface.rst",
        "Li et al., SoCC 2014: tales of the tail",
    ),
)
