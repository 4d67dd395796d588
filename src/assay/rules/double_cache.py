"""Finds a cache between stacked block devices: a loop device or image file with pages in the host's memory.

O_DIRECT bypasses the upper cache only, and `read_bytes` of the process describes the first device below it.
The rule divides the bytes of the file system's device (L8) by the bytes of the lowest visible device (L9); more than `ratio`
fails.
The lowest device includes other processes' I/O, so only a low count is conclusive. If other processes' I/O is too large, the
kernel's flag `loop/dio` decides, else it is unverified.
The cause is named by what was seen of the image: pages in memory (cachestat), or holes and unwritten extents (FIEMAP).
Cached pages of the image that grew by more than `backing_share`, or dio = 0, qualify even a run that came from the disk.
A lowest device that is in memory itself (zram, a RAM disk, an image in tmpfs) fails claims of the device and of stable media.
Writes through a loop device without direct I/O pass if the lowest device took as much by the end of the drain.
With tracepoints (`observers = ["*", "tracepoints"]`) pages of the image that came into memory are counted directly.
RAID, thin volumes and deduplication change the ratio by design.
"""

from __future__ import annotations

from assay import measures
from assay.catalogue import About, Rule, TrialCase
from assay.evidence import ladder, traced
from assay.evidence.rungs import DEVICES
from assay.records import Direction, Durability, Finding, Meaning, Place, Rung, Scope, Severity, Span, State, Tier
from assay.rulekit.applicability import data_only
from assay.rulekit.findings import at_most, found, in_words


def applies(case: TrialCase) -> str | None:
    """Only where there is something between the file system and the lowest device."""
    is_stacked = any(stacked(place) for place in case.run.places)
    return data_only(case) or (None if is_stacked else "no device below the file system's device")


def stacked(place: Place) -> bool:
    """Whether there is a device or an image file below the one that the file system is on."""
    return len(place.devices) > 1 or bool(place.backing_files) or place.memory_device is not None


def check(case: TrialCase) -> Finding:
    """Upper against lower device bytes for reads; for writes, whether the stack passes them on."""
    if (held := in_memory(case)) is not None:
        return no_disk(case, held)
    if is_memory_unseen(case):
        return found(RULE, case, State.UNVERIFIED, "Bytes of a device that is in memory unknown.")
    if case.direction is Direction.WRITE:
        return check_writes(case)
    upper = ladder.passed(case.phase, case.observations, Rung.UPPER_DEVICE, Direction.READ)
    lower = ladder.lowest_device(case.phase, case.observations, Direction.READ)
    if upper is None or lower is None:
        return found(RULE, case, State.UNVERIFIED, "Bytes of the upper or the lower device unknown.")
    if upper.bytes < case.thresholds["least_bytes"]:
        return found(RULE, case, State.PASS, f"{upper.device} was hardly read, so no cache below it matters.")
    grown = backing_growth(case)
    cached = grown is not None and grown > case.thresholds["backing_share"] * upper.bytes
    if upper.raw_bytes > case.thresholds["ratio"] * lower.raw_bytes:
        return cached_between(case, upper, lower)
    hidden = upper.bytes > case.thresholds["ratio"] * lower.bytes
    if hidden and not cached and "1" not in direct_flags(case).values():
        statement = f"{lower.device}: too much I/O of other processes to see this load's reads."
        return found(RULE, case, State.UNVERIFIED, statement, observed=figures(case, upper, lower))
    return passes_through(case, (upper, lower), cached=cached)


def in_memory(case: TrialCase) -> str | None:
    """The device in memory that moved most of the data; None where none is known to have."""
    way = case.direction
    moved = ladder.highest_device(case.phase, case.observations, way) if way is not None else None
    if way is None or moved is None:
        return None
    for place in (one for one in case.run.places if one.memory_device is not None):
        subject = f"device:{place.devices[0]}"
        each = (case.observations.rung(case.phase.name, rung, way, subject=subject) for rung in DEVICES)
        own = max((one.bytes or 0 for found in each for one in found), default=0)
        if own >= max(CAUSE * moved.raw_bytes, case.thresholds["least_bytes"]):
            return place.memory_device
    return None


def is_memory_unseen(case: TrialCase) -> bool:
    """Whether a device is in memory, and nobody counted what any device moved."""
    way = case.direction
    moved = ladder.highest_device(case.phase, case.observations, way) if way is not None else None
    return moved is None and any(place.memory_device is not None for place in case.run.places)


