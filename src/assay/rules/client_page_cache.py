"""Finds reads answered by the client's page cache, and cache claims that storage answered.

Hit share = 1 - min(1, bytes that the process read from storage / bytes that the load requested).
The numerator is `read_bytes` of /proc/PID/io over all clients, the denominator the load generator's own count.
`rchar` is 0 for io_uring, libaio and mmap, so it is no evidence. Without process counters the bytes of the file system's device
stand in.

- tier = device or server-cache, or regime = cold: more hits than `hit_share` invalidate; the label bounds the device rate by X
  (1 - hits).
- tier = client-cache or regime = warm: bytes from storage qualify, and invalidate if nearly all came from storage.
- Any other claim: a note.

**Small files.** Whole pages, read-ahead and metadata make storage read more than requested.
If it did, and more than `resident_share` of the data was in memory before the clock, hits may hide in the excess. Device and
cold claims are unverified.

**External commands.** A command that reports no bytes is compared with its system calls (`rchar`).
Calls below `least_bytes` are its own libraries. mmap, io_uring and pipes leave it unverified.

**With tracepoints** (`observers = ["*", "tracepoints"]`) the pages that came into memory bound the buffered reads of the lab's
own engines.

**With a server** the bytes that the server sent (L4) replace the client's storage counters.

**File systems in user space** (FUSE): the kernel counts no storage reads of the client, so 0 of them is no evidence. The
storage reads of the process behind the mount count instead.
- It was not seen, or it has connections and the host received more than `nothing_share`: unverified. Name the server.
- It made too few calls to be asked, at `request_bytes` for each: the page cache of the mount answered.
- It was asked, and neither storage nor a network delivered more than `nothing_share`: a cache below the mount answered.

**Leases.** With `cache=strict` an SMB mount reads from its cache only under an oplock or a lease. For NFS the server's list of
delegations counts (observer nfsd). The label is then "read from the client's cache under a lease". With `cache=none`, all reads
pass the wire.

The rule does not see caches below the client: a loop device's image (T03), a server (T02), a hypervisor, the disk.
"""

from __future__ import annotations

import re
from dataclasses import replace

from assay import measures
from assay.catalogue import About, Rule, TrialCase
from assay.evidence import client_leases, fuse, ladder, served, traced, words
from assay.records import Direction, Finding, Meaning, Regime, Rung, Scope, Severity, State, Tier
from assay.rulekit.applicability import reads_only
from assay.rulekit.findings import Figures, at_most, found, in_words, knob

MOSTLY = 0.5  # below this share of hits a read is not one of memory: its label speaks of both
MIXTURE = "read: a mixture of memory and storage"
LEASED = "read from the client's cache under a lease"
BELOW_CACHE = (Tier.DEVICE, Tier.SERVER_CACHE)
OF_USER_SPACE = ("fuse.read_bytes",)
NAME_SERVER = "Name the server with its data (`server` of the target, `--server` of stat), so that its own reads are counted."
COLD_MOUNT = (
    "Unmount, drop the files below the mount and the cache of the client program, and mount again. "
    "Or claim the cache that answered."
)


def applies(case: TrialCase) -> str | None:
    """Reads of data, by tools that read."""
    idle = case.phase.values.get(f"{case.measure.operation}.idle")
    return "the tool's engine reads nothing (G05)" if idle else reads_only(case)


def check(case: TrialCase) -> Finding:
    """The share of the bytes that never left the client's memory, against what is claimed."""
    requested = of_files(case, ladder.requested_bytes(case.phase, case.observations, Direction.READ))
    user_space = fuse.behind(case.run, case.phase, case.observations) if served.server(case.run) is None else None
    if requested and user_space is not None:
        return through_user_space(case, requested, user_space)
    read = counted(case)
    if read is None and case.claim.regime in (Regime.COLD, Regime.WARM) and case.phase.cached_share_before is not None:
        return by_residence(case, case.phase.cached_share_before)
    if not requested or read is None:
        lacking = "Bytes read from storage" if requested else "Requested bytes"
        return found(RULE, case, State.UNVERIFIED, f"{lacking} unknown, so cache hits cannot be separated from reads.")
    limit = case.thresholds["hit_share"]
    read = of_data(case, read)
    if read.raw_bytes >= (1 - limit) * requested and read.other_processes_bytes > limit * requested:
        statement = f"{read.device}: too much I/O of other processes to separate cache hits from reads."
        return found(RULE, case, State.UNVERIFIED, statement, observed={"other_processes_bytes": read.other_processes_bytes})
    hits = hit_share(case, read.raw_bytes, requested)
    unsure = doubtful(case, read, requested) or (uncounted(case, hits, requested) if is_guess(case) else None)
    if unsure is not None:
        return found(RULE, case, State.UNVERIFIED, unsure, observed=figures(case, hits, requested))
    if case.claim.tier is Tier.CLIENT_CACHE or case.claim.regime is Regime.WARM:
        return from_memory(case, hits, requested)
    return served_from_cache(case, hits, requested) if hits > limit else from_below(case, read, requested)


