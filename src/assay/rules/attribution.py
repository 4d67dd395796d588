"""Separates the load's own bytes from other processes' I/O in the counters of the lowest device.

A device counts the I/O of every process. The lab measures the device in an idle baseline before each phase, and scales that
rate to the phase.
The idle baseline before the next phase counts too, if there is one.
- Other processes' I/O up to `baseline_share` of the load, or below `least_bytes`, is subtracted: pass.
- More than that, and the load has an account of its own: that account is used instead, and the finding names it (a note).
- More than that without such an account: unverified.

The account is the trial's control group, else the processes' own counters for reads, direct writes and flushed writes.
The kernel writes buffered data later, so no process is charged for them at that time.
The rule changes no verdict by itself. Rules that compare layers (T01, T03, D02, D06, E05) treat device counters as an upper
limit.
Processes that start after the idle baseline are found by N03. The last phase of a run has no baseline after it.
"""

from __future__ import annotations

from collections.abc import Iterator

from assay import measures
from assay.catalogue import About, Rule, TrialCase
from assay.evidence import ladder
from assay.measures import in_bytes
from assay.records import Direction, Finding, Rung, Scope, Severity, Span, State
from assay.rulekit.applicability import rests_on_storage
from assay.rulekit.findings import found, knob

WAYS = (Direction.READ, Direction.WRITE)
Account = tuple[float, str]
"""The load's own bytes by a count that holds no other program, and its source."""


def applies(case: TrialCase) -> str | None:
    """Claims that rest on what a device counted."""
    if not rests_on_storage(case.claim):
        return "no claim about a device"
    return None if any(place.devices for place in case.run.places) else "no block device below"


def check(case: TrialCase) -> Finding:
    """Other programs' share of the lowest device's count, and the count that is trusted."""
    steps = [step for way in ways(case) if (step := ladder.lowest_device(case.phase, case.observations, way)) is not None]
    if not steps or not any(baselines(case)):
        return found(RULE, case, State.UNVERIFIED, "Other processes' I/O is unknown: the device has no idle baseline.")
    own, foreign = sum(step.bytes for step in steps), sum(step.other_processes_bytes for step in steps)
    share, device = foreign / max(own, 1.0), steps[0].device
    observed: dict[str, float | str | None] = {"own_bytes": own, "other_processes_bytes": foreign, "baseline_share": share}
    if foreign <= case.thresholds["least_bytes"] or share <= case.thresholds["baseline_share"]:
        part = f"{in_bytes(foreign)} by the idle baseline ({measures.percent(share)})"
        return found(RULE, case, State.PASS, f"Other processes' I/O on {device}: {part}, subtracted.", observed=observed)
    drowned = (
        f"Up to {in_bytes(foreign)} of {device}'s {in_bytes(sum(step.raw_bytes for step in steps))} may be"
        " other processes' I/O (rate in the idle baseline)."
    )
    account = by_group(case) or by_process(case)
    if account is None:
        return found(RULE, case, State.UNVERIFIED, f"{drowned} The load has no account of its own.", observed=observed)
    count, source = account
    return found(
        RULE,
        case,
        State.FAIL,
        f"{drowned} The load's own bytes come from {source}: {in_bytes(count)}.",
        observed={**observed, "account_bytes": count, "account": source},
        evidence=(f"{steps[0].source}, spans before and clock", source),
    )


def ways(case: TrialCase) -> tuple[Direction, ...]:
    """The direction of the measure; of metadata both."""
    return (case.direction,) if case.direction in WAYS else WAYS


def baselines(case: TrialCase) -> Iterator[bool]:
    """Whether the lowest device was watched in an idle baseline, for each direction."""
    for way in ways(case):
        yield any(True for _ in case.observations.rung(case.phase.name, Rung.LOWEST_DEVICE, way, Span.BEFORE))


def by_group(case: TrialCase) -> Account | None:
    """Bytes of the trial's own control group on the lowest device; None where it has none, or none that counts bytes."""
    lowest = {place.devices[-1] for place in case.run.places if place.devices}
    every = [
        series
        for way in ways(case)
        for series in case.observations.over_time(case.phase.name, "cgroup", f"{way}_bytes")
        if f"trial-{case.run.trial.id}-" in series.subject and series.subject.partition(" device:")[2] in lowest
    ]
    count = ladder.rises(every, case.phase.start_ns, case.phase.end_ns)
    return (count, "the account of the trial's control group") if count else None


def by_process(case: TrialCase) -> Account | None:
    """Storage reads of its processes, or writes around the cache; buffered writes are written later, by the kernel."""
    way = ways(case)[0]
    step = ladder.passed(case.phase, case.observations, Rung.CLIENT_CACHE, way)
    sure = way is Direction.READ or knob(case, "direct") is True or case.phase.flush_in_clock
    return (step.bytes, "the account of its processes (/proc/PID/io)") if step is not None and step.bytes and sure else None


RULE = Rule(
    id="E03",
    name="attribution",
    scope=Scope.TRIAL,
    severity=Severity.NOTES,
    part="evidence",
    applies=applies,
    check=check,
    about=About.ALL_HOSTS,
    wrong="A block device counts the I/O of every process. A test that read 8 MB saw its disk read 33 MB. Taking the "
    "device counter for the test's own I/O confirms a wrong figure, or finds a cache that does not exist.",
    alternatives=(
        (
            "The previous phase, or the file system behind it, was still writing during the idle baseline. Wait longer before "
            "the phase."
        ),
        "The I/O before the clock differs from the I/O during the clock. N03 shows the other processes' own counters.",
    ),
    advice="Use a device without other users, or stop the processes that N03 names. Run as root, so that processes and control "
    "groups can be read.",
    sources=(
        "Linux: admin-guide/iostats.rst: the counters are of the whole device",
        "Traeger et al., ACM Transactions on Storage 2008: a nine year study of file system and storage benchmarking",
    ),
)
