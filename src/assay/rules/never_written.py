"""Finds writes that no device took: removed or truncated before write-back, or overwritten in memory.

The rule reads `cancelled_write_bytes` of /proc/PID/io (dirtied, then discarded), and the bytes of the lowest visible device
during clock and drain. Both are divided by the bytes written.
- More than `cancelled_share` removed: a stable-media or device claim is invalid.
- The device took less than `reached_share`: a device claim is invalid; a stable-media claim is bounded by the share that
  reached it.
- Other claims: notes.
- No timed drain, encoded data (T07), too few bytes, missing counters, or an answer that depends on other processes' I/O:
  unverified.

- Nothing became dirty for a device, on a file system in memory (tmpfs, or an overlay that writes into one): both claims are
  invalid.

Writes through a file system in user space (FUSE) are unverified, too, where the device took less.
A flush cannot bring back removed data, and writes only the last version of an overwritten record.
With tracepoints (`observers = ["*", "tracepoints"]`) the bytes that the load's own processes sent to the device count as
arrived.
Metadata operations are judged by removed data only. The rule does not see merges in a device's own cache.
"""

from __future__ import annotations

from dataclasses import dataclass

from assay import measures
from assay.catalogue import About, Rule, TrialCase
from assay.evidence import ladder, served, traced
from assay.evidence.words import commands
from assay.measures import in_bytes
from assay.records import Direction, Durability, Finding, Meaning, Rung, Scope, Severity, Span, State, Tier
from assay.rulekit.applicability import kept_only
from assay.rulekit.findings import argv_of, at_most, found


@dataclass(frozen=True, kw_only=True)
class Reached:
    """The part of the written bytes that the lowest visible device took; `unknown` is why there is none."""

    at_least: float = 0.0
    """Less other programs' writes at the rate of the idle baseline."""
    at_most: float = 0.0
    device: str = ""
    unknown: str | None = None


def check(case: TrialCase) -> Finding:
    """What was removed before it was written, then what the device took, both over what was written."""
    written, gone = written_bytes(case), cancelled(case)
    if not written:
        return found(RULE, case, State.UNVERIFIED, "Written bytes unknown.")
    if gone is not None and gone > case.thresholds["cancelled_share"] * written:
        return removed(case, gone, written)
    if (places := memory(case)) and not_dirtied(case, written):
        return into_memory(case, places, written)
    return arrived(case, written, gone)


def arrived(case: TrialCase, written: float, gone: float | None) -> Finding:
    """What the device took, the drain included, over what was written."""
    reached = taken(case, written)
    elsewhere = to_no_file(case)
    if gone is not None and not reached.unknown and elsewhere > case.thresholds["cancelled_share"] * written:
        return aside(case, elsewhere, reached)
    observed = {"written_bytes": written, "cancelled_bytes": gone, "device_bytes": None if reached.unknown else reached.at_most}
    if reached.unknown or gone is None:
        lacking = reached.unknown or "removed bytes not counted (observer process_io)"
        return found(RULE, case, State.UNVERIFIED, f"{lacking[:1].upper()}{lacking[1:]}.", observed=observed)
    limit = case.thresholds["reached_share"] * written
    mounts = [place.address for place in case.run.places if place.is_in_user_space]
    if reached.at_most < limit and mounts and served.server(case.run) is None:
        took = f"{reached.device} took {in_bytes(reached.at_most)} of {in_bytes(written)} written"
        text = f"{took}: the process behind {' and '.join(mounts)}, or the page cache below it, may hold the rest."
        return found(RULE, case, State.UNVERIFIED, text, observed=observed)
    if reached.at_most < limit:
        return absorbed(case, reached, written)
    if reached.at_least < limit:
        statement = f"{reached.device}: too much I/O of other processes to see the load's writes."
        return found(RULE, case, State.UNVERIFIED, statement, observed=observed)
    took = f"; {reached.device} took {in_bytes(reached.at_most)} with the drain" if reached.device else ""
    statement = f"{in_bytes(written)} written, {in_bytes(max(0.0, gone))} removed before write-back{took}."
    return found(RULE, case, State.PASS, statement, observed=observed)


def written_bytes(case: TrialCase) -> float | None:
    """The load's own account of its writes; for operations that only make and remove objects, what the processes dirtied."""
    requested = ladder.requested_bytes(case.phase, case.observations, Direction.WRITE)
    dirtied = ladder.passed(case.phase, case.observations, Rung.CLIENT_CACHE, Direction.WRITE)
    return requested or (dirtied.bytes if dirtied else None)