def of_files(case: TrialCase, requested: float | None) -> float | None:
    """What was requested of files: of the calls of a command with pipes less than what these carried at most."""
    if not requested or not is_guess(case) or knob(case, "parse") == "observed" or not words.has_pipes(argv(case)):
        return requested
    calls, dirtied = (
        ladder.passed(case.phase, case.observations, rung, Direction.WRITE) for rung in (Rung.SYSCALL, Rung.CLIENT_CACHE)
    )
    piped = max(0.0, calls.bytes - (dirtied.bytes if dirtied else 0.0)) if calls else 0.0
    return max(0.0, requested - piped) or None


def argv(case: TrialCase) -> tuple[str, ...]:
    """The words of the command."""
    found = knob(case, "argv")
    return tuple(str(word) for word in found) if isinstance(found, tuple) else ()


def of_data(case: TrialCase, read: ladder.LadderStep) -> ladder.LadderStep:
    """What a command made storage read of its data: no more than their devices delivered. The rest is of files elsewhere."""
    device = ladder.highest_device(case.phase, case.observations, Direction.READ)
    if not case.phase.values or device is None or served.server(case.run) is not None or device.raw_bytes >= read.raw_bytes:
        return read
    return replace(read, raw_bytes=device.raw_bytes, bytes=min(read.bytes, device.raw_bytes))


def sure_bytes(case: TrialCase, read: ladder.LadderStep) -> float:
    """Of what a command made storage read what is surely of its data, and of no program file beside them."""
    doubtful = sum(one.value[-1] for one in ladder.gauges(case.phase, case.observations, "process", "doubtful_read_bytes"))
    return max(0.0, read.raw_bytes - doubtful)


def is_of_memory(case: TrialCase) -> bool:
    """Whether the claim is one of the client's memory."""
    return case.claim.tier is Tier.CLIENT_CACHE or case.claim.regime is Regime.WARM


def through_user_space(case: TrialCase, requested: float, seen: fuse.Behind) -> Finding:
    """Reads through FUSE: what the process behind the mount read from storage, or may have got over a network."""
    where, little = f"The process behind {' and '.join(seen.mounts)} (FUSE)", case.thresholds["nothing_share"] * requested
    if seen.read_bytes is None or seen.calls is None:
        text = f"{where} was not seen, and reads through FUSE are counted for no other process."
        return found(RULE, case, State.UNVERIFIED, text, lacking=OF_USER_SPACE, observed=figures(case, None, requested))
    storage, was_asked, share = seen.read_bytes, is_asked(case, seen.calls, requested), min(1.0, seen.read_bytes / requested)
    observed = figures(case, 1 - share, requested) | {"calls": seen.calls, "networked": float(seen.networked)}
    read = f"read {measures.in_bytes(storage)} from storage for {measures.in_bytes(requested)} requested"
    if is_of_memory(case) and (storage > little or not was_asked):
        return from_memory(case, 1 - share if storage > little else 1.0, requested)
    if storage >= (1 - case.thresholds["hit_share"]) * requested:
        return found(RULE, case, State.PASS, f"No cache answered: {where[:1].lower()}{where[1:]} {read}.", observed=observed)
    unsure = None
    if is_of_memory(case):
        unsure = f"{where} was asked, so the page cache of the client did not answer all."
    elif seen.networked and was_asked and (seen.received_bytes is None or seen.received_bytes > little):
        unsure = f"{where} {read}, and has network connections. Name its server, so that the server's own reads count."
    elif storage > little:
        unsure = f"{where} {read}: the rest came from a cache, or its data are stored in fewer bytes."
    if unsure is not None:
        return found(RULE, case, State.UNVERIFIED, unsure, observed=observed, lacking=OF_USER_SPACE, advice=NAME_SERVER)
    if was_asked:
        text = f"{where} {read}, and got next to nothing over a network: a cache below the mount answered."
        return from_user_space(case, text, share, observed, "read from a cache of the process behind the mount")
    text = f"{where} was hardly asked ({seen.calls:,.0f} calls), and {read}: the page cache of the mount answered."
    return from_user_space(case, text, share, observed, "warm read: page-cache bandwidth")


