"""Finds servers that acknowledge data before storing them: a weaker guarantee than claimed.

The target names the server's processes, data and logs (`server.data`). When the last client has its answer, stored data are the
bytes that the server gave to its kernel (L6) less its dirty pages.
- Clients report bytes, and more than `early_share` of them is not stored: fail.
- The server's data are on a mount of another server (FUSE): the kernel counts its writes there, too. So unless hardly anything is
  dirty, more given than acknowledged proves nothing: unverified.
- Clients report none, and `all_share` of the server's writes is dirty: fail. A smaller part is unverified: a server with a log
  may leave its data files dirty.

- A directory server (slapd, 389-ds) on a device with a volatile cache: each flush makes at most the requests in flight stable.
  Too few flushes for 1 - `all_share` of the changes: fail; but not of an online import whose clock ends with a flush.
- A rate that counts the flush of both ends (`synced_bytes_per_s`) is judged when that flush is over, if it flushed the server's
  storage. Data that are still dirty, on a file system in memory, or on a volatile device that completed no flush: fail.
- A setting that was read back from what ran denies it (`durable = false`, a flush that is ignored): fail, whatever was counted.
  Data on a file system in memory fail as well.
- Other programs flush the same device: the changes need flushes beyond the idle baseline (`all_share`), else unverified. So are
  changes of which half were answered within `flush_share` of the time that the device takes for a flush.
- The end of an offline import (`ldap_import`) is an acknowledgement, too. More than `early_share` of the written bytes is dirty
  then: fail. The drain that Assay times afterwards is not the importer's.

It invalidates durability = stable-media and is a note under other claims. C02s compares two arms.
Behaviour decides, not settings that promise something: they may be overridden or misspelt. D02 judges the device's flushes.
"""

from __future__ import annotations

import posixpath
from collections.abc import Mapping

from assay import measures
from assay.catalogue import About, Rule, TrialCase
from assay.evidence import directory, guarantees, ladder, served
from assay.measures import in_bytes
from assay.records import Direction, Durability, Finding, Meaning, Place, Rung, Scope, Severity, Span, State
from assay.rulekit import flush_times
from assay.rulekit.applicability import servers_only
from assay.rulekit.findings import Figures, found

VOLATILE, THROUGH, IMPORT, FUSE = "write back", "write through", "import", "fuse"
SYNCED = "synced_bytes_per_s"
"""The figure that counts the time until both ends are flushed."""
PAGES = ("dirty_bytes", "writeback_bytes")
EARLY = "write acknowledged from the server's memory, before it was stored"


def applies(case: TrialCase) -> str | None:
    """Everything that a server is asked to keep; requests without a known server too, where stable media are claimed."""
    if is_import(case):
        return None
    if case.direction is Direction.REQUEST:
        kind = directory.type_of(case.measure.operation)
        claimed = case.claim.durability is Durability.STABLE_MEDIA
        return "no writes" if kind not in (None, *directory.CHANGES) else None if claimed else servers_only(case)
    return servers_only(case) if case.direction in (Direction.WRITE, Direction.METADATA) else "no writes"


def check(case: TrialCase) -> Finding:
    """The part of what was acknowledged that was on no storage when the clients had all their answers."""
    if is_import(case):
        return of_import(case)
    if case.measure.figure == SYNCED and flushes_storage(case) and not is_on_another(case):
        return unless_denied(case, at_end_of_flush(case), guarantees.denied_for_good(case.observations))
    return unless_denied(case, at_last_answer(case), in_memory(case) or guarantees.denied_at_answers(case.observations))


def in_memory(case: TrialCase) -> str | None:
    """Say that the server's data are on a file system in memory; None where they are not."""
    kinds = [place.filesystem for place in case.run.places if place.server is not None and place.is_in_memory]
    return f"the server's data are on {kinds[0]}, a file system in memory" if kinds else None


def unless_denied(case: TrialCase, seen: Finding, denied: str | None) -> Finding:
    """What the counters say; where they accuse nobody, and a setting denies that data are stored, the failure by that."""
    if denied is None or seen.state is State.FAIL:
        return seen
    return found(
        RULE,
        case,
        State.FAIL,
        f"Data are not stored when they are acknowledged, whatever was counted: {denied}.",
        severity=Severity.INVALIDATES if case.claim.durability is Durability.STABLE_MEDIA else Severity.NOTES,
        observed=seen.observed,
        relabel=EARLY,
        detail=denied,
        evidence=("settings of the target",),
    )


def at_last_answer(case: TrialCase) -> Finding:
    """What of the acknowledged data was on no storage when the clients had their last answers."""
    dirty = dirty_bytes(case)
    taken = served.storage_io(case.phase, case.observations, Direction.WRITE)
    if dirty is None or taken is None:
        lacking = "Dirty data of the server (server.data)" if taken else "Writes of the server to its kernel"
        return found(RULE, case, State.UNVERIFIED, f"{lacking} unknown, so its answers cannot be compared with its storage.")
    return of_server(case, dirty, taken)


