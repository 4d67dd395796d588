"""Finds trials on a host short of memory: all tasks stalled, pages were swapped, or programs were killed.

The rule reads the whole host during the clock: waiting for memory, swapped pages, and out-of-memory kills (/proc/vmstat).
Waiting is the time in which any task stalled (`some` of /proc/pressure/memory).
The load can have lost no more than that time, which includes the return of swapped pages. So it bounds the figure.
- `swapped_pages` or more, a kill, or an effect on the figure above `noted_share`: a note.
- An effect above the experiment's `matters`: BOUNDED. Noise never invalidates.
- File pages that were evicted and read again, above `again_share` of the load's bytes: a note.

A memory limit of the experiment itself (`memory` of a workload) makes stalls and swapping intended; only kills count then.
Without pressure stall information the rule is unverified: boot with psi=1. The lab repeats a run
that only noise spoiled, and keeps all attempts.
"""

from __future__ import annotations

from dataclasses import dataclass

from assay import measures
from assay.catalogue import About, Rule, TrialCase
from assay.evidence import ladder
from assay.records import Direction, Finding, HostRole, Scope, Severity, State
from assay.rulekit import noise
from assay.rulekit.findings import found, knob

PAGE_BYTES = 4096
"""Larger pages make the figure too small, never too large."""


@dataclass(frozen=True, kw_only=True)
class Pressure:
    """What one host's memory suffered under the clock; None where it is not known."""

    waited: float | None
    """Share of the time in which some task waited for memory."""
    swapped: float | None
    """Pages that went to swap or came back."""
    killed: float | None
    again: float | None
    """Bytes of files that had been given up and were read in again, over the bytes that the load moved."""


def check(case: TrialCase) -> Finding:
    """What the waiting for memory can have changed; swapping and kills are worth knowing, and count where waiting is unknown."""
    killed = ladder.host_rise(case.phase, case.observations, "memory", "out_of_memory_kills")
    seen = Pressure(waited=waited(case), swapped=swapped(case), killed=killed, again=again(case))
    limits, declared = case.thresholds, limited(case)
    observed = {"some_share": seen.waited, "swapped_pages": seen.swapped, "killed": seen.killed, "again_share": seen.again}
    swaps = not declared and seen.swapped is not None and seen.swapped >= limits["swapped_pages"]
    loss = noise.effect(case, 0.0 if declared else seen.waited or 0.0)
    parts = [
        f"tasks waited for memory for {measures.percent(seen.waited or 0.0)} of the time" if loss.state is State.FAIL else "",
        f"{seen.swapped:,.0f} pages swapped" if swaps else "",
        f"{seen.killed:,.0f} program{'s' * (seen.killed != 1)} killed for lack of memory" if seen.killed else "",
    ]
    if not (over := [text for text in parts if text]):
        return quiet(case, seen, observed)
    known = loss.severity if loss.state is State.FAIL else Severity.NOTES
    return found(
        RULE,
        case,
        State.FAIL,
        f"Memory pressure on the host: {'; '.join(over)}. {'' if seen.waited is None else noise.in_words(case, loss)}".rstrip(),
        severity=Severity.QUALIFIES if seen.waited is None else known,
        bound=loss.bound,
        observed=observed,
        evidence=("pressure:/proc/pressure/memory", "memory:/proc/vmstat"),
    )


def quiet(case: TrialCase, seen: Pressure, observed: dict[str, float | None]) -> Finding:
    """Nothing was over a threshold: a pass where all was seen, or the limit was the experiment's own."""
    if limited(case):
        text = "The experiment limits the memory of a workload, so stalls are intended."
        return found(RULE, case, State.PASS, text, observed=observed)
    keys = {"pressure.memory_some_ns": seen.waited, "memory.swapped_in_pages": seen.swapped}
    unseen = [key for key, figure in keys.items() if figure is None]
    if unseen:
        reasons = "; ".join(case.observations.why_missing(key) or f"no observer of {key}" for key in unseen)
        text = f"Memory pressure unknown: {reasons}."
        return found(RULE, case, State.UNVERIFIED, text, observed=observed, evidence=tuple(unseen))
    if seen.again is not None and seen.again > case.thresholds["again_share"]:
        limit = measures.percent(case.thresholds["again_share"])
        text = f"Evicted file pages were read again: {measures.percent(seen.again)} of the load's bytes (limit {limit})."
        return found(RULE, case, State.FAIL, text, severity=Severity.NOTES, observed=observed)
    pages = f"{seen.swapped:,.0f} pages swapped" if seen.swapped else "nothing swapped"
    text = f"Tasks waited for memory for {measures.percent(seen.waited or 0.0)} of the time; {pages}."
    return found(RULE, case, State.PASS, text, observed=observed)


def limited(case: TrialCase) -> bool:
    """Whether the experiment gives a workload a limit of memory, on a host that it runs on."""
    of_load = case.role is not HostRole.TARGET
    return of_load and any(knob(case, "memory", spec.name) is not None for spec in case.experiment.workloads)


def waited(case: TrialCase) -> float | None:
    """Share of the clock in which some task waited: without what must have been waited between the looks and its ends."""
    series, phase = ladder.of_host(case.phase, case.observations, "pressure", "memory_some_ns"), case.phase
    return None if series is None else ladder.least_share(series, phase.start_ns, phase.end_ns)


def swapped(case: TrialCase) -> float | None:
    """Pages that were swapped in or out; None where either is not known."""
    metrics = ("swapped_in_pages", "swapped_out_pages")
    read, written = (ladder.host_rise(case.phase, case.observations, "memory", metric) for metric in metrics)
    return None if read is None or written is None else read + written


def again(case: TrialCase) -> float | None:
    """What was read in again over what the load moved; None where either is not known."""
    pages = ladder.host_rise(case.phase, case.observations, "memory", "refaulted_file_pages")
    total = sum(ladder.requested_bytes(case.phase, case.observations, way) or 0.0 for way in (Direction.READ, Direction.WRITE))
    return pages * PAGE_BYTES / total if pages is not None and total else None


RULE = Rule(
    id="N05",
    name="memory-pressure",
    scope=Scope.TRIAL,
    severity=Severity.QUALIFIES,
    part="noise",
    short="memory pressure",
    check=check,
    about=About.EACH_HOST,
    wrong="A host that searches for free pages takes them from the page cache of the trial, and every allocation waits. The "
    "figure describes that search, and changes from day to day.",
    alternatives=(
        "Another program or control group at its own limit stalled or was killed: the counters include the whole host.",
        "The load itself needs more memory than there is (its buffers, its data in the page cache). Use a smaller set.",
    ),
    advice="Stop other memory users and repeat. Give a working set that must exceed memory a limit of its own (`memory` of the "
    "workload). Without pressure stall information boot the kernel with psi=1.",
    at_shell="Stop other memory users and repeat. Without pressure stall information boot the kernel with psi=1.",
    sources=(
        "Linux: accounting/psi.rst, `full`: all non-idle tasks wait at once",
        "Gregg, Systems Performance: swapping and the out-of-memory killer",
    ),
)
