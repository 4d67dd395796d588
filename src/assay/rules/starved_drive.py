"""Finds a tape drive that waited for its source: the figure is the source's, and a slow source makes the drive stop and go.

A drive that gets data more slowly than its slowest streaming speed stops, moves back and starts again. The rule reads the time in
which the drive had a command (/sys/class/scsi_tape, io_ns) under the clock.
- The drive had no command for at least `idle_share` of the time: a note.
- The same under a claim of the device: a bound. The drive's rate is at least the measured one.
  It is at most the rate over the time with a command.

A drive with free buffer answers a write at once, and its tape moves without a command. So the upper bound is the interface's.
Stops and repositioning are not seen.
"""

from __future__ import annotations

from assay import measures
from assay.catalogue import About, Rule, TrialCase
from assay.evidence import tapes
from assay.records import Finding, Scope, Severity, State, Tier
from assay.rulekit.applicability import on_tape
from assay.rulekit.findings import found, held_back


def check(case: TrialCase) -> Finding:
    """The share of the clock in which the drive had no command."""
    assert case.direction is not None
    drive = tapes.takes(case.run, case.phase, case.observations, case.direction) or ""
    busy_ns = tapes.rose(case.phase, case.observations, drive, "io_ns")
    clock_ns = case.phase.lasted_ns
    if busy_ns is None or clock_ns <= 0:
        return found(RULE, case, State.UNVERIFIED, f"The time in which {drive} had a command is unknown.")
    idle = max(0.0, 1 - busy_ns / clock_ns)
    limit = case.thresholds["idle_share"]
    statement = f"{drive} had no command for {measures.percent(idle)} of the time (limit {measures.percent(limit)})"
    if idle < limit:
        return found(RULE, case, State.PASS, f"{statement}.", observed={"idle_share": idle})
    of_device = case.claim.tier is Tier.DEVICE
    return found(
        RULE,
        case,
        State.FAIL,
        f"{statement}: it waited for its source or for the program.",
        severity=Severity.QUALIFIES if of_device else Severity.NOTES,
        observed={"idle_share": idle},
        bound=held_back(case, 1 - idle) if of_device and idle < 1 else None,
        relabel="a tape drive that waits: the rate of its source",
        detail=f"no command for {measures.percent(idle)} of the time",
    )


RULE = Rule(
    id="L23",
    name="starved-drive",
    scope=Scope.TRIAL,
    severity=Severity.QUALIFIES,
    part="load",
    short="tape drive starved",
    applies=on_tape,
    check=check,
    about=About.TARGET_HOST,
    reads=("tape.io_ns",),
    wrong="A tape drive is replaced by a faster one, and the backup is no faster: the files came from a busy server. "
    "Below its slowest streaming speed the new drive stops and goes, and is slower than the old one.",
    alternatives=("The program computes between its writes (compression, checksums). Give it a buffer of its own (mbuffer).",),
    advice="Read from a source that is faster than the drive, or put a buffer before it (mbuffer -m 2G).",
    sources=("Linux: Documentation/ABI/testing/sysfs-class-scsi_tape",),
)
