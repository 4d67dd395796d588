"""Finds device rates that the device never reached: the file system stored the data in fewer bytes.

FIEMAP marks extents as encoded if they hold other bytes than the file (mostly compressed). They are read again after the drain.
If more than `encoded_share` is encoded, the rule compares the requested bytes with the bytes of the file system's device; more
than `ratio` fails.
- A device claim is invalid and bounded by the device's share. Data of a declared ratio (`compressible`) only qualify.
- A claim of stable media for a write is qualified and bounded by it; a declared ratio is a note. Other claims: a note.
- Not encoded, but knobs or arguments of dd or fio give zeros, duplicates or compressible data: a note, since layers below may
  reduce them.
- Extents or device bytes unknown, or too much I/O of other processes: unverified.

The rule reads no data blocks and no fio job files. ZFS, network file systems and deduplication have no such extents.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from assay import measures
from assay.catalogue import About, Rule, TrialCase
from assay.evidence import ladder
from assay.records import Direction, Durability, Finding, Meaning, Scope, Series, Severity, Span, State, Tier
from assay.rulekit.applicability import data_only
from assay.rulekit.findings import at_most, found, knob

FIO_OPTION = re.compile(
    r"--(zero_buffers|scramble_buffers|refill_buffers|buffer_pattern|buffer_compress_percentage|dedupe_percentage)"
    r"(?:[= ](?!-)(\S+))?(?=\s|$)"
)


def check(case: TrialCase) -> Finding:
    """How many bytes the application moved for each byte of the device, where the file system stores encoded data."""
    direction = case.phase.directions[case.measure.operation]
    encoded = ladder.encoded_bytes(case.phase, case.observations)
    held = ladder.total(item.value[-1] for item in extents(case, "file_bytes") if item.value)
    if not any(item.value for item in extents(case, "encoded_bytes")) or (encoded and not held):
        return found(RULE, case, State.UNVERIFIED, "Encoding of the stored data unknown (FIEMAP of the data files).")
    share = min(1.0, encoded / held) if held else 0.0
    if share <= case.thresholds["encoded_share"]:
        return as_it_is(case, share)
    requested, step = ladder.requested_bytes(case.phase, case.observations, direction), of_device(case, direction)
    device_bytes = step.raw_bytes if step else None
    observed = {"encoded_share": share, "requested_bytes": requested, "device_bytes": device_bytes}
    if not requested or step is None or requested < case.thresholds["least_bytes"]:
        text = f"{measures.percent(share)} of the data is stored encoded; its size on the device is unknown."
        return found(RULE, case, State.UNVERIFIED, text, observed=observed)
    if step.raw_bytes * case.thresholds["ratio"] < requested:
        return reduced(case, requested, step, observed)
    if step.bytes * case.thresholds["ratio"] < requested:
        text = f"{step.device}: too much I/O of other processes to see the stored size of the data."
        return found(RULE, case, State.UNVERIFIED, text, observed=observed)
    text = f"Data stored encoded without being smaller: {step.device} moved {measures.in_bytes(step.raw_bytes)}."
    return found(RULE, case, State.PASS, text, observed=observed)


def extents(case: TrialCase, metric: str) -> list[Series]:
    """FIEMAP's counts of the data files over time."""
    return [*ladder.gauges(case.phase, case.observations, "extents", metric, "path")]


def of_device(case: TrialCase, direction: Direction) -> ladder.LadderStep | None:
    """What the device that the file system is on moved for the load: of writes with the drain."""
    clock = ladder.highest_device(case.phase, case.observations, direction)
    if direction is Direction.READ or clock is None:
        return clock
    return ladder.both(clock, ladder.highest_device(case.phase, case.observations, direction, Span.DRAIN))


def poverty(case: TrialCase) -> list[str]:
    """In which ways the data can be made smaller, as the knobs of our own engine or the arguments of a command say, in words."""
    knobs = {name: knob(case, name) for name in ("compressible", "zeros", "duplicates")}
    values = {name: float(value) for name, value in knobs.items() if isinstance(value, int | float)}
    argv = knob(case, "argv")
    writes = case.direction is Direction.WRITE
    if writes and isinstance(argv, tuple):
        values |= of_command([str(word) for word in argv])
    limits = {"compressible": "ratio", "zeros": "zero_share", "duplicates": "duplicate_share"}
    return [
        f"compressible to 1/{values[name]:.3g}" if name == "compressible" else f"{measures.percent(values[name])} {name}"
        for name, limit in limits.items()
        if values.get(name, 0.0) > case.thresholds[limit]
    ]