def no_disk(case: TrialCase, held: str) -> Finding:
    """The lowest device itself is in memory."""
    claimed = case.claim.tier is Tier.DEVICE or case.claim.durability is Durability.STABLE_MEDIA
    return found(
        RULE,
        case,
        State.FAIL,
        f"No disk is below: {held} keeps its blocks in memory.",
        severity=Severity.INVALIDATES if claimed else Severity.NOTES,
        part=RULE.part if case.claim.tier is Tier.DEVICE or not claimed else "durability",
        observed={"device": held},
        relabel=f"{'read of' if case.direction is Direction.READ else 'write into'} a device in memory, {held}",
        advice="Use a disk, or an image on one.",
    )


def backing_growth(case: TrialCase) -> float | None:
    """Bytes of the image files that came into memory while the clock ran (tracepoints, else what cachestat saw of them)."""
    added = traced.counted(case.phase, case.observations, "added_bytes", "backing")
    if added is not None:
        return added
    series = list(ladder.gauges(case.phase, case.observations, "page_cache", "cached_bytes", "backing"))
    before, after = ladder.at_arming(case.phase, series), ladder.at_stop(case.phase, series)
    return None if before is None or after is None else after - before


def direct_flags(case: TrialCase) -> dict[str, str]:
    """Loop device -> what the kernel says of its direct I/O (`0` or `1`)."""
    devices = [device for place in case.run.places for device in place.devices if device.startswith("loop")]
    known = {device: ladder.device_fact(case.observations, device, "loop.dio") for device in devices}
    return {device: flag for device, flag in known.items() if flag is not None}


def severity(case: TrialCase, of_device: Severity) -> Severity:
    """A failure has this severity under a claim about the device; under another claim it is a note."""
    return of_device if case.claim.tier is Tier.DEVICE else Severity.NOTES


def figures(case: TrialCase, upper: ladder.LadderStep, lower: ladder.LadderStep) -> dict[str, float | str | None]:
    """What was observed, for the finding."""
    return {
        "ratio": upper.raw_bytes / max(1.0, lower.raw_bytes),
        "upper_bytes": upper.raw_bytes,
        "lower_bytes": lower.raw_bytes,
        "other_processes_bytes": lower.other_processes_bytes,
        "backing_growth_bytes": backing_growth(case),
        **{f"{device}.direct_io": flag for device, flag in direct_flags(case).items()},
    }


def cached_between(case: TrialCase, upper: ladder.LadderStep, lower: ladder.LadderStep) -> Finding:
    """The failure: bytes that the upper device delivered and the lower one never read."""
    share = lower.raw_bytes / upper.raw_bytes
    bound = at_most(case, share)
    rate = f", {in_words(bound)}" if bound else ""
    cause, label, advice = between(case, upper, 1 - share)
    return found(
        RULE,
        case,
        State.FAIL,
        f"{upper.device} delivered {measures.in_bytes(upper.raw_bytes)}, {lower.device} below it read only"
        f" {measures.in_bytes(lower.raw_bytes)}: {cause}.",
        severity=severity(case, Severity.INVALIDATES),
        observed=figures(case, upper, lower),
        bound=bound,
        relabel=label,
        detail=f"share of {lower.device} {measures.percent(share)}{rate}",
        advice=advice,
    )


def between(case: TrialCase, upper: ladder.LadderStep, missing: float) -> tuple[str, str, str]:
    """What answered between the devices, by what of the images is in memory and what was never written: cause, label, advice.

    `missing` is the share that the lower device never read.
    """
    size = of_images(case, "extents", "file_bytes")
    never, held = empty_share(case, size), held_share(case, size)
    direct = "0" not in direct_flags(case).values() and "1" in direct_flags(case).values()
    enough = CAUSE * missing
    answered = 0.0 if direct else held or 0.0  # direct reads of the image go past its pages in memory
    parts = [
        *([f"{measures.percent(never)} of the image was never written (holes, unwritten extents)"] if never else []),
        *([f"{measures.percent(held)} of it was in the host's memory"] if held else []),
    ]
    if never is not None and never >= enough > answered:
        label = f"read of an image that was never written below {upper.device}"
        return f"{parts[0]}, and such reads are answered with zeros", label, WRITE_FIRST
    if (held is None and not direct) or answered >= enough or (never is None and not direct):
        return "the rest came from the host's memory between them", f"read: memory below {upper.device}", RULE.advice
    known = f"; {' and '.join(parts)}" if parts else "; the image is not in memory, and has no holes" if size else ""
    return f"the rest was not read there{known}", f"read: not from the device below {upper.device}", UNKNOWN_CAUSE


CAUSE = 0.5
"""A cause stands for at least this part of what is missing."""
WRITE_FIRST = "Write the whole image with data first (dd if=/dev/urandom); truncate and fallocate write nothing."
UNKNOWN_CAUSE = (
    "Look at the layers between both devices: device mapper, compression, deduplication and thin volumes answer without a disk."
)


def of_images(case: TrialCase, layer: str, metric: str) -> float | None:
    """A gauge of the image files before the clock, together."""
    return ladder.at_arming(case.phase, ladder.gauges(case.phase, case.observations, layer, metric, "backing"))


