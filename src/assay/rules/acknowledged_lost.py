"""Finds acknowledged records that a claim of stable media promised to keep, and that are lost or changed.

The workload drill notes the number of every acknowledged record outside the target, and looks for each after the events.
- One acknowledged record that is lost, changed or unreadable: invalid, whatever the event was.
- None, and the power of a crash disk was cut: pass.
- None, and no power was cut: unverified. A killed or stopped server and a cut link leave the page cache of the server's machine.

The rule reads nothing but the records. A disk that answers flushes without doing them is seen by what it lost, not by its queue.
A record that was being written during the cut may be there or not: it was not acknowledged.
"""

from __future__ import annotations

from collections.abc import Iterator

from assay.catalogue import About, Rule, TrialCase
from assay.measures.drill import ends
from assay.records import DrillEnd, Finding, Scope, Severity, State
from assay.rulekit.applicability import changes_only, power_cuts, workload_kind
from assay.rulekit.findings import found

DRILL = "drill"


def applies(case: TrialCase) -> str | None:
    """Records that a drill appends."""
    if workload_kind(case) != DRILL:
        return "no acknowledged records are looked for: the workload is no drill"
    return changes_only(case)


def check(case: TrialCase) -> Finding:
    """What the checks after the appends found of the acknowledged records."""
    seen = tuple(checks(case))
    if not seen:
        return found(RULE, case, State.UNVERIFIED, "No acknowledged record was looked for: the run has no check.")
    looked, bad = sum(end.acknowledged for end in seen), sum(end.bad for end in seen)
    observed = {"looked_for": float(looked), "not_intact": float(bad)}
    cuts = power_cuts(case)
    if bad > case.thresholds["most_lost"]:
        return lost(case, seen, observed)
    intact = f"All {looked:,} acknowledged records are intact"
    if cuts and looked >= case.thresholds["least_records"]:
        times = "once" if len(cuts) == 1 else f"{len(cuts)} times"
        return found(RULE, case, State.PASS, f"{intact}; the power was cut {times}.", observed=observed)
    why = "no power was cut, and the page cache of the server's machine stayed" if not cuts else "these are too few"
    statement = f'{intact}, but {why}. Cut the power of a crash disk (action = "power").'
    return found(RULE, case, State.UNVERIFIED, statement, observed=observed)


def checks(case: TrialCase) -> Iterator[DrillEnd]:
    """What each client found of records in each check of the measure's workload."""
    for phase in case.run.phases:
        if phase.workload == case.measure.workload and phase.name != case.phase.name:
            yield from (end for _, end in ends(phase))


def lost(case: TrialCase, seen: tuple[DrillEnd, ...], observed: dict[str, float]) -> Finding:
    """Acknowledged records are not there."""
    worst = max(seen, key=lambda end: end.bad)
    counts = {"lost": worst.lost, "changed": worst.changed, "unreadable": worst.unreadable}
    parts = " and ".join(f"{count:,} {name}" for name, count in counts.items() if count)
    numbers = f"numbers {worst.first_bad:,} to {worst.last_bad:,}" if worst.first_bad is not None else ""
    statement = f"Stable media claimed, but of {worst.acknowledged:,} acknowledged records {parts} ({numbers})."
    return found(
        RULE,
        case,
        State.FAIL,
        statement,
        observed=observed,
        relabel="records acknowledged from memory: a failure loses them",
        detail=f"{parts} of {worst.acknowledged:,}",
    )


RULE = Rule(
    id="D08",
    name="acknowledged-lost",
    scope=Scope.TRIAL,
    severity=Severity.INVALIDATES,
    part="durability",
    short="acknowledged records lost",
    applies=applies,
    check=check,
    about=About.TARGET_HOST,
    wrong="A server says that each record is safe, and a disk says that each flush is done. Both are fast, and every counter "
    "of the kernel agrees. Then the power fails, and the records of the last minutes are gone. Only looking for what was "
    "acknowledged shows it.",
    alternatives=(
        "Another program wrote to the records' file. Nothing else may use the target.",
        "The file system came back from an older state (a snapshot, a restored copy).",
        "The server was not back when the records were looked for: then they are unreadable, not lost.",
    ),
    advice="Flush each record (flush = each), and use a disk and a server that do what a flush asks for. Or claim no stable "
    "media (durability = acked).",
    sources=(
        "Pillai et al., All File Systems Are Not Created Equal, OSDI 2014",
        "Zheng et al., Understanding the Robustness of SSDs under Power Fault, FAST 2013",
        "Linux: Documentation/block/writeback_cache_control.rst",
    ),
)
