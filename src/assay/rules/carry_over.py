"""Finds leftovers of the previous phase, trial or neighbour: dirty pages, a busy device, a wrong cache state.

The rule checks three readings just before the clock:
- dirty and write-back bytes of the host (/proc/meminfo) above `dirty_share` of the bytes moved and above `least_dirty_bytes`,
- the write rate of the lowest device in the idle baseline above `write_rate_share` of the phase's own rate and above
  `least_written_bytes`,
- for reads, the share of resident pages (cachestat) against the claimed regime.

Each of them qualifies. Missing readings leave the rule unverified. A phase without storage is n/a.
The lab flushes the target before each phase and waits until dirty pages and devices are quiet: 30 s at most, 2 s without
progress.
The knob `quiesce` shortens that wait; `quiesce = "0 s"` is for controls.
"""

from __future__ import annotations

from dataclasses import dataclass

from assay import measures
from assay.catalogue import About, Rule, TrialCase
from assay.evidence import ladder
from assay.records import CacheState, Direction, Finding, HostRole, Meaning, Regime, Rung, Scope, Severity, Span, State
from assay.rulekit.applicability import feels_storage
from assay.rulekit.findings import Figures, found
from assay.units import Unit

CLAIMED = {Regime.COLD: CacheState.COLD, Regime.WARM: CacheState.WARM}
"""The state of the caches that a regime speaks of; `steady` and `burst` speak of none."""


@dataclass(frozen=True, kw_only=True)
class Left:
    """One check: its figures, and in words what is wrong or why it is unknown."""

    observed: Figures
    wrong: str | None = None
    unknown: str | None = None


def applies(case: TrialCase) -> str | None:
    """Every measured phase that moves something; what an external command moves is not known."""
    if (not case.phase.directions and not case.phase.values) or not feels_storage(case):
        return "no storage in this phase"
    return None if case.phase.measured else "not a measured phase"


def check(case: TrialCase) -> Finding:
    """Dirt, writing by other processes and cache state at the start of the clock."""
    here = case.phase.on_host(case.host)
    waited_s = (case.phase.quiesce_ns if here is None else here.quiesce_ns) / 1e9
    looks = (dirt(case), writing(case), caches(case))
    observed: dict[str, float | str | None] = {"waited_s": waited_s}
    for look in looks:
        observed |= look.observed
    wrong = [look.wrong for look in looks if look.wrong]
    unknown = [look.unknown for look in looks if look.unknown]
    evidence = ("memory.dirty_bytes", "L9.write", "page_cache.cached_bytes")
    if wrong:
        return found(RULE, case, State.FAIL, f"Before the clock: {'; '.join(wrong)}.", observed=observed, evidence=evidence)
    if unknown:
        return found(RULE, case, State.UNVERIFIED, f"Unknown before the clock: {'; '.join(unknown)}.", observed=observed)
    text = f"No leftovers before the clock, after a wait of {waited_s:.1f} s."
    return found(RULE, case, State.PASS, text, observed=observed, evidence=evidence)


def dirt(case: TrialCase) -> Left:
    """Bytes dirty or being written on the host, against those that the phase moved."""
    series = [*ladder.gauges(case.phase, case.observations, "memory", "dirty_bytes")]
    series += ladder.gauges(case.phase, case.observations, "memory", "writeback_bytes")
    dirty = ladder.at_arming(case.phase, series)
    if dirty is None:
        return Left(observed={}, unknown="dirty data")
    allowed = max(case.thresholds["dirty_share"] * bytes_of_load(case), case.thresholds["least_dirty_bytes"])
    wrong = f"{measures.in_bytes(dirty)} dirty or in write-back on this host (limit {measures.in_bytes(allowed)})"
    observed = {"dirty_bytes": dirty, "dirty_allowed_bytes": allowed}
    return Left(observed=observed, wrong=wrong if dirty > allowed else None)