def empty_share(case: TrialCase, size: float | None) -> float | None:
    """Which share of the image files was never written; None where nobody looked."""
    holes, unwritten = (of_images(case, "extents", metric) for metric in ("hole_bytes", "unwritten_bytes"))
    return None if not size or holes is None or unwritten is None else (holes + unwritten) / size


def held_share(case: TrialCase, size: float | None) -> float | None:
    """Which share of the image files was in memory, before or after the clock; None where nobody looked."""
    series = list(ladder.gauges(case.phase, case.observations, "page_cache", "cached_bytes", "backing"))
    known = [one for one in (ladder.at_arming(case.phase, series), ladder.at_stop(case.phase, series)) if one is not None]
    size = size or of_images(case, "page_cache", "file_bytes")
    return None if not known or not size else min(1.0, max(known) / size)


def passes_through(case: TrialCase, steps: tuple[ladder.LadderStep, ladder.LadderStep], *, cached: bool) -> Finding:
    """The lower device read as much: a pass, but a qualified one where the image's pages were filled all the same."""
    upper, lower = steps
    cached = cached or "0" in direct_flags(case).values()
    statement = (
        f"{upper.device} delivered {measures.in_bytes(upper.raw_bytes)} and {lower.device} below it read"
        f" {measures.in_bytes(lower.raw_bytes)}"
    )
    if not cached:
        return found(RULE, case, State.PASS, f"{statement}: no cache between them.", observed=figures(case, upper, lower))
    return found(
        RULE,
        case,
        State.FAIL,
        f"{statement}, but the stack keeps the image's pages in memory: the next run may find them there.",
        severity=severity(case, Severity.QUALIFIES),
        observed=figures(case, upper, lower),
        relabel=f"reads that filled a cache below {upper.device}",
    )


def check_writes(case: TrialCase) -> Finding:
    """Writes: whether the stack passes them on, directly or by the flushes that follow; what stays dirty is D01's."""
    flags = direct_flags(case)
    cached = [device for device, flag in flags.items() if flag == "0"]
    if not cached:
        how = f"Direct writes (dio = 1): {', '.join(flags)}." if flags else "No loop device in the stack."
        return found(RULE, case, State.PASS, how, observed=flags)
    upper, lower = written(case, Rung.UPPER_DEVICE), written(case, Rung.LOWEST_DEVICE)
    writes = f"{', '.join(cached)} writes into the host's page cache (dio = 0)"
    if upper and lower and upper.raw_bytes <= case.thresholds["ratio"] * lower.raw_bytes:
        statement = f"{writes}, and {lower.device} took the data by the end of the drain."
        return found(RULE, case, State.PASS, statement, observed=figures(case, upper, lower))
    return found(
        RULE,
        case,
        State.FAIL,
        f"{writes}: the device below did not take the data by the end of the drain.",
        severity=severity(case, Severity.QUALIFIES),
        observed=flags,
        relabel=f"write into the memory below {', '.join(cached)}",
    )


def written(case: TrialCase, rung: Rung) -> ladder.LadderStep | None:
    """What a rung wrote while the clock and the drain ran."""
    clock = ladder.passed(case.phase, case.observations, rung, Direction.WRITE)
    return ladder.both(clock, ladder.passed(case.phase, case.observations, rung, Direction.WRITE, Span.DRAIN))


RULE = Rule(
    id="T03",
    name="double-cache",
    scope=Scope.TRIAL,
    severity=Severity.INVALIDATES,
    part="tier",
    short="cached below",
    meaning=Meaning.LOWER_CACHE,
    applies=applies,
    check=check,
    about=About.TARGET_HOST,
    reads=(
        "L8.read",
        "L9.read",
        "L8.write",
        "L9.write",
        "tracepoints.added_bytes",
        "page_cache.cached_bytes",
        "extents.hole_bytes",
        "extents.unwritten_bytes",
        "fact:device.*.loop.dio",
    ),
    wrong="O_DIRECT bypasses the upper cache only. On a loop device without direct I/O the second pass over a file ran at 1815 "
    'MB/s. O_DIRECT, the process counters and the loop device\'s counters all indicated "device", and the disk below read 0.4 '
    "of 268 MB. With `--direct-io=on` it was 278 MB/s and the disk read 268.8 MB.",
    alternatives=(
        "RAID, thin volumes, deduplication and compression between the devices change the ratio by design. Check the layout.",
    ),
    advice="Attach the loop device with --direct-io=on and check /sys/block/loopN/loop/dio (it remains 0 if the alignment "
    "forbids it). Or use a partition.",
    sources=("losetup(8), --direct-io", "measured: 1815 MB/s with dio off, 278 MB/s with dio on, both with O_DIRECT above"),
)
