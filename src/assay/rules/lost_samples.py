"""Finds observers that missed samples during the clock, so that a series is blind at that time.

The rule takes the longest gap of each observer as the lab recorded it. It also takes the longest step within each series of at
least five samples, over its median step.
More than `gap_intervals` intervals leave the rule unverified, with the observers named: one sample may be late, two missing are
a hole.
A command of `[observe.NAME]` counts for its own figures alone, by the steps between its samples.
A slow command runs less often than asked for, and misses nothing of other evidence.
Tracepoints: more than `lost_events` lost events, or too many files for its maps, make all its counts unusable.
The ladder of bytes is not affected: it is the difference between the ends of the phase.
"""

from __future__ import annotations

import itertools

from assay.catalogue import About, Rule, TrialCase
from assay.evidence import observed, traced
from assay.records import Finding, Scope, Series, Severity, State
from assay.rulekit.findings import found

OF_COMMANDS = f"{observed.LAYER}."
"""How the names of observers begin that are commands of the file."""
LEAST_SAMPLES = 5
"""With fewer under the clock a series has no usual step (page_cache looks at the edges alone)."""
OF_THE_LAB_ITSELF = ("application", "lab")
"""Layers that no observer looks at: the engine's own curve, and what looking cost, which has a point for each look of any."""


def check(case: TrialCase) -> Finding:
    """Unverified where events were lost, or an observer was silent for more than `gap_intervals` of its intervals."""
    limit = case.thresholds["gap_intervals"]
    if (lost := traced.lost(case.phase, case.observations)) > case.thresholds["lost_events"]:
        return found(
            RULE,
            case,
            State.UNVERIFIED,
            f"{lost:,.0f} tracepoint events lost (limit {case.thresholds['lost_events']:g}): no rule uses their counts.",
            observed={"tracepoints.lost_events": lost},
            evidence=("tracepoints: lost events of bpftrace, pages beyond its maps",),
        )
    seen = gaps(case)
    silent = {name: gap for name, gap in seen.items() if gap > limit}
    shown = sorted((silent or seen).items())
    if silent:
        missed = "; ".join(f"{name} for {gap:.1f} of its intervals" for name, gap in shown)
        statement = (
            f"Samples missed during the clock: {missed} (limit {limit:g}). The ladder of bytes is not affected;"
            " the series of these observers are unknown at those times."
        )
    elif seen:
        statement = f"Longest gap of an observer: {max(seen.values()):.1f} of its intervals (limit {limit:g})."
    else:
        statement = "No observer samples within the phase, so none was missed."
    return found(
        RULE,
        case,
        State.UNVERIFIED if silent else State.PASS,
        statement,
        observed={f"{name}.gap_intervals": round(gap, 3) for name, gap in shown},
        evidence=tuple(f"longest gap of {name}: {gap:.1f} intervals" for name, gap in shown),
    )


def gaps(case: TrialCase) -> dict[str, float]:
    """Observer -> its longest gap in intervals, the worse of what the lab kept and what its series show."""
    kept = case.observations.longest_gaps()
    longest = {name: gap / 1000 for name, gap in kept.items() if not name.startswith(OF_COMMANDS)}
    for series in case.observations.series:
        name = series.source.partition(":")[0]
        if name.startswith(OF_COMMANDS) and not f"{case.measure.figure}.".startswith(f"@{series.host}.{name}."):
            continue
        gap = None if series.phase != case.phase.name or series.layer in OF_THE_LAB_ITSELF else gap_of(series, case)
        if gap is not None:
            longest[name] = max(gap, longest.get(name, 0.0))
    return longest


def gap_of(series: Series, case: TrialCase) -> float | None:
    """The longest step under the clock in units of the median step; None where there are too few samples."""
    inside = [at for at in series.at_ns if case.phase.start_ns <= at <= case.phase.end_ns]
    if len(inside) < LEAST_SAMPLES:
        return None
    from statistics import median  # the library is imported where there are samples enough

    steps = [after - before for before, after in itertools.pairwise(inside)]
    usual = median(steps)
    return max(steps) / usual if usual > 0 else None


RULE = Rule(
    id="E02",
    name="lost-samples",
    scope=Scope.TRIAL,
    severity=Severity.QUALIFIES,
    part="evidence",
    check=check,
    about=About.EACH_HOST,
    wrong="An observer that was not scheduled during the clock leaves a hole in its series. A dip, a stall or a burst of steal "
    "in the hole is invisible, and a chart drawn across it looks calm.",
    alternatives=(
        "The machine had no CPU left for the observer. Steal (N02) or a saturated host shows at the same times.",
        "The observed file answered slowly. The duration of each reading is stored with its snapshot.",
    ),
    advice="Run again on a quieter machine or leave a CPU free (knob `cpus`). If the same observer always misses samples, list "
    "fewer `observers`. Until then do not use the named series at those times.",
    at_shell="Run again on a quieter machine, and leave a CPU free. Do not use the named series at those times.",
    sources=("Mytkowicz et al., ASPLOS 2009: what a measurement misses is not noise but bias",),
)