def doubtful(case: TrialCase, read: ladder.LadderStep, requested: float) -> str | None:
    """Why a command's storage reads may be of other files, or its data of other mounts; None if they are not."""
    limit, hits = case.thresholds["hit_share"], hit_share(case, read.raw_bytes, requested)
    if hits <= limit < hit_share(case, sure_bytes(case, read), requested):
        own = measures.in_bytes(read.raw_bytes - sure_bytes(case, read))
        return f"Storage read {own} that may be of the command's own program files, so cache hits cannot be excluded."
    return unknown_mount(case, requested) if hits > limit and case.phase.values else None


def unknown_mount(case: TrialCase, requested: float) -> str | None:
    """Why a command's reads may have gone through a FUSE mount that it does not name; None where none was busy."""
    point = fuse.others_asked(case.run, case.phase, case.observations, requested)
    if point is None or served.server(case.run) is not None:
        return None
    return f"The process behind {point} was busy, and reads through FUSE count for no process. Name the files as arguments."


def is_asked(case: TrialCase, calls: float, requested: float) -> bool:
    """Whether a process that made so many calls can have been asked for what was requested."""
    return calls * case.thresholds["request_bytes"] >= (1 - case.thresholds["hit_share"]) * requested


def from_user_space(case: TrialCase, text: str, share: float, observed: Figures, label: str) -> Finding:
    """The failure of reads that a cache on this host answered."""
    wrong, bound = case.claim.tier in BELOW_CACHE or case.claim.regime is Regime.COLD, at_most(case, share)
    return found(
        RULE,
        case,
        State.FAIL,
        text,
        severity=Severity.INVALIDATES if wrong else Severity.NOTES,
        part="tier" if case.claim.tier in BELOW_CACHE else "regime",
        observed=observed,
        bound=bound,
        relabel=label,
        detail=f"device share {measures.percent(share)}{f'; device rate {in_words(bound)}' if bound else ''}",
        advice=COLD_MOUNT,
    )


def may_hide_hits(case: TrialCase, read: float, requested: float) -> bool:
    """Whether whole pages of small files, read-ahead and metadata may stand for what memory answered: some was there before."""
    resident = case.phase.cached_share_before
    claimed = case.claim.tier in BELOW_CACHE or case.claim.regime is Regime.COLD
    excess = read > (1 + case.thresholds["hit_share"]) * requested
    return claimed and excess and resident is not None and resident > case.thresholds["resident_share"]


def by_residence(case: TrialCase, resident: float) -> Finding:
    """Without counted reads cachestat(2) before the clock judges a regime, but no tier."""
    limit = case.thresholds["resident_share"]
    part = f"{measures.percent(resident)} of the data in memory before the clock"
    observed = {"resident_share_before": resident}
    if case.claim.tier in (*BELOW_CACHE, Tier.CLIENT_CACHE):
        return found(RULE, case, State.UNVERIFIED, f"{part}; no counter for the answering tier.", observed=observed)
    if resident <= limit if case.claim.regime is Regime.COLD else resident >= 1 - limit:
        return found(RULE, case, State.PASS, f"{part}, as claimed.", part="regime", observed=observed)
    return found(
        RULE,
        case,
        State.FAIL,
        f"{part} ({case.claim.regime} claimed).",
        part="regime",
        observed=observed,
        relabel="read with some of the data in memory beforehand",
        detail=part,
    )


