"""Finds reads that a server answered from its page cache, and cache claims that its storage answered.

The target names the server's processes (`server.pid_file` or `server.cgroup`, see [commands](../targets/commands.md)).
The rule divides the bytes that they read from storage (L6) by the bytes that the clients received (their own count, else L4).
- tier = device: more than `hit_share` from memory is invalid; the storage rate is the bound.
- tier = server-cache: a mixture qualifies, reads entirely from storage are invalid.
- No claim: a note.

A directory server (slapd, 389-ds) is judged by operations, since an answer of 65 bytes needs pages of 4 KiB. A search that
needed storage read at least `page_bytes` (L6) by at least one request of the device (L8, else L9). So the smaller of both counts
is the most searches that needed storage. All other searches were answered from memory.

With `server.data` the finding also gives the resident share before the clock. `rchar` of the server includes sockets and misses
io_uring, so it is not used.
"""

from __future__ import annotations

from assay import measures
from assay.catalogue import About, Rule, TrialCase
from assay.evidence import directory, served
from assay.records import Direction, Finding, Meaning, Scope, Severity, State, Tier
from assay.rulekit.applicability import reads_only, servers_only
from assay.rulekit.findings import at_most, found, in_words

OF_DIRECTORY = "answered from the memory of the directory server"


def applies(case: TrialCase) -> str | None:
    """Reads from a server; requests where a tier is claimed, or where a directory server looks something up."""
    if case.direction is not Direction.REQUEST:
        return reads_only(case) or servers_only(case)
    is_lookup = directory.software(case.run) and directory.type_of(case.measure.operation) in directory.LOOKUPS
    return None if is_lookup or case.claim.tier is not Tier.AS_IS else "no claim of the tier that serves these requests"


def check(case: TrialCase) -> Finding:
    """The share of what the clients got that the server's storage was not asked for."""
    if directory.software(case.run) or case.direction is Direction.REQUEST:
        return of_directory(case)
    got = served.payload(case.phase, case.observations, Direction.READ)
    read = served.storage_io(case.phase, case.observations, Direction.READ)
    if not got or read is None:
        lacking = "storage reads of the server" if got else "bytes received by the clients"
        return found(RULE, case, State.UNVERIFIED, f"The server's cache is invisible: no count of {lacking}.")
    hits = 1 - min(1.0, read.raw_bytes / got)
    observed = {"hit_share": hits, "got_bytes": got, "read_bytes": read.raw_bytes, "resident_share_before": resident(case)}
    if case.claim.tier is Tier.SERVER_CACHE:
        return from_memory(case, hits, observed, words(observed))
    if hits <= case.thresholds["hit_share"]:
        return found(RULE, case, State.PASS, f"No hit in the server's page cache: {words(observed)}.", observed=observed)
    bound = at_most(case, 1 - hits)
    rate = f", {in_words(bound)}" if bound and hits < 1 else ""
    of_device = case.claim.tier is Tier.DEVICE
    return found(
        RULE,
        case,
        State.FAIL,
        f"Answered by the server's page cache: {words(observed)}.",
        severity=Severity.INVALIDATES if of_device else Severity.NOTES,
        observed=observed,
        bound=bound if of_device else None,
        relabel="read from the server's memory",
        detail=f"share of its storage {measures.percent(1 - hits)}{rate}",
    )


