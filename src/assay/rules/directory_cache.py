"""Finds directory servers that are warm where cold is claimed, and cold where warm is claimed.

Two caches answer a lookup: pages of the server's files, and the server's own cache of entries (389-ds).
- regime = cold: more than `resident_share` of the server's files was in memory before the clock: fail.
- regime = cold: more than `hit_share` of the lookups in the entry cache were hits, and more than `hit_least` for each operation:
  fail.
- regime = warm: more than `miss_share` of the operations can have needed the server's storage (as T02 counts them): fail.
- regime = warm: more than `hit_miss_share` of the lookups in the entry cache were misses: fail.

The resident share is of the files' allocated bytes, by cachestat(2) just before the clock. Entry cache hits and tries are the
rise of the server's own counters in the clock.
"""

from __future__ import annotations

from assay import measures
from assay.catalogue import About, Rule, TrialCase
from assay.evidence import directory, ladder
from assay.records import Direction, Finding, Regime, Scope, Severity, State
from assay.rulekit.findings import found

REGIMES = (Regime.COLD, Regime.WARM)


def applies(case: TrialCase) -> str | None:
    """Requests with a claim of cold or warm caches, and commands on a directory server."""
    if case.claim.regime not in REGIMES:
        return "neither cold nor warm is claimed"
    if case.direction is Direction.REQUEST:
        return None
    return None if directory.software(case.run) and case.direction is Direction.READ else "no lookups in a directory"


def check(case: TrialCase) -> Finding:
    """Files in memory before the clock, hits of the entry cache and reads of storage in it."""
    kind = directory.type_of(case.measure.operation)
    if not directory.software(case.run) or (case.direction is Direction.REQUEST and kind in (None, *directory.CHANGES)):
        return found(RULE, case, State.UNVERIFIED, "The caches behind these requests are unknown. Leave the regime out.")
    return of_cold(case) if case.claim.regime is Regime.COLD else of_warm(case)


def of_cold(case: TrialCase) -> Finding:
    """A claim of cold caches."""
    share, limits = resident(case), case.thresholds
    hits, tries = entry_cache(case)
    done = directory.done(case.phase, case.observations, case.measure.operation) or 0.0
    observed = {"resident_share_before": share, "entry_cache_hits": hits, "entry_cache_tries": tries}
    if share is None:
        return found(RULE, case, State.UNVERIFIED, "The resident share of the server's files is unknown.", observed=observed)
    wrong = []
    if share > limits["resident_share"]:
        limit = measures.percent(limits["resident_share"])
        wrong.append(f"{measures.percent(share)} of its files in memory before the clock (limit {limit})")
    if hits and tries and hits > limits["hit_share"] * tries and hits > limits["hit_least"] * done:
        wrong.append(f"{measures.percent(hits / tries)} hits in its entry cache (limit {measures.percent(limits['hit_share'])})")
    if not wrong:
        text = f"The server was cold: {measures.percent(share)} of its files in memory before the clock."
        return found(RULE, case, State.PASS, text, observed=observed)
    statement = f"The directory server was warm, cold is claimed: {'; '.join(wrong)}."
    return found(RULE, case, State.FAIL, statement, observed=observed, relabel="lookups in a warm directory server")


def of_warm(case: TrialCase) -> Finding:
    """A claim of warm caches."""
    limits = case.thresholds
    hits, tries = entry_cache(case)
    done = directory.done(case.phase, case.observations, case.measure.operation)
    waits = directory.storage_waits(case.phase, case.observations, limits["page_bytes"])
    observed = {"operations": done, "needed_storage": waits, "entry_cache_hits": hits, "entry_cache_tries": tries}
    if not done or waits is None:
        return found(RULE, case, State.UNVERIFIED, "The server's reads of storage are unknown.", observed=observed)
    wrong = []
    if waits > limits["miss_share"] * done:
        limit = measures.percent(limits["miss_share"])
        wrong.append(f"up to {measures.percent(min(1.0, waits / done))} of the operations needed storage (limit {limit})")
    if tries and hits is not None and 1 - hits / tries > limits["hit_miss_share"]:
        limit = measures.percent(limits["hit_miss_share"])
        wrong.append(f"{measures.percent(1 - hits / tries)} misses in its entry cache (limit {limit})")
    if not wrong:
        return found(
            RULE, case, State.PASS, f"The server was warm: {done:,.0f} operations, none from storage.", observed=observed
        )
    statement = f"The directory server was cold, warm is claimed: {'; '.join(wrong)}."
    return found(RULE, case, State.FAIL, statement, observed=observed, relabel="lookups in a cold directory server")


def resident(case: TrialCase) -> float | None:
    """The largest share of the server's files in memory before the clock, of any host; None where it is not known."""
    return max((one.server_cached_before for one in case.phase.hosts if one.server_cached_before is not None), default=None)


def entry_cache(case: TrialCase) -> tuple[float | None, float | None]:
    """Hits and tries of the server's entry cache in the clock; None of a server without one."""
    over_time = case.observations.over_time
    hits, tries = (
        ladder.rises(over_time(case.phase.name, directory.LAYER, name), case.phase.start_ns, case.phase.end_ns)
        for name in ("cache_hits", "cache_tries")
    )
    return (None, None) if hits is None or tries is None else (hits, tries)


RULE = Rule(
    id="T14",
    name="directory-cache",
    scope=Scope.TRIAL,
    severity=Severity.INVALIDATES,
    part="regime",
    short="the directory's caches contradict the claim",
    applies=applies,
    check=check,
    about=About.TARGET_HOST,
    reads=("L6.read", "L8.read", "L9.read", "directory.cache_hits", "directory.cache_tries", "server.cached_bytes"),
    wrong="A search rate is published as that of a cold server, and the import just before left the whole database in memory. Or "
    "the rate of a warm server is measured right after its restart, and half of the searches wait for the disk.",
    alternatives=(
        "A backup or a monitor read the files between the drop of the caches and the clock.",
        "The kernel reads ahead: the start of the server brings a small database into memory. Set `read_ahead = false`.",
        "The entry cache counts lookups of the base entry and of the server itself, which always hit.",
    ),
    at_shell="Restart the server and drop its files before the command. For a warm server search all entries once before it.",
    advice='Set `cache = "cold"`, which restarts the server and drops its files before the load. For a warm server search all '
    "entries once in a workload of its own, before the measured one.",
    sources=(
        "slapd-mdb(5): no entry cache, the page cache serves the database",
        "389-ds: entrycachehits and entrycachetries below cn=monitor of the backend",
    ),
)
