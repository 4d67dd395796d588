"""Finds figures of looking at metadata that were answered from the cached inodes and names.

The evidence is the growth of the file systems' inode caches: an inode that is found in memory adds nothing to them. These
caches are the whole host's: where they grew too little, but the process itself made storage read all those inodes, others
dropped theirs meanwhile, and nobody is accused.
"""

from __future__ import annotations

from assay import measures
from assay.catalogue import Case, Rule, TrialCase
from assay.findings import found, knob
from assay.measures import ladder
from assay.records import Direction, Finding, Regime, Rung, Scope, Severity, State, Tier, Value
from assay.units import Unit

LISTS = ("list", "readdir")
"""Operations that read names alone."""
TREE = {"walk": ("walk", "file"), "file": ("file",)}
"""Operations on a tree that is read: a walk looks at its directories and at the files in them."""
LOOKS_UP = ("stat", "open", "readdir_plus", *TREE, *LISTS)
"""Operations that read metadata without making or changing any."""


def applies(case: Case) -> str | None:
    """Metadata operations; those that make, change or remove objects have no tier to verify."""
    assert isinstance(case, TrialCase)
    if case.phase.directions.get(case.measure.operation) is not Direction.METADATA:
        return "no metadata operation"
    if case.measure.operation not in LOOKS_UP and case.claim.tier is not Tier.DEVICE:
        return f"{case.measure.operation} makes, changes or removes objects, it is not answered from a cache"
    return None


def check(case: Case) -> Finding:
    """Inodes loaded for each object touched, against a claim about the device or about cold caches."""
    assert isinstance(case, TrialCase)
    if case.measure.operation not in LOOKS_UP:
        advice = "claim durability = stable-media instead, or leave the tier as-is"
        return found(RULE, case, State.UNVERIFIED, f"No counter says which tier a {case.measure.operation} reached: {advice}.")
    if case.measure.operation in LISTS:
        return found(RULE, case, State.UNVERIFIED, "Directory blocks leave no count of their own, so a list's tier is not known.")
    loaded, objects = inodes_loaded(case), touched(case)
    if loaded is None or not objects:
        missing = "The inode caches could not be watched (/proc/slabinfo is for root)."
        return found(RULE, case, State.UNVERIFIED, missing if objects else "How many objects were looked at is not known.")
    loaded = max(0.0, loaded)
    share = min(1.0, loaded / objects)
    observed = {"loads_share": share, "inodes_loaded": loaded, "objects": float(objects)}
    said = f"{loaded:,.0f} inodes were loaded for {objects:,} objects ({measures.percent(share)})"
    if share >= case.thresholds["loads_share"]:
        return found(RULE, case, State.PASS, f"{said}: the metadata came from below the caches.", observed=observed)
    read = ladder.passed(case.phase, case.observations, Rung.CLIENT_CACHE, Direction.READ)
    if read is not None and read.bytes >= case.thresholds["loads_share"] * case.thresholds["inode_bytes"] * objects:
        enough = f"storage was made to read {measures.with_unit(read.bytes, Unit.BYTES)}, enough for all of them"
        return found(RULE, case, State.UNVERIFIED, f"{said}, though {enough}: others dropped inodes.", observed=observed)
    wrong = case.claim.tier in (Tier.DEVICE, Tier.SERVER_CACHE) or case.claim.regime is Regime.COLD
    return found(
        RULE,
        case,
        State.FAIL,
        f"{said}: the rest was answered from cached inodes and names.",
        severity=Severity.INVALIDATES if wrong else Severity.NOTES,
        part="tier" if case.claim.tier is Tier.DEVICE else "regime",
        observed=observed,
        threshold={"loads_share": case.thresholds["loads_share"]},
        relabel=f"{case.measure.operation} of cached inodes: {measures.percent(1 - share)} from memory",
    )


def touched(case: TrialCase) -> int:
    """Inodes that were looked at: one an operation; for readdir_plus all of the directory, as far as its knobs tell (else 0)."""
    names = TREE.get(case.measure.operation, (case.measure.operation,))
    done = sum(total.count for name in names for _, total in measures.client_operations(case.phase, name))
    return done * entries(case) if case.measure.operation == "readdir_plus" else done


def entries(case: TrialCase) -> int:
    """Inodes with a name in one directory: objects of those who share it, and symbolic links to them if there are any by then."""
    owners = len(case.phase.clients) if knob(case, "directories") == "shared" else 1
    if knob(case, "sharing") == "shared":
        owners *= _whole(knob(case, "workers"), 1)
    done = knob(case, "operations")
    before = done[: done.index("readdir_plus")] if isinstance(done, tuple) and "readdir_plus" in done else ()
    kinds = 2 if "symlink" in before else 1
    return _whole(knob(case, "count"), 0) * owners * kinds // _whole(knob(case, "spread"), 1)


def _whole(value: Value, otherwise: int) -> int:
    return value if isinstance(value, int) else otherwise


def inodes_loaded(case: TrialCase) -> float | None:
    """Growth of the inode cache that grew most (the one of the file system under test), else of all together."""
    by_cache = list(ladder.gauges(case.phase, case.observations, "memory", "inode_cache_objects", "slab"))
    every = by_cache or list(ladder.gauges(case.phase, case.observations, "memory", "inode_cache_objects"))
    growth = [ladder.rise(series, case.phase.start_ns, case.phase.end_ns) for series in every]
    return max(growth, default=None)


RULE = Rule(
    id="T12",
    name="metadata-cache",
    scope=Scope.TRIAL,
    severity=Severity.INVALIDATES,
    part="tier",
    needs=(),
    applies=applies,
    check=check,
    reads=("memory.inode_cache_objects", "L2.read"),
    alternatives=(
        "The kernel dropped inodes while others were loaded, so the caches grew less than was loaded: look at memory pressure.",
        "Another process walked or freed a tree at the same time: these caches belong to the whole host.",
    ),
    advice="Use more objects than fit the caches, remount or drop caches before the phase (cache = cold), or claim warm.",
    sources=("Traeger et al., ACM TOS 4(2), 2008: cold and warm caches in metadata benchmarks",),
)