def of_directory(case: TrialCase) -> Finding:
    """The share of lookups that cannot have needed the storage of a directory server."""
    kind = directory.type_of(case.measure.operation)
    is_lookup = case.direction is not Direction.REQUEST or kind in directory.LOOKUPS
    if not directory.software(case.run) or not is_lookup or case.claim.tier is Tier.CLIENT_CACHE:
        return found(RULE, case, State.UNVERIFIED, "How storage served these requests is unknown. Leave the tier out.")
    done = directory.done(case.phase, case.observations, case.measure.operation)
    waits = directory.storage_waits(case.phase, case.observations, case.thresholds["page_bytes"])
    if not done or waits is None:
        lacking = "operations" if not done else "storage reads of the server"
        return found(RULE, case, State.UNVERIFIED, f"The server's cache is invisible: no count of {lacking}.")
    hits, before = 1 - min(1.0, waits / done), resident(case)
    observed = {"hit_share": hits, "operations": done, "needed_storage": waits, "resident_share_before": before}
    text = f"at most {min(waits, done):,.0f} of {done:,.0f} operations needed the server's storage{known(before)}"
    if case.claim.tier is Tier.SERVER_CACHE:
        return from_memory(case, hits, observed, text)
    if hits <= case.thresholds["hit_share"]:
        return found(RULE, case, State.PASS, f"No sign of answers from the server's memory: {text}.", observed=observed)
    of_device = case.claim.tier is Tier.DEVICE
    bound = at_most(case, 1 - hits) if of_device else None
    return found(
        RULE,
        case,
        State.FAIL,
        f"Answered from the server's memory: {text}.",
        severity=Severity.INVALIDATES if of_device else Severity.NOTES,
        observed=observed,
        bound=bound,
        relabel=OF_DIRECTORY,
        detail=f"share of its storage {measures.percent(1 - hits)}{f', {in_words(bound)}' if bound and hits < 1 else ''}",
    )


def resident(case: TrialCase) -> float | None:
    """The share of the server's data that was in its memory before the clock; None where no data are named."""
    cached, size = (served.at_arming(case.phase, case.observations, name) for name in ("cached_bytes", "file_bytes"))
    return min(1.0, cached / size) if cached is not None and size else None


def words(observed: dict[str, float | None]) -> str:
    """How much went where."""
    got, read = (measures.in_bytes(observed[name] or 0.0) for name in ("got_bytes", "read_bytes"))
    return f"the clients received {got}, the server read {read} from storage{known(observed['resident_share_before'])}"


def known(before: float | None) -> str:
    """How much of the server's data was in memory before the clock; empty where nobody looked."""
    return "" if before is None else f"; {measures.percent(before)} of its data in its memory before the clock"


def from_memory(case: TrialCase, hits: float, observed: dict[str, float | None], text: str) -> Finding:
    """A claim of the server's cache: fails where its storage was asked for more than noise."""
    limit = case.thresholds["hit_share"]
    if 1 - hits <= limit:
        statement = f"Answered by the server's memory, as claimed: {text}."
        return found(RULE, case, State.PASS, statement, observed=observed)
    return found(
        RULE,
        case,
        State.FAIL,
        f"Not all from the server's memory, as claimed: {text}.",
        severity=Severity.INVALIDATES if hits <= limit else Severity.QUALIFIES,
        observed=observed,
        relabel="read from the server's memory and its storage",
        detail=f"{measures.percent(hits)} from memory",
    )


RULE = Rule(
    id="T02",
    name="server-page-cache",
    scope=Scope.TRIAL,
    severity=Severity.INVALIDATES,
    part="tier",
    meaning=Meaning.SERVER_CACHE,
    reads=("L0.read", "L4.write", "L6.read", "L8.read", "L9.read", "server.cached_bytes"),
    applies=applies,
    check=check,
    about=About.TARGET_HOST,
    of_requests=True,
    wrong="The clients are cold, each of them reads over the network, and every counter of theirs confirms it. The server has "
    "the files in memory. The figure describes the server's memory, its CPUs and the network, and is published as the speed of "
    "the storage behind.",
    alternatives=(
        "The server has an entry cache of its own (T10), or compresses its answers: its storage is asked for less too.",
        "Another process read for the server (a helper that is no child of it). Name a control group instead of a pid file.",
        "Several searches waited for the same page at once, or the device merged their requests. Repeat with one connection.",
        "The kernel read ahead for a directory server: one request brought pages of many entries. Set read_ahead = false.",
    ),
    advice="Restart the server and drop its files before each trial (`drop_caches`), or use data of at least twice its memory. "
    "Or claim tier = server-cache, the case of most clients.",
    at_shell="Restart the server and drop its files first, or use data of at least twice its memory. Or claim tier=server-cache.",
    sources=(
        "Traeger, Zadok, Joukov, Wright: A nine year study of file system and storage benchmarking, ACM TOS 4(2), 2008",
        "SPECstorage Solution 2020 run rules: a cache is legal, and the data grow with the load",
    ),
)
