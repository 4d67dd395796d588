"""Finds arms whose file systems were not equally full when their trials began.

The rule compares the medians of the used share over the runs of each arm (statvfs). More than `points_share` apart qualifies.
"""

from __future__ import annotations

import statistics

from assay import measures
from assay.catalogue import ComparisonCase, Rule, Runs
from assay.evidence import ladder
from assay.records import Finding, Scope, Severity, State
from assay.rulekit.findings import found


def applies(case: ComparisonCase) -> str | None:
    """None for every comparison, unless the file declares that the filling follows from the factor."""
    return f"{ladder.FREE} is declared to follow from the factor" if case.experiment.implies(ladder.FREE) else None


def check(case: ComparisonCase) -> Finding:
    """Fail where the arms differ by more than so many points."""
    one, two = taken(case.baseline), taken(case.candidate)
    if one is None or two is None:
        return found(RULE, case, State.UNVERIFIED, "Used space unknown for some runs.")
    gap, most = abs(one - two), case.thresholds["points_share"]
    observed = {"baseline_share": one, "candidate_share": two}
    both = f"{measures.percent(one)} full in the baseline, {measures.percent(two)} in the candidate (limit {most * 100:g} points)"
    if gap <= most:
        return found(RULE, case, State.PASS, f"File systems equally full: {both}.", observed=observed)
    statement = f"File systems not equally full: {both}. A fuller one searches longer and fragments files."
    return found(RULE, case, State.FAIL, statement, observed=observed)


def taken(runs: Runs) -> float | None:
    """The median share in use before the trials of an arm; None if a run lacks it."""
    known = [share for _, observations in runs if (share := ladder.used_share(observations)) is not None]
    return statistics.median(known) if known and len(known) == len(runs) else None


RULE = Rule(
    id="W10c",
    name="filling-differs",
    scope=Scope.COMPARISON,
    severity=Severity.QUALIFIES,
    part="comparability",
    applies=applies,
    check=check,
    wrong="The new system is measured on an empty disk and the old one in its current state. The comparison is one of a fresh "
    "and an aged file system.",
    alternatives=('The filling itself is the factor. Declare `implied = ["filesystem.free_share"]`.',),
    advice="Fill both file systems alike before the trials, or give each arm a fresh one of the same size.",
    sources=(
        "Smith, Seltzer: File system aging, SIGMETRICS 1997",
        "Kadekodi, Nagarajan, Ganger: Geriatrix: aging what you see and what you don't see, ATC 2018",
    ),
)
