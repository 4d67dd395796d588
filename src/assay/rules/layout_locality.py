"""Finds data within a small part of a rotating disk: the heads hardly move, and outer tracks are fast.

The observer `layout` reads the extents of the data files (FIEMAP). The span from the first to the last byte is divided by the
device size; below `span_share` it is a note.
Solid-state disks (`queue/rotational` = 0) are n/a.
The finding also gives the number of files in the fullest directory, without a judgement. More than 256 files are sampled evenly.
"""

from __future__ import annotations

import posixpath
from collections import Counter

from assay import measures
from assay.catalogue import About, Rule, TrialCase
from assay.evidence import ladder
from assay.records import Finding, Scope, Severity, State
from assay.rulekit.applicability import data_only
from assay.rulekit.findings import found

SECTOR_BYTES = 512
"""The unit of /sys/block/DEVICE/size, whatever the device's own sectors are."""


def applies(case: TrialCase) -> str | None:
    """Reads and writes of data files on a device that says that it rotates."""
    return data_only(case) or ("the device has no moving parts" if rotates(case) == "0" else None)


def rotates(case: TrialCase) -> str | None:
    """What the kernel says of the device that the file system is on."""
    first = next((place.devices[0] for place in case.run.places if place.devices), None)
    return ladder.device_fact(case.observations, first, "queue.rotational") if first else "0"


def check(case: TrialCase) -> Finding:
    """The part of the device between the first and the last byte of the data."""
    low, high = (at_end(case, metric) for metric in ("lowest_byte", "highest_byte"))
    device = next(place.devices[0] for place in case.run.places if place.devices)
    sectors = ladder.device_fact(case.observations, device, "size")
    if low is None or high is None or not sectors or not sectors.isdigit() or not int(sectors):
        return found(RULE, case, State.UNVERIFIED, "Place of the data, or size of the device, unknown.")
    share = min(1.0, (high - low) / (int(sectors) * SECTOR_BYTES))
    observed = {"span_share": share, "span_bytes": high - low, "files_in_a_directory": float(largest_directory(case))}
    span = f"All data within {measures.in_bytes(high - low)} of {device}, {measures.percent(share)} of it"
    if share >= case.thresholds["span_share"]:
        return found(RULE, case, State.PASS, f"{span}.", observed=observed)
    text = f"{span} (limit {measures.percent(case.thresholds['span_share'])}): short seeks, unlike on a disk in use."
    return found(RULE, case, State.FAIL, text, observed=observed)


def at_end(case: TrialCase, metric: str) -> float | None:
    """The last look of the phase: files that it made have their place by then."""
    series = next(iter(case.observations.over_time(case.phase.name, "layout", metric)), None)
    return series.value[-1] if series and series.value else None


def largest_directory(case: TrialCase) -> int:
    """How many data files the fullest directory holds."""
    return max(Counter(posixpath.dirname(path) for path in case.phase.data_files).values(), default=0)


RULE = Rule(
    id="T13",
    name="layout-locality",
    scope=Scope.TRIAL,
    severity=Severity.NOTES,
    part="tier",
    reads=("layout.lowest_byte", "layout.highest_byte", "fact:device.0.size", "fact:device.0.queue.rotational"),
    applies=applies,
    check=check,
    about=About.TARGET_HOST,
    wrong="A test file of a few GiB on an empty disk of several TiB lies in one place. Random reads of it are short seeks. A "
    "new file system often begins on the outer tracks, which are up to twice as fast as the inner ones. Production data lie "
    "all over the disk.",
    alternatives=(
        "A virtual disk often reports rotation and lies on flash. Then all places are alike, and this note says nothing.",
        "Below a loop device, a RAID or a thin volume the places on the disks differ from this span.",
    ),
    advice="Spread the data over most of the disk, or place them beside other data that fill the disk as in production. Or "
    "report the part of the disk that the figure covers.",
    sources=(
        "Traeger, Zadok, Joukov, Wright: A nine year study of file system and storage benchmarking, ACM TOS 4(2), 2008",
        "Agrawal, Arpaci-Dusseau, Arpaci-Dusseau: Generating realistic Impressions for file-system benchmarking, FAST 2009",
    ),
)
