"""Finds reads of data that the same client had just written, without a drop in between.

The writer's pages remain in the client's page cache. The rule needs three readings: the earlier phase that wrote the files, the
resident share before the clock (cachestat), and the bytes read from storage.
- The writer is this run, more than `resident_share` was resident, and storage was not asked for all: a device, server-cache or
  cold claim is invalid.
- No phase of this run wrote the files, they were dropped, or all bytes came from storage: pass.
- Unknown files, unknown residence, or reads and writes in one phase: unverified.
- Writes, direct reads and other claims: n/a.

T01 gives the share from memory and fails beside it; this rule gives the origin. Caches of a server, array or disk are not
visible.
"""

from __future__ import annotations

from assay import measures
from assay.catalogue import About, Rule, TrialCase
from assay.evidence import ladder
from assay.records import Direction, Finding, Meaning, Phase, Regime, Rung, Scope, Severity, State, Tier
from assay.rulekit.applicability import reads_only
from assay.rulekit.findings import Figures, at_most, found, knob

BELOW_CACHE = (Tier.DEVICE, Tier.SERVER_CACHE)


def applies(case: TrialCase) -> str | None:
    """Reads under a claim of a layer below the client's cache, or of cold."""
    if why := reads_only(case):
        return why
    if case.claim.tier not in BELOW_CACHE and case.claim.regime is not Regime.COLD:
        return "no claim of cold caches or of a layer below the client's cache"
    return "direct reads bypass the client's page cache" if knob(case, "direct") is True else None


def check(case: TrialCase) -> Finding:
    """The writer of the files, and how much of them was in memory when the clock started."""
    writer, mixed = written_by(case), writes(case.phase)
    who = f"phase {writer.name}" if writer else "the same phase"
    resident, hits = case.phase.cached_share_before, hit_share(case)
    if case.phase.data_files and writer is None and not mixed:
        return found(RULE, case, State.PASS, "No earlier phase of this trial wrote these files.")
    observed: Figures = {"writer": who, "resident_share_before": resident, "hit_share": hits}
    if hits is not None and hits <= case.thresholds["hit_share"]:
        text = "Storage read all requested bytes, so the writer of the files does not matter."
        return found(RULE, case, State.PASS, text, observed=observed)
    if writer is not None and resident is not None and resident > case.thresholds["resident_share"]:
        cold = " although cold was requested," if case.phase.cache_asked == "cold" else ""
        return found(
            RULE,
            case,
            State.FAIL,
            f"The same client wrote the files ({who}) without a drop since:{cold} {measures.percent(resident)} was in memory"
            " before the clock. These reads measure memory, not storage.",
            part=RULE.part if case.claim.tier in BELOW_CACHE else "regime",
            observed=observed,
            bound=None if hits is None else at_most(case, 1 - hits),
            relabel="read of data that the same client had just written",
            evidence=("earlier phases of the run",),
        )
    unknown = doubt(case, writer, mixed=mixed)
    if unknown or resident is None:
        return found(RULE, case, State.UNVERIFIED, f"{unknown}.", observed=observed)
    dropped = f"only {measures.percent(resident)} was in memory before the clock"
    return found(RULE, case, State.PASS, f"The same client wrote the files ({who}), but {dropped}.", observed=observed)


def doubt(case: TrialCase, writer: Phase | None, *, mixed: bool) -> str | None:
    """What is not known of reads that memory answered in part; None where the files were dropped after they were written."""
    if not case.phase.data_files:
        return "The phase names no data files, so their writer is unknown"
    if mixed:
        return "This phase writes the files that it reads, so its own cache hits cannot be separated"
    if writer is not None and case.phase.cached_share_before is None:
        return f"The same client wrote the files (phase {writer.name}); their share in memory is unknown"
    return None


def writes(phase: Phase) -> bool:
    """Whether a phase wrote data, or made files with some in them."""
    done = {total.operation for client in phase.clients for total in client.operations if total.count}
    writing = {name for name, way in phase.directions.items() if way is Direction.WRITE}
    return bool(writing) and (bool(phase.values) or bool(done & writing) or "command" in done)


def written_by(case: TrialCase) -> Phase | None:
    """The last phase before this one that wrote some of its files, a layout included."""
    phases = case.run.phases
    before = phases[: next((at for at, phase in enumerate(phases) if phase.name == case.phase.name), 0)]
    files = set(case.phase.data_files)
    return next((phase for phase in reversed(before) if writes(phase) and files & set(phase.data_files)), None)


def hit_share(case: TrialCase) -> float | None:
    """Share of requested bytes that storage did not read; None if unknown or mixed with other programs' reads."""
    requested = ladder.requested_bytes(case.phase, case.observations, Direction.READ)
    read = ladder.passed(case.phase, case.observations, Rung.CLIENT_CACHE, Direction.READ)
    return 1 - min(1.0, read.raw_bytes / requested) if requested and read is not None else None


RULE = Rule(
    id="T11",
    name="read-own-write",
    scope=Scope.TRIAL,
    severity=Severity.INVALIDATES,
    part="tier",
    meaning=Meaning.OWN_WRITES,
    applies=applies,
    check=check,
    about=About.ALL_LOAD_HOSTS,
    reads=("L0.read", "L2.read", "page_cache.cached_bytes"),
    wrong="Write a gigabyte, then read it: the read asks no disk, since the writer's pages are still in its page cache. It is "
    "the most common memory test of all, and the reason why IO500 reads from another node than the writer.",
    alternatives=(
        "Another process read the files after the write. They are warm all the same; T01 gives the share.",
        "The read covers other parts of the files than those in memory. Check the bytes read from storage (T01).",
    ),
    advice="Drop the files between writing and reading (cache = cold, remount), read with O_DIRECT, or read from another "
    "client than the writer (IOR -C, IO500).",
    at_shell="Drop the files between writing and reading (`dd if=FILE iflag=nocache count=0`, or a remount).",
    sources=(
        "IO500 rules: data are read from another node than the one that wrote them",
        "IOR manual: reordering tasks (-C, -Z) so that no task reads back what its own node wrote",
    ),
)
