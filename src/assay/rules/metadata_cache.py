"""Finds metadata figures that were answered from cached inodes and names.

The rule divides the growth of inodes in memory (/proc/sys/fs/inode-nr) by the number of objects read: a cached inode adds
nothing.
It covers stat, open, readdir_plus, list, readdir and tree walks (`file`, `walk`).
readdir_plus reads every object of its directory, whose number follows from the knobs.
Growth below `loads_share` of the objects invalidates a device, server-cache or cold claim, else it is a note.

The count covers the whole host, so evicted inodes hide loads. The rule is unverified instead in two cases:
- the process read `inode_bytes` for each object from storage,
- the count fell between two samples by as much as is missing.

Directory blocks have no counter, so list and readdir are unverified. Operations that change objects have no such tier: claim
durability.
A container that starts during `drop_caches` keeps a copy of the mount, and remounting then keeps all caches. The finding
reports that.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass

from assay import measures
from assay.catalogue import Rule, TrialCase
from assay.evidence import ladder
from assay.records import Direction, Finding, Meaning, Regime, Rung, Scope, Series, Severity, State, Tier, Value
from assay.rulekit.applicability import lookups
from assay.rulekit.findings import found, knob


@dataclass(frozen=True, kw_only=True)
class Inodes:
    """By how many the inodes in memory came to be more, and how many surely left it during the clock."""

    more: float
    dropped: float


def applies(case: TrialCase) -> str | None:
    """Metadata operations; those that make, change or remove objects have no tier to verify."""
    if case.direction is not Direction.METADATA:
        return "not a metadata operation"
    if case.measure.operation not in lookups(case) and case.claim.tier is not Tier.DEVICE:
        return f"{case.measure.operation} changes objects, so no cache answers it"
    return None


def check(case: TrialCase) -> Finding:
    """Inodes loaded for each object touched, against a claim about the device or about cold caches."""
    if case.measure.operation not in lookups(case):
        text = f"No counter shows the tier of {case.measure.operation}. Claim durability = stable-media, or leave the tier as-is."
        return found(RULE, case, State.UNVERIFIED, text)
    if not lookups(case)[case.measure.operation]:
        return found(RULE, case, State.UNVERIFIED, "Directory blocks have no counter, so the tier of a list is unknown.")
    seen, objects = inodes_seen(case), inodes_used(case)
    if seen is None or not objects:
        missing = "Inodes in memory not counted (/proc/sys/fs/inode-nr)."
        return found(RULE, case, State.UNVERIFIED, missing if objects else "Number of objects unknown.")
    loaded, enough = max(0.0, seen.more), case.thresholds["loads_share"] * objects
    share = min(1.0, loaded / objects)
    observed = {"loads_share": share, "inodes_loaded": loaded, "objects": float(objects), "inodes_dropped": seen.dropped}
    counts = f"{loaded:,.0f} inodes loaded for {objects:,} objects ({measures.percent(share)})"
    if loaded >= enough:
        return found(RULE, case, State.PASS, f"{counts}: the metadata came from below the caches.", observed=observed)
    if hidden := excuse(case, seen, enough):
        return found(RULE, case, State.UNVERIFIED, f"{counts}, but {hidden}.", observed=observed)
    why = f" ({case.phase.not_cold})" if case.phase.not_cold else ""
    wrong = case.claim.tier in (Tier.DEVICE, Tier.SERVER_CACHE) or case.claim.regime is Regime.COLD
    return found(
        RULE,
        case,
        State.FAIL,
        f"{counts}: the rest came from cached inodes and names{why}.",
        severity=Severity.INVALIDATES if wrong else Severity.NOTES,
        part="tier" if case.claim.tier is Tier.DEVICE else "regime",
        observed=observed,
        relabel=f"{case.measure.operation} of cached inodes",
        detail=f"{measures.percent(1 - share)} from memory",
    )


def excuse(case: TrialCase, seen: Inodes, enough: float) -> str | None:
    """Why more may have been loaded than the count shows; None where nothing speaks for it."""
    read = ladder.passed(case.phase, case.observations, Rung.CLIENT_CACHE, Direction.READ)
    if read is not None and read.bytes >= case.thresholds["inode_bytes"] * enough:
        return f"the process read {measures.in_bytes(read.bytes)} from storage, enough for all objects: the kernel evicted inodes"
    gone = max(0.0, seen.more) + seen.dropped >= enough
    return f"{seen.dropped:,.0f} inodes were evicted, enough to hide the rest" if gone else None


def inodes_used(case: TrialCase) -> int:
    """Inodes used: one per operation; for readdir_plus all of the directory by its knobs (else 0)."""
    names = lookups(case)[case.measure.operation]
    done = sum(total.count for name in names for _, total in measures.client_operations(case.phase, name))
    return done * entries(case) if case.measure.operation == "readdir_plus" else done


def entries(case: TrialCase) -> int:
    """Inodes with a name in one directory: objects of all workers that share it, and their symbolic links, if made by then."""
    owners = len(case.phase.clients) if knob(case, "directories") == "shared" else 1
    if knob(case, "sharing") == "shared":
        owners *= _whole(knob(case, "workers"), 1)
    done = knob(case, "operations")
    before = done[: done.index("readdir_plus")] if isinstance(done, tuple) and "readdir_plus" in done else ()
    kinds = 2 if "symlink" in before else 1
    return _whole(knob(case, "count"), 0) * owners * kinds // _whole(knob(case, "spread"), 1)


def _whole(value: Value, otherwise: int) -> int:
    return value if isinstance(value, int) else otherwise


def inodes_seen(case: TrialCase) -> Inodes | None:
    """The count that grew most (one per host; per file system in older notebooks); None without a count."""
    start, end = case.phase.start_ns, case.phase.end_ns
    every = [*ladder.gauges(case.phase, case.observations, "memory", "inode_cache_objects")]
    each = ((ladder.rise(one, start, end), fallen(one, start, end)) for one in every)
    seen = [Inodes(more=more, dropped=dropped) for more, dropped in each if more is not None]
    return max(seen, key=lambda one: one.more, default=None)


def fallen(series: Series, from_ns: int, to_ns: int) -> float:
    """The sum of all falls between one look and the next, from the last look before a time to the first after another."""
    looks = zip(series.at_ns, series.value, strict=True)
    steps = [(was, now) for (at, was), (after, now) in itertools.pairwise(looks) if after > from_ns and at < to_ns]
    return sum(max(0.0, was - now) for was, now in steps)


RULE = Rule(
    id="T12",
    name="metadata-cache",
    scope=Scope.TRIAL,
    severity=Severity.INVALIDATES,
    part="tier",
    short="metadata tier unknown",
    meaning=Meaning.METADATA_CACHE,
    applies=applies,
    check=check,
    reads=("memory.inode_cache_objects", "L2.read"),
    wrong="A tree is made and then read, or read twice. The second time every name and inode is in memory, and `stat` measures "
    "a table in the kernel. It is called the metadata rate of the disk.",
    alternatives=(
        "The kernel evicted inodes during the loads, so the caches grew less. Check memory pressure (N05).",
        "Another process walked or freed a tree at the same time: these caches belong to the whole host.",
    ),
    advice="Use more objects than fit the caches, remount or drop caches before the phase (cache = cold), or claim warm.",
    at_shell="Drop the caches first (`echo 2 > /proc/sys/vm/drop_caches`, or a remount), or use more objects than fit them.",
    sources=("Traeger et al., ACM TOS 4(2), 2008: cold and warm caches in metadata benchmarks",),
)