def of_server(case: TrialCase, dirty: float, taken: ladder.LadderStep) -> Finding:
    """What a server gave to its kernel, what of it was dirty, and its flushes."""
    reported, flushes = ladder.reported_bytes(case.phase, Direction.WRITE), served.flushes(case.phase, case.observations)
    acknowledged = reported or taken.raw_bytes
    observed = {
        "acknowledged_bytes": acknowledged,
        "dirty_bytes": dirty,
        "given_to_kernel_bytes": taken.raw_bytes,
        "flushes": flushes,
    }
    if (unflushed := unflushed_share(case, flushes)) is not None and unflushed >= case.thresholds["all_share"]:
        return early(case, unflushed, (acknowledged, dirty), observed)
    if reported is None and taken.raw_bytes < case.thresholds["least_bytes"]:
        statement = f"The server dirtied only {in_bytes(taken.raw_bytes)}: too little. Write more."
        return found(RULE, case, State.UNVERIFIED, statement, observed=observed)
    share = 1 - min(1.0, max(0.0, taken.raw_bytes - max(0.0, dirty)) / acknowledged)
    if share <= case.thresholds["early_share"]:
        return hardly_left(case, acknowledged, dirty, observed)
    if reported is None and share < case.thresholds["all_share"]:
        statement = (
            f"{measures.percent(share)} of the server's writes was still dirty, which may be sound with a log."
            " Let the clients report the acknowledged bytes."
        )
        return found(RULE, case, State.UNVERIFIED, statement, observed=observed)
    return early(case, share, (acknowledged, dirty), observed)


def hardly_left(case: TrialCase, acknowledged: float, dirty: float, observed: Figures) -> Finding:
    """Little of what was acknowledged was dirty: a pass, where what else has to be known of it is."""
    flushes = observed["flushes"]
    if is_on_another(case) and dirty > case.thresholds["early_share"] * acknowledged:
        text = f"{in_bytes(dirty)} was dirty, and the server's own writes to the mount of another server are counted, too."
        return found(RULE, case, State.UNVERIFIED, text, observed=observed)
    if flushes is None and case.direction is Direction.REQUEST and case.claim.durability is Durability.STABLE_MEDIA:
        return found(RULE, case, State.UNVERIFIED, "Whether the server flushed before its answers is unknown.", observed=observed)
    flushed = "" if flushes is None else f"; its device completed {flushes:,.0f} flushes"
    if doubt := whose_flushes(case):
        return found(RULE, case, State.UNVERIFIED, doubt, observed=observed)
    text = f"{in_bytes(acknowledged)} acknowledged, hardly anything left in the server's memory{flushed}."
    return found(RULE, case, State.PASS, text, observed=observed)


def whose_flushes(case: TrialCase) -> str | None:
    """Why the flushes of the device may not be the server's, where it must flush before each answer; None where they are."""
    step = ladder.highest_device(case.phase, case.observations, Direction.FLUSH, Span.CLOCK)
    if case.claim.durability is not Durability.STABLE_MEDIA or step is None:
        return None
    rungs = (Rung.UPPER_DEVICE, Rung.LOWEST_DEVICE)
    if not any(ladder.has_baseline(case.phase, case.observations, rung, Direction.FLUSH) for rung in rungs):
        return f"Flushes of other programs on {step.device} are unknown (no idle baseline)."
    own = unflushed_share(case, step.operations)
    if own is not None and own >= case.thresholds["all_share"]:
        foreign = f"{step.other_processes_operations:,.0f} of {step.raw_operations:,.0f} flushes of {step.device}"
        return f"{foreign} are those of other programs by the idle baseline; the rest is too few for these changes. {APART}"
    quick = flush_times.faster_than_flush(case, step.device, case.thresholds["flush_share"])
    return f"{quick} {APART}" if quick and not case.phase.flush_in_clock else None


APART = "Give the server's data a device of their own, or end the other programs."


def flushes_storage(case: TrialCase) -> bool:
    """Whether the drain flushed the directory of the server's data, on every host that has some of them."""
    drained = {one.host for one in case.phase.hosts if one.drain_ns is not None}
    nodes = [(place, node) for place in case.run.places if place.server for node in place.server.nodes if node.data]
    return bool(nodes) and all(
        node.host in drained and place.directory and any(within(path, place.directory) for path in node.data)
        for place, node in nodes
    )


def within(path: str, directory: str) -> bool:
    """Whether one of two directories is in the other, or both are one."""
    shared = posixpath.commonpath((path, directory))
    return shared in (posixpath.normpath(path), posixpath.normpath(directory))