def of_command(argv: Sequence[str]) -> dict[str, float]:
    """Data that dd and fio are set to write, as knobs; job files are not read. Empty without settings.

    fio writes one buffer again and again where it is told to change nothing in it (HOWTO: zero_buffers, scramble_buffers,
    buffer_compress_percentage, dedupe_percentage, buffer_pattern).
    """
    words = " ".join(argv).split()
    tools = {word.rpartition("/")[2] for word in words}
    if "dd" in tools:
        return {"zeros": 1.0} if "if=/dev/zero" in words else {}
    options = dict(FIO_OPTION.findall(" ".join(words))) if "fio" in tools else {}
    knobs: dict[str, float] = {}
    if options.get("zero_buffers", "0") != "0":
        knobs["zeros"] = 1.0
    if share := of_percentage(options.get("buffer_compress_percentage", "")):
        knobs["compressible"] = 1 / max(0.01, 1 - share)
    same = options.get("scramble_buffers") == "0" and options.get("refill_buffers", "0") == "0"
    if "buffer_pattern" in options or (same and not knobs):
        knobs["duplicates"] = 1.0
    elif share := of_percentage(options.get("dedupe_percentage", "")):
        knobs["duplicates"] = share
    return knobs


def of_percentage(text: str) -> float:
    """A percentage as a share; 0 where it is no whole number."""
    return min(1.0, int(text) / 100) if text.isdecimal() else 0.0


def as_it_is(case: TrialCase, share: float) -> Finding:
    """Nothing is stored encoded: state how far the data could be reduced, if known."""
    observed, ways = {"encoded_share": share}, poverty(case)
    if not ways:
        return found(RULE, case, State.PASS, "Data stored unencoded.", observed=observed)
    return found(
        RULE,
        case,
        State.FAIL,
        f"Data are {' and '.join(ways)}; the file system stores them unencoded, but layers below may reduce them"
        " (an array, a hypervisor, the disk itself).",
        severity=Severity.NOTES,
        observed=observed,
        relabel="of reducible data",
        detail=", ".join(ways),
    )


def reduced(case: TrialCase, requested: float, step: ladder.LadderStep, observed: Mapping[str, float | None]) -> Finding:
    """The failure; declared compressible data make it a bound."""
    share, ways = step.raw_bytes / requested, poverty(case)
    part, stored = measures.percent(share), measures.percent(observed["encoded_share"] or 0.0)
    of_data = f" of data ({' and '.join(ways)})" if ways else ""
    sizes = f"{measures.in_bytes(requested)}{of_data} became {measures.in_bytes(step.raw_bytes)} on {step.device}"
    declared = bool(ways) and all(way.startswith("compressible") for way in ways)
    rate = at_most(case, share)
    return found(
        RULE,
        case,
        State.FAIL,
        f"{sizes} ({stored} of the files encoded): the device ran at {part} of this rate at most.",
        severity=severity(case, declared=declared and rate is not None),
        part=RULE.part if case.claim.tier is Tier.DEVICE else "durability",
        observed=observed,
        bound=rate,
        relabel=f"{case.measure.operation.replace('_', ' ')} of compressed data: file system compression, not the device",
        detail=f"stored in {part} of their size",
    )


def severity(case: TrialCase, *, declared: bool) -> Severity:
    """A device claim is wrong; what reached stable media are fewer bytes than were written; a declared ratio is meant."""
    if case.claim.tier is Tier.DEVICE:
        return Severity.QUALIFIES if declared else Severity.INVALIDATES
    media = case.claim.durability is Durability.STABLE_MEDIA and case.direction is Direction.WRITE
    return Severity.QUALIFIES if media and not declared else Severity.NOTES


RULE = Rule(
    id="T07",
    name="reducible-data",
    scope=Scope.TRIAL,
    severity=Severity.INVALIDATES,
    part="tier",
    meaning=Meaning.REDUCED,
    applies=data_only,
    check=check,
    about=About.ALL_HOSTS,
    reads=("L0.read", "L0.write", "L8.read", "L8.write", "L9.read", "L9.write", "extents.encoded_bytes"),
    wrong="`dd if=/dev/zero` onto a compressing file system is limited by the compressor. For example 33.6 MB of zeros went "
    "onto btrfs with compress=zstd as 1.42 MB of the device. The number is called the disk's.",
    alternatives=(
        "Hits in memory also reduce the device's I/O for reads, not for writes. Compare with a file of dense data.",
        "Small files stored in the metadata (inline data) are marked as encoded, too.",
    ),
    advice="Use incompressible data (the engine's default; fio refill_buffers=1, never zero_buffers or /dev/zero), or mount "
    "without compression. If production data compress, declare their ratio (compressible) and claim no device.",
    at_shell="Use incompressible data (never zero_buffers or /dev/zero), or mount without compression.",
    sources=(
        "IO500 rules: data are written in full and not reduced because of what they contain",
        "fio HOWTO: scramble_buffers is no match for a clever block compressor",
        "ioctl FIEMAP: FIEMAP_EXTENT_ENCODED",
    ),
)
