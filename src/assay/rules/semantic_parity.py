"""Finds arms with different guarantees: durability, data order, caches, security, access times, names, attributes.

Before the load each run tries names, access times, modes, holes, links, attributes and access lists in its own directory
(`semantics.*`).
The effective mount options give durability, data order, compression, checksums, client cache, security, quotas and lazy times.
Encryption on the wire is that of the clients' mounts by the kernel: krb5p or TLS (NFS), seal (SMB), the connections' key (AFS).
Flushes count if they reach a device with a volatile cache. Existing targets are never written to, so only their options are
known.
A guarantee differs if its sets of values in the arms differ:
- durability, data order, flushes: a note under reads, invalid under writes and metadata,
- client cache, compression, security, encryption: invalid,
- access times: invalid under reads and metadata if one arm writes one at each read, else a note,
- names, modes, links, attributes, lists, quotas, checksums, holes: a note, qualified under metadata.

Declared differences (`implied = ["semantics.access_time"]`) pass. The default guarantees of each file system are its own and
pass.
An arm without any of these facts is unverified. A setting of one target as factor is n/a.
Guarantees inside a server (logs, indexes, replication) are not visible; D04, T01 and T09 judge behaviour.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from assay import measures
from assay.catalogue import ComparisonCase, Rule, Runs
from assay.evidence import client_encryption, ladder
from assay.records import Direction, Finding, Observations, Phase, Run, Rung, Scope, Severity, State, When
from assay.rulekit.applicability import is_own_setting
from assay.rulekit.findings import found

TRIED = "semantics."
MOUNT = "mount.target.options"
OPTIONS: Mapping[str, str] = {
    "durability": r"nobarrier|barrier=0|sync|dirsync|journal_async_commit|nosync|async_commit",
    "order_of_data": r"data=(?!ordered).+",
    "compression": r"compress(-force)?(=.+)?",
    "checksums": r"nodatasum|nodatacow",
    "client_cache": r"noac|actimeo=.+|nocto|cache=(?!strict).+|lookupcache=.+|forcedirectio|dax(=.+)?",
    "security": r"sec=(?!sys).+|seal|sign",
    "quotas": r"(usr|grp|prj|u|g|p)quota|quota",
    "times": r"lazytime",
}
"""Promise -> the mount options that make it another than the file system's usual one."""
USUAL = "as usual"
FLUSHED, ENCRYPTED = "flushes", "encryption"
OF_WRITES = frozenset({"durability", "order_of_data", FLUSHED})
OF_ALL = frozenset({"compression", "client_cache", "security", ENCRYPTED})
COSTLY_TIME = "each read"
VOLATILE = "write back"
COUNTS_ITS_OWN = "loop"
"""Devices above the lowest that count flushes (mapped and RAID devices do not); a loop device has one user."""


def applies(case: ComparisonCase) -> str | None:
    """None but where the comparison is of one target's own setting."""
    return f"the guarantee is the factor ({case.comparison.factor})" if is_own_setting(case) else None


def check(case: ComparisonCase) -> Finding:
    """Fail where a promise has another value in one arm; how much that means depends on the operation."""
    arms = [values_of(case, runs) for runs in case.arms]
    if not all(arms):
        return found(RULE, case, State.UNVERIFIED, "Guarantees of an arm unknown: nothing tried, and no mount options.")
    every = list(dict.fromkeys((*arms[0], *arms[1])))
    common = [key for key in every if key in arms[0] and key in arms[1]]
    unlike = [key for key in common if arms[0][key] != arms[1][key]]
    declared = [key for key in unlike if case.experiment.implies(f"{TRIED}{key}")]
    weights = {key: weight(case, key, arms[0][key] | arms[1][key]) for key in unlike if key not in declared}
    worst = min(weights.values(), key=list(Severity).index, default=None)
    by_file = f" {len(declared)} more differ, as declared." if declared else ""
    statement = f"Equal guarantees in {len(common) - len(declared)} points.{by_file}"
    if weights:
        different = "; ".join(f"{key.replace('_', ' ')}: {held(arms[0][key], arms[1][key])}" for key in weights)
        statement = f"Different guarantees. {different}.{by_file}"
    return found(
        RULE,
        case,
        State.PASS if worst is None else State.FAIL,
        statement,
        severity=worst or RULE.severity,
        observed={"compared": len(common), "differing": len(weights), "declared": len(declared)},
        threshold={"differing": 0},
        relabel="comparison of systems with different guarantees" if worst is Severity.INVALIDATES else None,
        evidence=tuple(f"{key}: {held(arms[0][key], arms[1][key])}" for key in common),
    )


