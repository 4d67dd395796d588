"""Finds files that became longer without data: shared extents (reflink), holes, preallocated space, another name.

A reflink, truncate, fallocate or the copy of a hole makes a file longer without data. A hard link is a further name.
The rule judges external commands that tell no bytes of their own.
It compares how much longer the files became with what the processes dirtied, and with what the devices took, drain included.
In `assay stat` the rule also knows the extents after the drain: FIEMAP with SHARED and UNWRITTEN, else SEEK_HOLE.
- Less than `data_share` of the growth is data: claims of stable media and of the device are invalid. Other claims: a note.
- Other processes write to the device, and the extents are unknown: unverified.

Files whose former size nobody knows are left out, and so are file systems without a device, of which the kernel counts nothing.
"""

from __future__ import annotations

from assay import measures
from assay.catalogue import About, Rule, TrialCase
from assay.evidence import growth, ladder
from assay.evidence.growth import TotalGrowth
from assay.measures import in_bytes
from assay.records import Direction, Durability, Finding, Meaning, Rung, Scope, Severity, State, Tier
from assay.rulekit.findings import at_most, found


def applies(case: TrialCase) -> str | None:
    """External commands that write and tell no bytes."""
    if case.direction is not Direction.WRITE:
        return "not a write of data"
    if not case.phase.values or ladder.reported_bytes(case.phase, Direction.WRITE):
        return "the load tells how many bytes it wrote"
    grown = growth.of_files(case.phase, case.observations)
    return (
        None if grown is not None and grown.bytes >= case.thresholds["least_bytes"] else "no file is known to have become longer"
    )


def check(case: TrialCase) -> Finding:
    """What became longer, against what was dirtied and what the devices took."""
    grown = growth.of_files(case.phase, case.observations)
    dirtied = ladder.passed(case.phase, case.observations, Rung.CLIENT_CACHE, Direction.WRITE)
    taken = ladder.written_with_drain(case.phase, case.observations)
    if grown is None or (dirtied is None and not grown.sharing_known):
        return found(RULE, case, State.UNVERIFIED, "Growth of the files, and what was dirtied, unknown.")
    limit = case.thresholds["data_share"]
    data = grown.bytes - grown.empty_bytes
    if dirtied is not None:
        data = min(data, dirtied.raw_bytes)
    observed = {"grown_bytes": grown.bytes, "data_bytes": data, "device_bytes": taken.raw_bytes if taken else None}
    if data >= limit * grown.bytes:
        statement = f"Files became {in_bytes(grown.bytes)} longer, with at least {in_bytes(data)} of data."
        return found(RULE, case, State.PASS, statement, observed=observed)
    if not grown.kinds and (taken is None or taken.raw_bytes >= limit * grown.bytes):
        statement = (
            f"Files became {in_bytes(grown.bytes)} longer, the command dirtied {in_bytes(data)}: who wrote the rest is unknown."
        )
        return found(RULE, case, State.UNVERIFIED, statement, observed=observed)
    return empty(case, grown, data, observed)


def empty(case: TrialCase, grown: TotalGrowth, data: float, observed: dict[str, float | None]) -> Finding:
    """The failure: longer, and nothing was written."""
    kinds = ", ".join(grown.kinds) or "shared extents, or another name"
    claimed = case.claim.tier is Tier.DEVICE or case.claim.durability is Durability.STABLE_MEDIA
    share = max(0.0, data / grown.bytes)
    return found(
        RULE,
        case,
        State.FAIL,
        f"Files became {in_bytes(grown.bytes)} longer, with {in_bytes(data)} of data ({kinds}): no such amount was written.",
        severity=Severity.INVALIDATES if claimed else Severity.NOTES,
        part="durability" if case.claim.durability is Durability.STABLE_MEDIA else RULE.part,
        observed=observed,
        bound=at_most(case, share),
        relabel="longer without data",
        detail=f"{kinds}; {measures.percent(share)} data",
    )


RULE = Rule(
    id="D09",
    name="grown-without-data",
    scope=Scope.TRIAL,
    severity=Severity.INVALIDATES,
    part="tier",
    short="longer without data",
    meaning=Meaning.NEVER_WRITTEN,
    applies=applies,
    check=check,
    about=About.ALL_HOSTS,
    reads=("growth.grown_bytes", "extents.file_bytes", "L2.write", "L9.write"),
    wrong="`cp` of 10 GB on xfs or btrfs takes milliseconds: the copy shares the extents of the original. `truncate` and "
    "`fallocate` make a file of any size at once. The size over the time is called the rate of the disk.",
    alternatives=(
        "Another process (a server, a kernel client) wrote the data: then the devices took them.",
        "The file system deduplicated the data after they were written.",
    ),
    advice="Write the data: `cp --reflink=never --sparse=never`, or dd with conv=fsync. Or report the time alone, "
    "without a rate.",
    sources=(
        "ioctl_ficlonerange(2), copy_file_range(2), fallocate(2), ioctl FIEMAP: FIEMAP_EXTENT_SHARED, FIEMAP_EXTENT_UNWRITTEN",
        "GNU coreutils 9.0: cp makes reflinks by default",
    ),
)
