"""Finds acknowledged records that a claim of stable media promised to keep, and that are lost or changed.

The workload drill notes the number of every acknowledged record outside the target, and looks for each after the events.
- One acknowledged record that is lost or changed: invalid, whatever the event was.
- None of these, but records that cannot be read, or that nobody looked for: unverified. A server that is away has lost nothing.
- All intact, and the power of a crash disk was cut after enough of them were acknowledged: pass.
- All intact, and no power was cut: unverified. A killed or stopped server and a cut link leave the page cache of its machine.

Several clients look for each record twice: its own client, and the next one. A record counts once, as the worse of both found it.
The rule reads nothing but the records. A disk that answers flushes without doing them is seen by what it lost, not by its queue.
A record that was being written during the cut may be there or not: it was not acknowledged.
"""

from __future__ import annotations

from collections.abc import Mapping

from assay.catalogue import About, Rule, TrialCase
from assay.measures.drill import ends
from assay.measures.outages import counters
from assay.measures.timelines import interpolated
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
    seen = checks(case)
    if not seen:
        return found(RULE, case, State.UNVERIFIED, "No acknowledged record was looked for: the run has no check.")
    looked = min(sum(end.acknowledged for end in each) for each in seen.values())
    noted = max(looked, sum(end.acknowledged for _, end in ends(case.phase)))
    wrong = max(sum(end.wrong for end in each) for each in seen.values())
    unreadable = max(sum(end.unreadable for end in each) for each in seen.values())
    observed = {"looked_for": float(looked), "not_intact": float(wrong), "unreadable": float(unreadable)}
    if wrong > case.thresholds["most_lost"]:
        return lost(case, [end for each in seen.values() for end in each], observed)
    if unreadable or looked < noted:
        unseen = f"Nobody could read {unreadable:,}" if unreadable else f"Nobody looked for {noted - looked:,}"
        statement = (
            f"{unseen} of {noted:,} acknowledged records: whether all are intact is unknown. Look when the target is back."
        )
        return found(RULE, case, State.UNVERIFIED, statement, observed=observed)
    return kept(case, looked, observed)


def kept(case: TrialCase, looked: int, observed: dict[str, float]) -> Finding:
    """All records are intact: what that proves depends on what was cut, and when."""
    cuts, intact = power_cuts(case), f"All {looked:,} acknowledged records are intact"
    if not cuts:
        why = 'no power was cut, and the page cache of the server\'s machine stayed. Cut that of a crash disk (action = "power")'
        return found(RULE, case, State.UNVERIFIED, f"{intact}, but {why}.", observed=observed)
    risked = min(looked, before(case, max(cuts), looked))
    observed = {**observed, "before_the_cut": float(risked)}
    if risked < case.thresholds["least_records"]:
        why = f"only {risked:,} were acknowledged before the power was cut. Cut it later, or append faster"
        return found(RULE, case, State.UNVERIFIED, f"{intact}, but {why}.", observed=observed)
    times = "once" if len(cuts) == 1 else f"{len(cuts)} times"
    return found(RULE, case, State.PASS, f"{intact}; the power was cut {times}.", observed=observed)


def before(case: TrialCase, at_ns: int, every: int) -> int:
    """How many records were acknowledged so many ns after the start: by the notes over time; without these all of them."""
    series = counters(case.phase, case.observations, case.measure.operation, "count")
    when = case.phase.start_ns + at_ns
    return int(sum(interpolated(one, when) for one in series if one.at_ns[0] <= when)) if series else every


def checks(case: TrialCase) -> Mapping[str, tuple[DrillEnd, ...]]:
    """What the clients found of records in each check of the measure's workload."""
    phases = [one for one in case.run.phases if one.workload == case.measure.workload and one.name != case.phase.name]
    found = {phase.name: tuple(end for _, end in ends(phase)) for phase in phases}
    return {name: each for name, each in found.items() if each}


def lost(case: TrialCase, seen: list[DrillEnd], observed: dict[str, float]) -> Finding:
    """Acknowledged records are not there."""
    worst = max(seen, key=lambda end: end.wrong)
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
    reads=("L0.write",),
    at_shell="Flush each record, and use a disk and a server that do what a flush asks for.",
    advice="Flush each record (flush = each), and use a disk and a server that do what a flush asks for. Or claim no stable "
    "media (durability = acked).",
    sources=(
        "Pillai et al., All File Systems Are Not Created Equal, OSDI 2014",
        "Zheng et al., Understanding the Robustness of SSDs under Power Fault, FAST 2013",
        "Linux: Documentation/block/writeback_cache_control.rst",
    ),
)
