"""Finds reads that a server answered from its page cache, and cache claims that its storage answered.

The target names the server's processes (`server.pid_file` or `server.cgroup`, see [commands](../targets/commands.md)).
The rule divides the bytes that they read from storage (L6) by the bytes that the clients received (their own count, else L4).
- tier = device: more than `hit_share` from memory is invalid; the storage rate is the bound.
- tier = server-cache: a mixture qualifies, reads entirely from storage are invalid.
- No claim: a note.

With `server.data` the finding also gives the resident share before the clock. `rchar` of the server includes sockets and misses
io_uring, so it is not used.
"""

from __future__ import annotations

from assay import measures
from assay.catalogue import About, Rule, TrialCase
from assay.evidence import served
from assay.records import Direction, Finding, Meaning, Scope, Severity, State, Tier
from assay.rulekit.applicability import reads_only, servers_only
from assay.rulekit.findings import at_most, found, in_words


def applies(case: TrialCase) -> str | None:
    """Reads from a server."""
    return reads_only(case) or servers_only(case)


def check(case: TrialCase) -> Finding:
    """The share of what the clients got that the server's storage was not asked for."""
    got = served.payload(case.phase, case.observations, Direction.READ)
    read = served.storage_io(case.phase, case.observations, Direction.READ)
    if not got or read is None:
        lacking = "storage reads of the server" if got else "bytes received by the clients"
        return found(RULE, case, State.UNVERIFIED, f"The server's cache is invisible: no count of {lacking}.")
    hits = 1 - min(1.0, read.raw_bytes / got)
    observed = {"hit_share": hits, "got_bytes": got, "read_bytes": read.raw_bytes, "resident_share_before": resident(case)}
    if case.claim.tier is Tier.SERVER_CACHE:
        return from_memory(case, hits, observed)
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


def resident(case: TrialCase) -> float | None:
    """The share of the server's data that was in its memory before the clock; None where no data are named."""
    cached, size = (served.at_arming(case.phase, case.observations, name) for name in ("cached_bytes", "file_bytes"))
    return min(1.0, cached / size) if cached is not None and size else None


def words(observed: dict[str, float | None]) -> str:
    """How much went where."""
    got, read = (measures.in_bytes(observed[name] or 0.0) for name in ("got_bytes", "read_bytes"))
    before = observed["resident_share_before"]
    known = "" if before is None else f"; {measures.percent(before)} of its data in its memory before the clock"
    return f"the clients received {got}, the server read {read} from storage{known}"


def from_memory(case: TrialCase, hits: float, observed: dict[str, float | None]) -> Finding:
    """A claim of the server's cache: fails where its storage was asked for more than noise."""
    limit = case.thresholds["hit_share"]
    if 1 - hits <= limit:
        text = f"Answered by the server's memory, as claimed: {words(observed)}."
        return found(RULE, case, State.PASS, text, observed=observed)
    return found(
        RULE,
        case,
        State.FAIL,
        f"Not all from the server's memory, as claimed: {words(observed)}.",
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
    reads=("L0.read", "L4.write", "L6.read", "server.cached_bytes"),
    applies=applies,
    check=check,
    about=About.TARGET_HOST,
    wrong="The clients are cold, each of them reads over the network, and every counter of theirs confirms it. The server has "
    "the files in memory. The figure describes the server's memory, its CPUs and the network, and is published as the speed of "
    "the storage behind.",
    alternatives=(
        "The server has an entry cache of its own (T10), or compresses its answers: its storage is asked for less too.",
        "Another process read for the server (a helper that is no child of it). Name a control group instead of a pid file.",
    ),
    advice="Restart the server and drop its files before each trial (`drop_caches`), or use data of at least twice its memory. "
    "Or claim tier = server-cache, the case of most clients.",
    at_shell="Restart the server and drop its files first, or use data of at least twice its memory. Or claim tier=server-cache.",
    sources=(
        "Traeger, Zadok, Joukov, Wright: A nine year study of file system and storage benchmarking, ACM TOS 4(2), 2008",
        "SPECstorage Solution 2020 run rules: a cache is legal, and the data grow with the load",
    ),
)