def to_no_file(case: TrialCase) -> float:
    """What the calls of a command that tells no bytes wrote beyond what became dirty; 0 where that is little."""
    if not case.phase.values or ladder.reported_bytes(case.phase, Direction.WRITE):
        return 0.0
    calls, dirtied = (
        ladder.passed(case.phase, case.observations, rung, Direction.WRITE) for rung in (Rung.SYSCALL, Rung.CLIENT_CACHE)
    )
    beyond = calls.bytes - dirtied.bytes if calls and dirtied and dirtied.bytes else 0.0
    return beyond if beyond >= case.thresholds["least_bytes"] else 0.0


def aside(case: TrialCase, elsewhere: float, reached: Reached) -> Finding:
    """Calls that wrote more than became dirty: into pipes, or over dirty data. Nobody counted which."""
    statement = (
        f"Calls wrote {in_bytes(elsewhere)} more than became dirty: to pipes, sockets or a terminal, or over dirty data."
        f" {reached.device} took {in_bytes(reached.at_most)} with the drain."
    )
    observed = {"beyond_dirtied_bytes": elsewhere, "device_bytes": reached.at_most}
    return found(RULE, case, State.UNVERIFIED, statement, observed=observed)


def cancelled(case: TrialCase) -> float | None:
    """Bytes that the processes dirtied and removed before they were written, without those dirty before the clock."""
    phase = case.phase
    series = [*ladder.gauges(phase, case.observations, "process", "cancelled_write_bytes")]
    images = ladder.gauges(phase, case.observations, "page_cache", "dirty_bytes", "backing")
    dirty = ladder.data_files(phase, case.observations, "dirty_bytes", ladder.at_arming) or 0.0
    dirty += ladder.at_arming(phase, images) or 0.0
    removed = ladder.rises(series, phase.start_ns, phase.end_ns)
    return None if removed is None else removed - dirty


def taken(case: TrialCase, written: float) -> Reached:
    """What the device took of written data, the drain included; of making and removing objects nothing is asked."""
    if case.direction is Direction.METADATA:
        return Reached(at_least=written, at_most=written)
    step = ladder.reached(case.phase, case.observations, Span.CLOCK, Span.DRAIN)
    if step is None:
        return Reached(unknown="writes to the lowest visible device not counted")
    if written < case.thresholds["least_bytes"]:
        return Reached(unknown=f"{in_bytes(written)} are too few to separate from the journal on {step.device}")
    if ladder.encoded_bytes(case.phase, case.observations):
        return Reached(unknown="the file system stores the data encoded, in fewer bytes (T07)")
    if case.phase.drain_ns is None and step.raw_bytes < case.thresholds["reached_share"] * written:
        return Reached(unknown="no timed drain, so data in memory at the end may have arrived later")
    own = sum(traced.counted(case.phase, case.observations, "own_write_bytes", device) or 0.0 for device in step.subjects)
    return Reached(at_least=max(step.bytes, min(own, step.raw_bytes)), at_most=step.raw_bytes, device=step.device)


def claimed(case: TrialCase) -> bool:
    """Whether the claim says that the device did these writes."""
    return case.claim.tier is Tier.DEVICE and case.direction is Direction.WRITE


def removed(case: TrialCase, gone: float, written: float) -> Finding:
    """Written, then deleted or truncated: no flush and no drain ever brings these bytes to a device."""
    share, stable = min(1.0, gone / written), case.claim.durability is Durability.STABLE_MEDIA
    return found(
        RULE,
        case,
        State.FAIL,
        f"{measures.percent(share)} of {in_bytes(written)} written was removed before write-back.",
        severity=Severity.INVALIDATES if stable or claimed(case) else Severity.NOTES,
        part="durability" if stable else RULE.part,
        observed={"cancelled_bytes": gone, "written_bytes": written},
        bound=at_most(case, 1 - share),
        relabel="write into memory: data removed before write-back",
        detail=f"{measures.percent(share)} removed",
    )


def memory(case: TrialCase) -> list[str]:
    """The places without a server that take what is written in memory, each with the type of the file system there."""
    known = [place for place in case.run.places if place.memory is not None and place.server is None]
    return [f"{place.memory} ({place.address})" for place in known]


def not_dirtied(case: TrialCase, written: float) -> bool:
    """Whether calls wrote the data and the kernel charged nothing as dirtied for a device: the file system is in memory."""
    calls, dirtied = (
        ladder.passed(case.phase, case.observations, rung, Direction.WRITE) for rung in (Rung.SYSCALL, Rung.CLIENT_CACHE)
    )
    counted = calls is not None and calls.raw_bytes >= case.thresholds["reached_share"] * written
    few = min(case.thresholds["cancelled_share"] * written, case.thresholds["least_bytes"])
    return counted and dirtied is not None and dirtied.raw_bytes < few


