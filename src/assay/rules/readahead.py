"""Gives the bytes that storage read for each byte of a random read: read-ahead, whole pages for small records.

The rule divides the bytes that the processes read from storage (read-ahead included) by the bytes requested. Without process
counters it takes the growth of the cached pages.
With tracepoints (`observers = ["*", "tracepoints"]`) the pages of the data files that came into memory are used first.
More than `ratio` bytes per byte is a note under every claim: the operations were done, the device had other work.
Fewer than `least_bytes` are unverified. Writes, direct reads and sequential reads are n/a.
Read-ahead inside an array or a disk is not visible.
"""

from __future__ import annotations

from assay import measures
from assay.catalogue import About, Rule, TrialCase
from assay.evidence import ladder, traced
from assay.records import Direction, Finding, Rung, Scope, Severity, State
from assay.rulekit.applicability import reads_only
from assay.rulekit.findings import Figures, found, knob

RANDOM = "random"


def applies(case: TrialCase) -> str | None:
    """Buffered random reads."""
    if why := reads_only(case):
        return why
    if not case.measure.operation.startswith(RANDOM):
        return "not a random read: read-ahead is intended"
    return "direct reads have no read-ahead" if knob(case, "direct") is True else None


def check(case: TrialCase) -> Finding:
    """Bytes read from storage, or brought into memory, over bytes asked."""
    requested, read = ladder.requested_bytes(case.phase, case.observations, Direction.READ), read_bytes(case)
    if not requested or read is None:
        lacking = "Bytes read from storage" if requested else "Requested bytes"
        return found(RULE, case, State.UNVERIFIED, f"{lacking} unknown.")
    ahead = read_ahead(case)
    times = read / requested
    observed: Figures = {"ratio": times, "requested_bytes": requested, "read_bytes": read, "read_ahead_kb": ahead}
    if requested < case.thresholds["least_bytes"]:
        text = f"{measures.in_bytes(requested)} requested are too few to separate from the file system's own reads."
        return found(RULE, case, State.UNVERIFIED, text, observed=observed)
    text = f"Storage read {measures.in_bytes(read)} for {measures.in_bytes(requested)} requested, {times:.2f} bytes per byte"
    if times <= case.thresholds["ratio"]:
        return found(RULE, case, State.PASS, f"{text}.", observed=observed)
    may = f" (read-ahead of the devices: {ahead} KiB)" if ahead else ""
    return found(
        RULE,
        case,
        State.FAIL,
        f"{text} (limit {case.thresholds['ratio']:g}): read-ahead{may} or whole pages. The device did other reads.",
        observed=observed,
        relabel="storage read more than was requested",
        detail=f"{times:.1f} bytes per byte requested",
    )


def read_bytes(case: TrialCase) -> float | None:
    """What of the files came into memory, as tracepoints counted it; else what the processes made storage read.

    Where nobody counted either, by how much more of the files is in memory.
    """
    brought = traced.counted(case.phase, case.observations, "added_bytes", "path")
    if brought is not None:
        return brought
    own = ladder.passed(case.phase, case.observations, Rung.CLIENT_CACHE, Direction.READ)
    if own is not None:
        return own.raw_bytes
    before, after = (
        ladder.data_files(case.phase, case.observations, "cached_bytes", when) for when in (ladder.at_arming, ladder.at_stop)
    )
    return None if before is None or after is None else max(0.0, after - before)


def read_ahead(case: TrialCase) -> str | None:
    """Read-ahead of each device of the stack in KiB, from the file system's down; None if it was not read."""
    devices = dict.fromkeys(device for place in case.run.places for device in place.devices)
    found_kb = (ladder.device_fact(case.observations, device, "bdi.read_ahead_kb") for device in devices)
    return ", ".join(text for text in found_kb if text) or None


RULE = Rule(
    id="T08",
    name="readahead",
    scope=Scope.TRIAL,
    severity=Severity.NOTES,
    part="tier",
    applies=applies,
    check=check,
    about=About.ALL_LOAD_HOSTS,
    reads=("L0.read", "tracepoints.added_bytes", "L2.read", "page_cache.cached_bytes"),
    wrong="Random reads of 4 KiB through a mapping made a loop device read 62.8 bytes for each byte requested. The kernel "
    "reads around a fault. The device did large reads, and the figure is called one of small reads. Later reads find their "
    "pages in memory.",
    alternatives=(
        "Records smaller than a page (4 KiB) or a file system block are read as a whole block. That is no read-ahead.",
        "The file system read its own metadata (extent trees) for the first time. A second cold pass reads as much.",
    ),
    advice="Use direct = true for the device's own random reads, or advise the kernel (posix_fadvise or madvise RANDOM, fio "
    "fadvise_hint). Keep the read-ahead (queue/read_ahead_kb) equal in both arms.",
    sources=(
        "Traeger, Zadok, Joukov, Wright: A nine year study of file system and storage benchmarking, ACM TOS 4(2), 2008",
        "Linux: mm/readahead.c; posix_fadvise(2), madvise(2): MADV_RANDOM",
    ),
)