def at_end_of_flush(case: TrialCase) -> Finding:
    """What of the acknowledged data was not stored when both ends had been flushed: then the time of the figure ends."""
    dirty, flushes = after_flush(case), flushes_with_drain(case)
    spans = (served.storage_io(case.phase, case.observations, Direction.WRITE, span) for span in (Span.CLOCK, Span.DRAIN))
    taken = ladder.both(*spans)
    if dirty is None or taken is None or flushes is None:
        lacking = "Dirty data of the server (server.data)" if dirty is None else "Flushes" if taken else "Writes of the server"
        return found(RULE, case, State.UNVERIFIED, f"{lacking} unknown, so the state after the flush of both ends is.")
    acknowledged = ladder.reported_bytes(case.phase, Direction.WRITE) or taken.raw_bytes
    observed = {
        "acknowledged_bytes": acknowledged,
        "dirty_bytes": dirty,
        "given_to_kernel_bytes": taken.raw_bytes,
        "flushes": flushes,
    }
    why = not_stored(case, observed)
    if why is None:
        count = f"its device completed {flushes:,.0f} flushes"
        statement = f"{in_bytes(acknowledged)} stored when both ends had been flushed; {count} until then."
        return found(RULE, case, State.PASS, statement, observed=observed)
    return found(
        RULE,
        case,
        State.FAIL,
        f"Not stored when both ends had been flushed: {why}.",
        severity=Severity.INVALIDATES if case.claim.durability is Durability.STABLE_MEDIA else Severity.NOTES,
        observed=observed,
        relabel="write that was not stored when both ends had been flushed",
        detail=why,
    )


def not_stored(case: TrialCase, observed: Mapping[str, float]) -> str | None:
    """Why data are not on stable media after the flush of both ends; None where nothing speaks against it."""
    acknowledged = observed["acknowledged_bytes"]
    stored = max(0.0, observed["given_to_kernel_bytes"] - max(0.0, observed["dirty_bytes"]))
    share = 1 - min(1.0, stored / acknowledged) if acknowledged else 0.0
    in_memory = [place.filesystem for place in case.run.places if place.is_in_memory]
    if in_memory:
        return f"the server's data are on {in_memory[0]}, a file system in memory"
    if share > case.thresholds["early_share"]:
        return f"{measures.percent(share)} of {in_bytes(acknowledged)} acknowledged was still in the server's memory"
    devices = [device for place in case.run.places for device in place.devices[:1]]
    caches = [ladder.device_fact(case.observations, device, "queue.write_cache") for device in devices]
    if not observed["flushes"] and any(cache != THROUGH for cache in caches):
        return f"no flush reached {devices[0]}, whose cache is volatile"
    return None


def after_flush(case: TrialCase) -> float | None:
    """By how much dirty and written-back pages of the server's data rose from arming to the look after the drain."""
    every = [[*ladder.gauges(case.phase, case.observations, served.LAYER, metric)] for metric in PAGES]
    if not all(any(one.value for one in part) for part in every):
        return None
    return sum(
        one.value[-1] - (ladder.latest_sample(one, case.phase.start_ns) or 0.0) for part in every for one in part if one.value
    )


def flushes_with_drain(case: TrialCase) -> float | None:
    """How many flushes the device of the server's data completed under the clock and in the drain; none of data in memory."""
    if any(place.is_in_memory for place in case.run.places):
        return 0.0
    spans = (Span.CLOCK, Span.DRAIN)
    step = ladder.both(*(ladder.highest_device(case.phase, case.observations, Direction.FLUSH, span) for span in spans))
    return step.raw_operations if step else None


def is_on_another(case: TrialCase) -> bool:
    """Whether the server keeps its data on a mount of another server, in user space."""
    served_by = (place for place in case.run.places if place.server is not None)
    return any((place.filesystem or "").startswith(FUSE) and own(place) for place in served_by)


def own(place: Place) -> bool:
    """Whether a server's own data are at the address of its place."""
    return place.server is not None and any(place.address in node.data for node in place.server.nodes)


def is_import(case: TrialCase) -> bool:
    """Whether the operation is the offline import of a directory."""
    return case.direction is Direction.WRITE and case.measure.operation == IMPORT and f"{IMPORT}.count" in case.phase.values