def into_memory(case: TrialCase, places: list[str], written: float) -> Finding:
    """The file system itself is in memory: no flush and no drain brings its data to a device."""
    stable = case.claim.durability is Durability.STABLE_MEDIA
    where = " and ".join(places)
    return found(
        RULE,
        case,
        State.FAIL,
        f"{in_bytes(written)} written, and nothing of it became dirty for a device: {where} stores it in memory alone.",
        severity=Severity.INVALIDATES if stable or claimed(case) else Severity.NOTES,
        part="durability" if stable else RULE.part,
        observed={"written_bytes": written, "device_bytes": 0.0},
        relabel="write into a file system in memory",
        detail=where,
        advice="Use a directory on a disk.",
    )


def absorbed(case: TrialCase, reached: Reached, written: float) -> Finding:
    """Overwritten in memory: the device was asked for a part of it only."""
    share, stable = reached.at_most / written, case.claim.durability is Durability.STABLE_MEDIA
    cause, label = absorber(case, written)
    otherwise = Severity.QUALIFIES if stable else Severity.NOTES
    return found(
        RULE,
        case,
        State.FAIL,
        f"{reached.device} took {in_bytes(reached.at_most)} of {in_bytes(written)} written"
        f" ({measures.percent(share)}, drain included): {cause}.",
        severity=Severity.INVALIDATES if claimed(case) else otherwise,
        part=RULE.part if claimed(case) or not stable else "durability",
        observed={"written_bytes": written, "device_bytes": reached.at_most, "reached_share": share},
        bound=at_most(case, share),
        relabel=label,
        detail=f"{measures.percent(share)} reached {reached.device}",
        advice="Write data without zeros, or leave conv=sparse out." if skips_zeros(case) else RULE.advice,
    )


def absorber(case: TrialCase, written: float) -> tuple[str, str]:
    """What took the writes in place of the device, and the label: the kernel charges nothing for file systems in memory."""
    if skips_zeros(case):
        return "dd leaves out blocks of zeros (conv=sparse)", "blocks of zeros, which were left out and not written"
    if not_dirtied(case, written):
        return "nothing of it became dirty for a device, as on a file system in memory", "write into a file system in memory"
    return "the rest was overwritten in memory", "write into memory: data overwritten before write-back"


def skips_zeros(case: TrialCase) -> bool:
    """Whether dd was told to seek over zeros, and its calls wrote less than it says."""
    calls = ladder.passed(case.phase, case.observations, Rung.SYSCALL, Direction.WRITE)
    said = ladder.requested_bytes(case.phase, case.observations, Direction.WRITE) or 0.0
    told = any(
        word.startswith("conv=") and "sparse" in word.partition("=")[2].split(",")
        for one in commands(argv_of(case))
        for word in one
    )
    return told and calls is not None and calls.raw_bytes < case.thresholds["reached_share"] * said


RULE = Rule(
    id="D06",
    name="never-written",
    scope=Scope.TRIAL,
    severity=Severity.INVALIDATES,
    part="tier",
    meaning=Meaning.NEVER_WRITTEN,
    applies=kept_only,
    check=check,
    about=About.ALL_HOSTS,
    reads=("L0.write", "process.cancelled_write_bytes", "L2.write", "L9.write", "L8.write", "tracepoints.own_write_bytes"),
    wrong="A mail spool or a compiler's temporary files live for seconds. A small file under random writes for a minute is "
    "overwritten in memory a thousand times. The operations are counted, the device never sees most of them, and a flush at "
    "the end cannot bring them back.",
    alternatives=(
        "Another process removed or truncated these files: the kernel charges the process that removes.",
        "The file system stores the data compressed or deduplicated, in fewer bytes (T07).",
        "The data went to another device than the observed one (a log device, a bind mount). Check the ladder.",
    ),
    advice="Flush before the files are removed or overwritten (fsync, flush = each, O_DIRECT), or write each byte once. Report "
    "the share that never reached a device.",
    at_shell="Flush before the files are removed or overwritten (fsync, O_DIRECT). Report the share that never reached a device.",
    sources=(
        "proc_pid_io(5): cancelled_write_bytes",
        "Katcher: PostMark, a new file system benchmark, NetApp TR3022, 1997: files that live for a short time",
    ),
)