def writing(case: TrialCase) -> Left:
    """The rate at which the lowest device was written in the idle baseline, against the phase's own rate."""
    if not case.holds_target or not any(place.devices for place in case.run.places):
        return Left(observed={})
    before = [*case.observations.rung(case.phase.name, Rung.LOWEST_DEVICE, Direction.WRITE, Span.BEFORE)]
    seconds = max(((reading.to_ns - reading.from_ns) / 1e9 for reading in before), default=0.0)
    if seconds <= 0.0:
        return Left(observed={}, unknown="writes to the lowest device")
    written = sum(reading.bytes or 0 for reading in before)
    before_per_s, own = written / seconds, own_rate(case)
    observed: Figures = {"written_before_bytes": written, "written_before_bytes_per_s": before_per_s}
    little = written <= case.thresholds["least_written_bytes"]
    allowed = case.thresholds["write_rate_share"] * own
    if little or before_per_s <= allowed:
        return Left(observed=observed)
    theirs, most, ours = (measures.with_unit(rate, Unit.BYTES_PER_S) for rate in (before_per_s, allowed, own))
    share = measures.percent(case.thresholds["write_rate_share"])
    limit = f"limit {most}, {share} of the phase's own {ours}"
    return Left(observed=observed, wrong=f"the device was being written at {theirs} by something else ({limit})")


def caches(case: TrialCase) -> Left:
    """The state of the data files' pages against the regime that is claimed; metadata has a rule of its own (T12)."""
    claimed, here = CLAIMED.get(case.claim.regime) if case.claim.regime else None, case.phase.on_host(case.host)
    share, proved = case.phase.cached_share_before, case.phase.cache_proved
    if here is not None:
        apart = case.role is HostRole.TARGET
        share, proved = here.server_cached_before if apart else here.cached_share_before, here.cache_proved
    observed = {"cached_share": share}
    unseen = share is None and case.role is HostRole.TARGET  # the server's files, of which T02 judges what was read
    if claimed is None or case.direction is not Direction.READ or unseen:
        return Left(observed=observed)
    if share is None:
        return Left(observed=observed, unknown="resident share of the data files")
    if proved is claimed:
        return Left(observed=observed)
    part = measures.percent(share)
    return Left(observed=observed, wrong=f"{part} of the data files in memory ({claimed} caches claimed)")


def bytes_of_load(case: TrialCase) -> float:
    """All bytes of the application's I/O in the phase: what is dirty hurts reads as well as writes."""
    return sum(ladder.requested_bytes(case.phase, case.observations, way) or 0.0 for way in (Direction.READ, Direction.WRITE))


def own_rate(case: TrialCase) -> float:
    """Bytes per second of the phase: of the application or of the lowest device, whichever is more."""
    seconds = max(1, case.phase.lasted_ns) / 1e9
    passed = [ladder.lowest_device(case.phase, case.observations, way) for way in (Direction.READ, Direction.WRITE)]
    device = sum(step.bytes for step in passed if step is not None)
    return max(bytes_of_load(case), device) / seconds


RULE = Rule(
    id="W07",
    name="carry-over",
    scope=Scope.TRIAL,
    severity=Severity.QUALIFIES,
    part="window",
    short="device busy before the start",
    meaning=Meaning.CARRY_OVER,
    needs=("memory.dirty_bytes",),
    applies=applies,
    check=check,
    about=About.EACH_HOST,
    wrong="A trial that starts during the write-back of the previous one pays for work that is not its own. In a fixed order B "
    'then looks slower than A because it ran second. A "cold" read of files in memory is the same mistake in the other '
    "direction.",
    alternatives=(
        "Another program on this host was writing. Dirty pages count for the whole host, bytes for the whole device.",
        "The file system was doing its own work, such as a journal commit or lazy initialisation.",
    ),
    advice="Keep the lab's wait for quiet (do not set `quiesce`). Stop other writers to this device. Set the initial cache "
    "state of the phase (cache = cold or warm) to match the claim.",
    at_shell="Wait until /proc/meminfo shows little Dirty and Writeback (`sync`), and stop other writers to this device.",
    sources=(
        "Duplyakin et al., ATC 2023: the ordering trap",
        "Heiser, systems benchmarking crimes: quiescence before timing",
    ),
)