def is_guess(case: TrialCase) -> bool:
    """Whether the requested bytes are those of a command's calls, because the command reports none."""
    unreported = case.phase.values and not any(name.endswith(".bytes") for name in case.phase.values)
    return knob(case, "parse") == "observed" or bool(unreported)


def hit_share(case: TrialCase, read: float, requested: float) -> float:
    """The share that storage did not read; for counted calls less the command's own libraries."""
    libraries = is_guess(case) and MOSTLY * requested <= read and requested - read <= case.thresholds["least_bytes"]
    return 0.0 if libraries else 1 - min(1.0, read / requested)


def uncounted(case: TrialCase, hits: float, requested: float) -> str | None:
    """Why the calls of a command without reported bytes do not show its requests; None if they do."""
    unseen = knob(case, "parse") != "observed" and words.names_another(argv(case))
    if knob(case, "calls") == "uncounted" or unseen:
        return "Requested bytes unknown (mmap, io_uring, pipes or sockets), so cache hits cannot be separated from reads."
    if hits <= case.thresholds["hit_share"] or requested >= case.thresholds["least_bytes"]:
        return None
    return f"System calls for {measures.in_bytes(requested)} by a command without a report: its own libraries."


def counted(case: TrialCase) -> ladder.LadderStep | None:
    """Bytes sent to the client or read from storage; else of the device; None if fewer are stored."""
    behind = served.server(case.run) is not None
    own = served.below_client(case.run, case.phase, case.observations)
    own = own if behind or knob(case, "direct") is True else traced.brought(case.phase, case.observations, own)
    encoded = case.claim.tier is Tier.AS_IS and ladder.encoded_bytes(case.phase, case.observations) > 0
    return own if behind else None if encoded else own or ladder.highest_device(case.phase, case.observations, Direction.READ)


def amounts(requested: float, hits: float) -> str:
    """How much of what was requested went where."""
    total, below = (measures.in_bytes(count) for count in (requested, requested * (1 - hits)))
    return f"storage read {below} of {total} requested ({measures.percent(1 - hits)})"


def figures(case: TrialCase, hits: float | None, requested: float) -> dict[str, float | str | None]:
    """What was observed, for the finding."""
    return {"hit_share": hits, "requested_bytes": requested, "resident_share_before": case.phase.cached_share_before}


def served_from_cache(case: TrialCase, hits: float, requested: float) -> Finding:
    """The failure: a number of memory under another name."""
    wrong = case.claim.tier in BELOW_CACHE or case.claim.regime is Regime.COLD
    bound = at_most(case, 1 - hits)
    rate = f"; device rate {in_words(bound)}" if bound else ""
    detail = f"device share {measures.percent(1 - hits)}{rate}" if hits < 1 else "nothing came from the device"
    answered, label = "Answered by the client's page cache:", "warm read: page-cache bandwidth"
    if source := of_no_file(case, hits, requested):
        answered, label = f"Read from {source}, which is no storage:", "read of a device without data"
    elif knob(case, "direct") is True or knob(case, "asks_direct") is True:
        answered, label = "Direct reads bypass the client's page cache, yet", "direct read without storage I/O"
    elif hits < MOSTLY:
        label, detail = MIXTURE, shares(hits) + rate
    elif client_leases.lease(case.phase, case.observations):
        answered, label = f"Answered by {answerer(case)}:", LEASED
    return found(
        RULE,
        case,
        State.FAIL,
        f"{answered} {amounts(requested, hits)}.",
        severity=Severity.INVALIDATES if wrong else Severity.NOTES,
        part="tier" if case.claim.tier in BELOW_CACHE else "regime",
        observed=figures(case, hits, requested),
        bound=bound,
        relabel=label,
        detail=detail,
        advice=advice(case),
    )


def answerer(case: TrialCase) -> str:
    """Which cache of the client answered: under a promise of the server its answers are as the server would give them."""
    promise = client_leases.lease(case.phase, case.observations)
    return f"the client's cache under a lease ({promise})" if promise else "the client's page cache"


def of_no_file(case: TrialCase, hits: float, requested: float) -> str | None:
    """The devices of characters that a command read its data from, in place of any storage; None where it read files."""
    read = sum(one.value[-1] for one in ladder.gauges(case.phase, case.observations, "process", ladder.OF_NO_FILE))
    if not requested or read < hits * requested or hits < MOSTLY:
        return None
    named = [found[0] for word in argv(case) for found in [MADE.search(word)] if found]
    return " and ".join(dict.fromkeys(named)) or "a device without data, such as /dev/zero"


