"""Finds durable writes without a flush: the promised syncs did not reach the lowest visible device.

The rule counts flushes that the devices of the stack completed during clock and drain (/proc/diskstats).
No flush at any of them fails. A device that reports `write through` needs none.
If other processes flush the same device, the load's flushes must exceed the rate of the idle baseline.
The difference must be two standard deviations of a Poisson count.
A loop device above, which has one user, may show that instead. Otherwise the rule is unverified.
With tracepoints (`observers = ["*", "tracepoints"]`) flushes and forced-unit-access writes of the load's own processes pass.
The rule does not see whether the device obeys: power-loss protection and lying firmware look alike.
"""

from __future__ import annotations

import math

from assay.catalogue import About, Rule, TrialCase
from assay.evidence import ladder, traced
from assay.records import Direction, Finding, Meaning, Rung, Scope, Severity, Span, State
from assay.rulekit.applicability import changes_only, in_memory_first
from assay.rulekit.findings import Figures, found

FEW = 9.5
"""Fewer flushes of other processes are given with a decimal: "about 0" would be no reason."""


def check(case: TrialCase) -> Finding:
    """Flushes completed at the lowest device while the clock or the drain ran."""
    flushes = seen(case, Rung.LOWEST_DEVICE)
    if flushes is None:
        return found(RULE, case, State.UNVERIFIED, "Flushes at the lowest visible device not counted.")
    upper = seen(case, Rung.UPPER_DEVICE)
    if not wants_flushes(case, flushes.subjects):
        statement = f"{flushes.device} reports no volatile cache (write through), so no flush is needed."
        return found(RULE, case, State.PASS, statement, observed={"flushes": flushes.raw_operations})
    observed: Figures = {
        "flushes": flushes.raw_operations,
        "other_processes_flushes": flushes.other_processes_operations,
        "upper_flushes": upper.raw_operations if upper else None,
    }
    least = case.thresholds["least_flushes"]
    own = None if upper else traced.counted(case.phase, case.observations, "own_flushes", flushes.subjects[0])
    if own is not None and own >= least:
        count = f"{own:,.0f} {'flush' if own == 1 else 'flushes'} or writes past its cache"
        statement = f"The load's own processes sent {count} to {flushes.device}."
        return found(RULE, case, State.PASS, statement, observed={**observed, "own_flushes": own})
    if flushes.raw_operations < least or (upper is not None and upper.raw_operations < least):
        return not_flushed(case, flushes, upper, observed)
    return completed(case, flushes, upper, observed)


def completed(case: TrialCase, flushes: ladder.LadderStep, upper: ladder.LadderStep | None, observed: Figures) -> Finding:
    """There were flushes: the load's, if they exceed those of other processes."""
    least = case.thresholds["least_flushes"]
    above = f", {upper.raw_operations:,.0f} through {upper.device} above it" if upper else ""
    passed = f"{flushes.raw_operations:,.0f} flushes were completed by {flushes.device}{above}"
    known = ladder.has_baseline(case.phase, case.observations, Rung.LOWEST_DEVICE, Direction.FLUSH)
    if not known and upper is None:
        statement = f"{passed}; flushes of other processes there are unknown (no idle baseline)."
        return found(RULE, case, State.UNVERIFIED, statement, observed=observed)
    if known and is_distinct(flushes, least):
        return found(RULE, case, State.PASS, f"{passed}.", observed=observed)
    if upper is not None and is_distinct(upper, least):
        tail = f"; {flushes.device} includes flushes of other processes, {upper.device} only the load's"
        return found(RULE, case, State.PASS, f"{passed}{tail}.", observed=observed)
    count = flushes.other_processes_operations
    foreign = f"{count:,.0f}" if count >= FEW else f"{count:.1g}"
    all_here = "1 flush" if flushes.raw_operations == 1 else f"{flushes.raw_operations:,.0f} flushes"
    statement = (
        f"{flushes.device} completed {all_here}; other processes make about {foreign} in that time"
        " (idle baseline), so the load's flushes cannot be separated."
    )
    return found(RULE, case, State.UNVERIFIED, statement, observed=observed)


def is_distinct(flushes: ladder.LadderStep, least: float) -> bool:
    """Whether flushes exceed those of other processes by two standard deviations of a Poisson count."""
    foreign = flushes.other_processes_operations
    return flushes.raw_operations >= least + foreign + 2 * math.sqrt(foreign)


def seen(case: TrialCase, rung: Rung) -> ladder.LadderStep | None:
    """The flushes of a rung while the clock and the drain ran."""
    clock = ladder.passed(case.phase, case.observations, rung, Direction.FLUSH, Span.CLOCK)
    return ladder.both(clock, ladder.passed(case.phase, case.observations, rung, Direction.FLUSH, Span.DRAIN))


def wants_flushes(case: TrialCase, subjects: tuple[str, ...]) -> bool:
    """Whether the device has a volatile cache, as far as it says; a device that says nothing is taken to have one."""
    facts = [ladder.device_fact(case.observations, subject.partition(":")[2], "queue.write_cache") for subject in subjects]
    return not facts or any(fact != "write through" for fact in facts)


def not_flushed(case: TrialCase, flushes: ladder.LadderStep, upper: ladder.LadderStep | None, observed: Figures) -> Finding:
    """No flush was counted, or none beyond those of other processes."""
    where = f"no flush of this load reached {flushes.device}"
    if upper is not None and upper.raw_operations < case.thresholds["least_flushes"]:
        where = f"{upper.device} received no flush"
    return found(
        RULE,
        case,
        State.FAIL,
        f"Stable media claimed, but {where} during clock and drain: its volatile cache may still hold the data.",
        observed=observed,
        relabel="writes into a volatile cache: acknowledged, not on stable media",
    )


RULE = Rule(
    id="D02",
    name="no-flush",
    scope=Scope.TRIAL,
    severity=Severity.INVALIDATES,
    part="durability",
    short="not flushed",
    meaning=Meaning.NOT_FLUSHED,
    needs=("L9.flush",),
    applies=lambda case: changes_only(case) or in_memory_first(case),
    check=check,
    about=About.TARGET_HOST,
    reads=("L9.flush", "L8.flush", "tracepoints.own_flushes"),
    wrong="A program that promises stable media is linked with a library that omits fsync. Or a mount option removes the "
    "barriers, or a layer below drops the flush. Every call succeeds, the rate is splendid, and a power cut takes all of it.",
    alternatives=(
        "A drive with power-loss protection may take forced-unit-access writes instead of flushes.",
        "Other processes flushed the same device often before the clock. Use an idle device.",
    ),
    advice="Sync inside the clock (flush = end or each). Look for a missing fsync, nobarrier, eatmydata, or a virtual disk "
    "with an unsafe cache mode.",
    at_shell="Let the command flush before it ends. Look for a missing fsync, nobarrier, eatmydata, or a virtual disk with "
    "an unsafe cache mode.",
    sources=(
        "Rebello et al.: Can applications recover from fsync failures?, ATC 2020",
        "Nightingale et al.: Rethink the sync, OSDI 2006",
    ),
)