def held(baseline: frozenset[str], candidate: frozenset[str]) -> str:
    """The values of both arms against each other, once where they are the same."""
    one, other = (" or ".join(sorted(values)) for values in (baseline, candidate))
    return f"{one} in both" if one == other else f"{one} against {other}"


def weight(case: ComparisonCase, key: str, values: frozenset[str]) -> Severity:
    """What a difference in one promise does to the comparison of this operation."""
    phases = (measures.phase_of(run, case.measure) for run, _ in case.baseline)
    direction = next((phase.directions.get(case.measure.operation) for phase in phases if phase is not None), None)
    reads = direction is Direction.READ
    if key in OF_ALL or (key in OF_WRITES and not reads):
        return Severity.INVALIDATES
    if key == "access_time":
        costly = COSTLY_TIME in values and direction in (None, Direction.READ, Direction.METADATA)
        return Severity.INVALIDATES if costly else Severity.NOTES
    return Severity.QUALIFIES if direction in (None, Direction.METADATA) and key not in OF_WRITES else Severity.NOTES


def values_of(case: ComparisonCase, runs: Runs) -> dict[str, frozenset[str]]:
    """Promise -> its values over the runs of an arm, if every run records it."""
    each = [dict(filesystem_semantics(case, run, seen)) for run, seen in runs]
    known = [key for key in (each[0] if each else {}) if all(key in one for one in each)]
    return {key: frozenset(one[key] for one in each) for key in known}


def filesystem_semantics(case: ComparisonCase, run: Run, observations: Observations) -> Iterator[tuple[str, str]]:
    """What one run's target promises: tried, configured, and seen."""
    for fact in observations.facts:
        if fact.key.startswith(TRIED) and fact.when is When.BEFORE:
            yield fact.key.removeprefix(TRIED), fact.value
    options = observations.fact(MOUNT)
    if options is not None:
        yield from configured(options.split(","))
    if (sent := client_encryption.encryption(observations)) is not None:
        yield ENCRYPTED, sent
    phase = measures.phase_of(run, case.measure)
    reached = flushed(phase, observations) if phase is not None else None
    if reached is not None:
        yield FLUSHED, reached


def configured(options: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Each promise with the options that change it."""
    for promise, pattern in OPTIONS.items():
        set_here = [option for option in options if re.fullmatch(pattern, option)]
        yield promise, ",".join(sorted(set_here)) or USUAL


def flushed(phase: Phase, observations: Observations) -> str | None:
    """Whether the load's flushes reached the devices; None without flushes or without a count."""
    if not ladder.done_operations(phase, Direction.FLUSH):
        return None
    upper, lowest = (
        ladder.passed(phase, observations, rung, Direction.FLUSH) for rung in (Rung.UPPER_DEVICE, Rung.LOWEST_DEVICE)
    )
    counted = upper if upper is not None and upper.device.startswith(COUNTS_ITS_OWN) else None
    seen = [step for step in (counted, lowest) if step is not None]
    caches = {fact.value for fact in observations.facts if fact.key.endswith(".queue.write_cache")}
    if not seen or VOLATILE not in caches:
        return None
    return "reach the device" if all(step.raw_operations >= 1 for step in seen) else "do not reach the device"


RULE = Rule(
    id="C02",
    name="semantic-parity",
    scope=Scope.COMPARISON,
    severity=Severity.INVALIDATES,
    part="comparability",
    short="different guarantees",
    applies=applies,
    check=check,
    wrong="B is faster because it does less: no barrier reaches its disk, or it stores no access times. Or it trusts a cache "
    "that A must validate, or does not encrypt. Every number is correct. The two had different tasks.",
    alternatives=(
        "The guarantee is the subject (the cost of a barrier). Make the option the factor, or declare it in the file.",
        "A system keeps the guarantee by other means (a battery behind the cache). It is safe; declare it in the file.",
    ),
    advice="Give both arms the same guarantees (barriers, access times, encryption), or declare unavoidable differences: "
    'implied = ["semantics.access_time"]. A system with fewer guarantees has less work.',
    sources=(
        "Heiser, Systems benchmarking crimes: unfair comparisons",
        "mount(8), ext4(5), nfs(5), mount.cifs(8): what each option changes",
    ),
)