MADE = re.compile(r"/dev/(?:zero|full|u?random)\b")
"""Devices whose bytes the kernel makes."""


def advice(case: TrialCase) -> str:
    """What to do: files of a file system in memory stay there whatever is dropped."""
    if case.phase.values and any(True for _ in ladder.gauges(case.phase, case.observations, "process", ladder.OF_NO_FILE)):
        return "Read a file, or a block device with data."
    place = next((place for place in case.run.places if place.is_in_memory), None)
    if place is None:
        return RULE.advice
    return f"Use a directory on a disk: {place.filesystem} stores its files in memory alone, so no cache can be dropped."


def from_memory(case: TrialCase, hits: float, requested: float) -> Finding:
    """A claim of the cache or of warmth: fails where storage was asked for more than noise."""
    limit = case.thresholds["hit_share"]
    if 1 - hits <= limit:
        text = f"Answered by {answerer(case)}, as claimed: {amounts(requested, hits)}."
        return found(RULE, case, State.PASS, text, observed=figures(case, hits, requested))
    return found(
        RULE,
        case,
        State.FAIL,
        f"Not all from memory, as claimed: {amounts(requested, hits)}.",
        severity=Severity.INVALIDATES if hits <= limit else Severity.QUALIFIES,
        observed=figures(case, hits, requested),
        relabel=MIXTURE,
        detail=shares(hits),
    )


def shares(hits: float) -> str:
    """How much memory answered, and how much storage."""
    return f"{measures.percent(hits)} memory and {measures.percent(1 - hits)} storage"


def from_below(case: TrialCase, step: ladder.LadderStep, requested: float) -> Finding:
    """No hits: a pass, unless some may hide in what was read beyond what was requested; the resident share is named."""
    read, resident = step.raw_bytes, case.phase.cached_share_before
    hits = hit_share(case, read, requested)
    before = "" if resident is None else f"; {measures.percent(resident)} of the data in memory before the clock"
    if may_hide_hits(case, sure_bytes(case, step), requested):
        got, wanted = (measures.in_bytes(count) for count in (read, requested))
        hidden = "cache hits may hide behind whole pages of small files and read-ahead."
        statement = f"Storage read {got} for {wanted} requested{before}: {hidden}"
        return found(RULE, case, State.UNVERIFIED, statement, observed=figures(case, hits, requested))
    statement = f"No hit in the client's page cache: {amounts(requested, hits)}{before}."
    return found(RULE, case, State.PASS, statement, observed=figures(case, hits, requested))


RULE = Rule(
    id="T01",
    name="client-page-cache",
    scope=Scope.TRIAL,
    severity=Severity.INVALIDATES,
    part="tier",
    short="answered from memory",
    meaning=Meaning.PAGE_CACHE,
    applies=applies,
    check=check,
    about=About.ALL_HOSTS,
    reads=(
        "L0.read",
        "L4.write",
        "L2.read",
        "tracepoints.added_bytes",
        "fuse.read_bytes",
        "L8.read",
        "L9.read",
        "page_cache.cached_bytes",
    ),
    wrong="A file that was just written or read is still in memory. Reading it again measures memory, not the disk.",
    alternatives=(
        "The reads were charged to another process (a server's threads, a kernel client). Check the layers below.",
        "The file system stores the data compressed, so storage reads fewer bytes without any cache. Check the extents (T07).",
        "The file has holes or unwritten extents, which no device is asked for (T06).",
    ),
    advice="Drop the file's pages before the clock (cache = cold), remount, read with O_DIRECT, or read from another client "
    "than the writer. A data set of twice the memory also helps.",
    at_shell="Drop the file from memory first: `dd if=FILE iflag=nocache count=0`.",
    sources=(
        "Traeger, Zadok, Joukov, Wright: A nine year study of file system and storage benchmarking, ACM TOS 4(2), 2008",
        "Tarasov, Bhanage, Zadok, Seltzer: Benchmarking file system benchmarking, HotOS 2011",
    ),
)
