"""Gives the bytes that storage wrote for each byte of the load: journal, copies, parity, whole blocks.

The rule divides the device bytes during clock and drain by the bytes that the load wrote. More than `ratio` is a note under
every claim.
Other processes may write to a disk too, so an excess counts only at a device that holds the target alone.
That is a loop device, or one on the lab's image.
An excess at a shared disk, fewer than `least_bytes`, or missing counters are unverified.
D06, T07 and E05 judge too few bytes. Writes inside a solid-state disk, and work after the drain (checkpoints, garbage
collection), are not visible.
"""

from __future__ import annotations

from assay.catalogue import About, Rule, TrialCase
from assay.evidence import ladder
from assay.measures import in_bytes
from assay.records import Direction, Finding, Rung, Scope, Severity, Span, State
from assay.rulekit.findings import found


def applies(case: TrialCase) -> str | None:
    """Writes of data."""
    return None if case.direction is Direction.WRITE else "not a write of data"


def check(case: TrialCase) -> Finding:
    """Bytes of the lowest device, then of the one that the file system is on, over bytes written."""
    written = ladder.requested_bytes(case.phase, case.observations, Direction.WRITE)
    lowest, upper = took(case, Rung.LOWEST_DEVICE), took(case, Rung.UPPER_DEVICE)
    if not written or lowest is None:
        lacking = "Written bytes" if not written else "Writes of the lowest visible device"
        return found(RULE, case, State.UNVERIFIED, f"{lacking} unknown.")
    if written < case.thresholds["least_bytes"]:
        return found(RULE, case, State.UNVERIFIED, f"{in_bytes(written)} are too few to separate from the journal.")
    observed = {
        "ratio": lowest.raw_bytes / written,
        "written_bytes": written,
        "device_bytes": lowest.raw_bytes,
        "other_processes_bytes": lowest.other_processes_bytes,
        "upper_bytes": upper.raw_bytes if upper else None,
    }
    limit = case.thresholds["ratio"] * written
    if lowest.raw_bytes <= limit:
        return found(RULE, case, State.PASS, f"{in_words(lowest, written)}.", observed=observed)
    own = next((step for step in (upper, lowest) if step is not None and is_private(case, step)), None)
    if own is None:
        statement = f"{in_words(lowest, written)}; other processes' I/O may be included."
        return found(RULE, case, State.UNVERIFIED, statement, observed=observed)
    if own.raw_bytes <= limit:
        statement = f"{in_words(own, written)}; the excess at {lowest.device} may be other processes' I/O."
        return found(RULE, case, State.PASS, statement, observed=observed)
    return found(
        RULE,
        case,
        State.FAIL,
        f"{in_words(own, written)}. The excess is journal, metadata, block copies or parity.",
        observed={**observed, "ratio": own.raw_bytes / written},
        relabel="storage wrote more than the load",
        detail=f"{own.raw_bytes / written:.1f} bytes per byte written",
    )


def is_private(case: TrialCase, step: ladder.LadderStep) -> bool:
    """Whether a device holds the file system of a target and nothing else: a loop device, or one on an image of ours."""
    uppermost = {place.devices[0]: place for place in case.run.places if place.devices}
    place = uppermost.get(step.device)
    return place is not None and (step.device.startswith("loop") or bool(place.backing_files))


def took(case: TrialCase, rung: Rung) -> ladder.LadderStep | None:
    """What a rung took while the clock and the drain ran; None for a stack of several upper devices, which count a byte each."""
    clock = ladder.passed(case.phase, case.observations, rung, Direction.WRITE)
    step = clock and ladder.both(clock, ladder.passed(case.phase, case.observations, rung, Direction.WRITE, Span.DRAIN))
    return None if step is not None and rung is Rung.UPPER_DEVICE and len(step.subjects) > 1 else step


def in_words(step: ladder.LadderStep, written: float) -> str:
    """Bytes that a device took per byte written, in words."""
    return (
        f"{step.device} took {in_bytes(step.raw_bytes)} for {in_bytes(written)} written,"
        f" {step.raw_bytes / written:.2f} bytes per byte, drain included"
    )


RULE = Rule(
    id="D07",
    name="write-amplification",
    scope=Scope.TRIAL,
    severity=Severity.NOTES,
    part="tier",
    applies=applies,
    check=check,
    about=About.ALL_HOSTS,
    reads=("L0.write", "L9.write", "L8.write"),
    wrong="This is no mistake in a number: a file system with guarantees writes more than it is given. But 100 MB/s that cost "
    "the disk 200 MB/s read differently, and this ratio often decides a comparison of file systems. Measured: 33.6 MB onto "
    "ext4 were 33.6 MB of the loop device with data=ordered, and 67.8 MB with data=journal.",
    alternatives=(
        "The file system did its own work (lazy initialisation, a checkpoint of earlier phases).",
        "A mirror or parity below the file system writes each byte several times by design. Check its factor.",
    ),
    advice="Report the ratio beside the rate; on a shared disk measure it on a loop disk (target loopfs). Larger records, "
    "fewer flushes, no data in the journal (data=ordered) and no copy-on-write for overwrites (chattr +C) lower it.",
    sources=(
        "Traeger, Zadok, Joukov, Wright: A nine year study of file system and storage benchmarking, ACM TOS 4(2), 2008",
        "SNIA SSS PTS: write amplification is a property of the workload as much as of the device",
    ),
)