def of_import(case: TrialCase) -> Finding:
    """The dirty share of an import's database files when its tool ended."""
    before, after = (
        ladder.total(ladder.data_files(case.phase, case.observations, metric, when) for metric in PAGES)
        for when in (ladder.at_arming, ladder.at_stop)
    )
    dirtied = ladder.passed(case.phase, case.observations, Rung.CLIENT_CACHE, Direction.WRITE)
    written = dirtied.bytes if dirtied and dirtied.bytes else ladder.reported_bytes(case.phase, Direction.WRITE)
    if after is None or ladder.data_files(case.phase, case.observations, PAGES[0], ladder.at_stop) is None or not written:
        return found(RULE, case, State.UNVERIFIED, "The dirty pages of the imported database are unknown.")
    dirty = max(0.0, after - (before or 0.0))
    share = min(1.0, dirty / written)
    observed = {"dirty_share": share, "dirty_bytes": dirty, "written_bytes": written}
    text = f"{measures.percent(share)} of {in_bytes(written)} written was dirty when the importer ended"
    if share <= case.thresholds["early_share"]:
        return found(RULE, case, State.PASS, f"{text}: the import is on stable media.", observed=observed)
    return found(
        RULE,
        case,
        State.FAIL,
        f"{text} (limit {measures.percent(case.thresholds['early_share'])}): the import is not durable.",
        severity=Severity.INVALIDATES if case.claim.durability is Durability.STABLE_MEDIA else Severity.NOTES,
        observed=observed,
        relabel="an import that is not on stable media at its end",
        detail=f"{measures.percent(share)} dirty at its end",
        evidence=("page_cache.dirty_bytes of the database files: cachestat(2)",),
        advice="Set `flush = inside`, so that the clock ends when the database is on stable media.",
    )


def unflushed_share(case: TrialCase, flushes: float | None) -> float | None:
    """The least share of a directory's changes that no flush can have made stable before their answers; None where not known."""
    counted = directory.monitored(case.phase, case.observations)
    changes = sum(counted.get(name, 0.0) for name in directory.CHANGES)
    devices = [device for place in case.run.places for device in place.devices[:1]]
    volatile = [ladder.device_fact(case.observations, device, "queue.write_cache") == VOLATILE for device in devices]
    places = sum(client.places for client in case.phase.clients)
    if case.phase.flush_in_clock:  # its clock ends with a flush, whatever the server did at each answer
        return None
    if flushes is None or not changes or not volatile or not all(volatile) or case.phase.values:
        return None
    return max(0.0, 1 - flushes * max(1, places) / changes)


def dirty_bytes(case: TrialCase) -> float | None:
    """By how much dirty and written-back pages of the server's data rose from arming to the last answer."""
    rises = [served.rose(case.phase, case.observations, metric) for metric in PAGES]
    known = [rise for rise in rises if rise is not None]
    return sum(known) if len(known) == len(rises) else None


def early(case: TrialCase, share: float, amounts: tuple[float, float], observed: Figures) -> Finding:
    """The failure: decisive where stable media is claimed, worth knowing under every other claim."""
    acknowledged, dirty = amounts
    seen = f"; its device completed {flushes:,.0f} flushes" if isinstance(flushes := observed.get("flushes"), float) else ""
    where = f"{in_bytes(dirty)} of the server's data was dirty" if dirty else "the server held it in its own memory"
    return found(
        RULE,
        case,
        State.FAIL,
        f"{measures.percent(share)} of {in_bytes(acknowledged)} acknowledged was not stored at the last answer (limit"
        f" {measures.percent(case.thresholds['early_share'])}): {where}{seen}.",
        severity=Severity.INVALIDATES if case.claim.durability is Durability.STABLE_MEDIA else Severity.NOTES,
        observed=observed,
        relabel=EARLY,
        detail=f"{measures.percent(share)} not stored at the last answer",
    )


RULE = Rule(
    id="D04",
    name="server-acks-early",
    scope=Scope.TRIAL,
    severity=Severity.INVALIDATES,
    part="durability",
    meaning=Meaning.EARLY_REPLY,
    reads=("L0.write", "L6.write", "server.dirty_bytes", "server.writeback_bytes", "L9.flush"),
    applies=applies,
    check=check,
    about=About.TARGET_HOST,
    of_requests=True,
    wrong='An NFS export with `async`, a directory server with `dbnosync`, a mail store without fsync. Each answers "done" '
    "while the data are in its memory. It is several times as fast as its neighbour that waits for the disk, and a comparison "
    "of the two is one of two guarantees.",
    alternatives=(
        "The server stores fewer bytes than it receives (compression, duplicates). Send incompressible data.",
        "A log of the server was not named, so its dirty pages count as stored. Name it with the data (server.data).",
    ),
    advice="Find the responsible setting (NFS export sync or async; Samba `strict sync`; slapd `dbnosync`; PostgreSQL "
    "`synchronous_commit`; ZFS `sync`) and make it equal in all arms. Or claim durability = acked.",
    sources=(
        "SPEC SFS 2014, 4.3: what stable storage is for NFS and SMB",
        "slapd-mdb(5): dbnosync, checkpoint",
        "NFS: exports(5), async",
    ),
)
