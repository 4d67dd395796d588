"""Finds file systems that were nearly empty or nearly full when the trial began: new files lie unlike aged ones.

The rule reads the used share of the space before the trial's own files were made (statvfs, as an ordinary user sees it).
Below `least_share` or above `most_share` it is a note, which changes no verdict: only a fresh file system can be reproduced.
"""

from __future__ import annotations

from assay import measures
from assay.catalogue import About, Rule, TrialCase
from assay.evidence import ladder
from assay.records import Finding, Scope, Severity, State
from assay.rulekit.findings import found


def applies(case: TrialCase) -> str | None:
    """None where the load works in a directory."""
    return None if any(place.directory for place in case.run.places) else "no directory"


def check(case: TrialCase) -> Finding:
    """A note where the file system was emptier or fuller than one that is in use."""
    share = ladder.used_share(case.observations)
    if share is None:
        return found(RULE, case, State.UNVERIFIED, "Used space before the trial unknown.")
    effect = ""
    if share < case.thresholds["least_share"]:
        effect = ": new files lie in one piece and free space in long runs, unlike after years of use"
    elif share > case.thresholds["most_share"]:
        effect = ": the last gaps are filled, with long searches and fragmented files"
    statement = f"File system {measures.percent(share)} full when the trial began{effect}."
    return found(RULE, case, State.FAIL if effect else State.PASS, statement, observed={"taken_share": share})


RULE = Rule(
    id="W10",
    name="filling",
    scope=Scope.TRIAL,
    severity=Severity.NOTES,
    part="regime",
    reads=(f"fact:{ladder.FREE}",),
    applies=applies,
    check=check,
    about=About.TARGET_HOST,
    wrong="On a new file system a file lies in one piece and free space is one long run. After years of writing and deleting "
    "both are fragmented. Figures can be lower by tens of per cent, and even the order of two file systems can change. A "
    "nearly full one searches long for free space.",
    alternatives=(
        "A new, empty file system is reproducible and may be the intended subject. This note names the state.",
        "The used share says little about age: a file system that was filled and emptied for years is old at 30 %.",
    ),
    advice="Measure two states, fresh and aged. Fill the file system as in production (`assay survey` gives the size "
    "distribution), delete and write again.",
    sources=(
        "Smith, Seltzer: File system aging, SIGMETRICS 1997",
        "Kadekodi, Nagarajan, Ganger: Geriatrix: aging what you see and what you don't see, ATC 2018",
        "Conway et al.: File systems fated for senescence? Nonsense, says science!, FAST 2017",
    ),
)
