"""Finds files that were never written: the file system answers reads of holes and unwritten extents with zeros.

FIEMAP of the data files just before the clock gives holes and UNWRITTEN extents over the files' size; above `hole_share` the
rule fails.
`st_blocks` alone shows holes and misses fallocated files.
Reads with tier = device are invalid, overwrites with tier = device qualified (they also allocate), anything else is a note.
Files that the phase itself makes pass for writes; for reads their first reading counts.

Most mounts of servers have no FIEMAP. A hole delivers nothing.
So a read also passes if the server's storage delivered what the clients read, all but `hole_share` (L6 over L4, as in T02).
The storage of the process behind a FUSE mount counts alike.
"""

from __future__ import annotations

from assay import measures
from assay.catalogue import Rule, TrialCase
from assay.evidence import fuse, ladder, served
from assay.records import Direction, Finding, Meaning, Scope, Severity, State, Tier
from assay.rulekit.applicability import data_only
from assay.rulekit.findings import found


def check(case: TrialCase) -> Finding:
    """Holes and unwritten bytes over the size of the data files before the clock."""
    holes, unwritten, size = (before(case, metric) for metric in ("hole_bytes", "unwritten_bytes", "file_bytes"))
    if size is None and known_later(case):
        return found(RULE, case, State.PASS, "No data files before the clock: this phase makes the files.")
    if holes is None or unwritten is None or size is None:
        reasons = dict.fromkeys(filter(None, map(case.observations.why_missing, RULE.reads)))
        why = f": {'; '.join(reasons)}" if reasons else ""
        return delivered(case) or found(RULE, case, State.UNVERIFIED, f"Extents of the data files unknown{why}.")
    if not size:
        return found(RULE, case, State.PASS, "Data files empty before the clock: this phase makes the files.")
    share = (holes + unwritten) / size
    observed = {"share": share, "hole_bytes": holes, "unwritten_bytes": unwritten, "file_bytes": size}
    limit = case.thresholds["hole_share"]
    total = measures.in_bytes(size)
    if share <= limit:
        statement = f"{measures.percent(1 - share)} of {total} are real data (holes: limit {measures.percent(limit)})."
        return found(RULE, case, State.PASS, statement, observed=observed)
    part = f"{measures.percent(share)} of {total} was never written"
    kinds = f"{measures.in_bytes(holes)} holes and {measures.in_bytes(unwritten)} unwritten extents"
    effect = (
        "The file system answers such reads with zeros, without a device." if reads(case) else "Writing them allocates space."
    )
    decisive = Severity.INVALIDATES if reads(case) else Severity.QUALIFIES
    return found(
        RULE,
        case,
        State.FAIL,
        f"{part}: {kinds}. {effect}",
        severity=decisive if case.claim.tier is Tier.DEVICE else Severity.NOTES,
        observed=observed,
        relabel="reads of zeros" if reads(case) else "writes that also allocate space",
        detail=part,
    )


def delivered(case: TrialCase) -> Finding | None:
    """A pass where the server's storage delivered what the clients read: it delivers nothing of a hole. None where it did not."""
    if not reads(case):
        return None
    user_space = fuse.behind(case.run, case.phase, case.observations)
    if served.server(case.run) is None and user_space is not None:
        return by_user_space(case, user_space)
    if served.server(case.run) is None:
        return None
    got = served.payload(case.phase, case.observations, Direction.READ)
    read = served.storage_io(case.phase, case.observations, Direction.READ)
    if not got or read is None or 1 - read.raw_bytes / got > case.thresholds["hole_share"]:
        return None
    amounts = f"{measures.in_bytes(read.raw_bytes)} of the {measures.in_bytes(got)} that the clients read"
    statement = f"The server's storage delivered {amounts}, and it delivers nothing of a hole."
    return found(RULE, case, State.PASS, statement, observed={"share": max(0.0, 1 - read.raw_bytes / got)})


def by_user_space(case: TrialCase, seen: fuse.Behind) -> Finding | None:
    """A pass where the process behind a FUSE mount read from storage what was requested; None where it did not."""
    requested = ladder.requested_bytes(case.phase, case.observations, Direction.READ)
    if not requested or seen.read_bytes is None or 1 - seen.read_bytes / requested > case.thresholds["hole_share"]:
        return None
    amounts = f"{measures.in_bytes(seen.read_bytes)} for {measures.in_bytes(requested)} requested"
    statement = f"The process behind {' and '.join(seen.mounts)} read {amounts} from storage, and a hole delivers nothing."
    return found(RULE, case, State.PASS, statement, observed={"share": max(0.0, 1 - seen.read_bytes / requested)})


def reads(case: TrialCase) -> bool:
    """Whether the operation reads."""
    return case.direction is Direction.READ


def before(case: TrialCase, metric: str) -> float | None:
    """A figure of the data files' extents just before the clock, summed over the files.

    Of files that are read, but were made within the clock, what they were at the first look.
    """
    series = list(ladder.gauges(case.phase, case.observations, "extents", metric, "path"))
    if not reads(case):
        return ladder.at_arming(case.phase, series)
    return ladder.total(ladder.latest_sample(item, case.phase.start_ns) for item in series)


def known_later(case: TrialCase) -> bool:
    """Whether the files were observed, but not before the clock."""
    return any(item.value for item in ladder.gauges(case.phase, case.observations, "extents", "file_bytes", "path"))


RULE = Rule(
    id="T06",
    name="holes",
    scope=Scope.TRIAL,
    severity=Severity.INVALIDATES,
    part="tier",
    short="holes read",
    meaning=Meaning.HOLES,
    applies=data_only,
    check=check,
    reads=("extents.hole_bytes", "extents.unwritten_bytes"),
    wrong="`truncate` makes a file without blocks, `fallocate` one with blocks and without data. Direct reads of them measured "
    "4177 and 5089 MB/s; the device was not asked for a byte.",
    alternatives=(
        "Compressed or inline data occupy fewer blocks than the file is long. FIEMAP marks those extents as encoded.",
        "Delayed allocation has not happened yet. Run sync, and read the extents again.",
    ),
    advice="Lay the file out with real data and a sync before the clock. ftruncate and fallocate write nothing.",
    sources=("ioctl FIEMAP, FIEMAP_EXTENT_UNWRITTEN", "measured: a fallocated file `read` at 5089 MB/s, 0 bytes at the device"),
)
