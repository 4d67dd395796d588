"""Why a comparison is not sound, in a few words: its own rules, and the runs that it rests on."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from assay.records import Comparison, Finding, Judged, Results, Severity, State, Verdict, VerdictState

SHORT: Mapping[str, str] = {
    "C02": "the arms promise unlike things",
    "C03": "one arm was tuned, the other was not",
    "C04": "the arms did different work",
    "C05": "the arms ran on different machines",
    "C06": "the arms were loaded unlike",
    "D01": "dirty when the clock stopped",
    "D02": "not flushed",
    "E01": "evidence missing",
    "E05": "evidence contradicts",
    "G01": "closed loop called open",
    "G03": "too few operations for the percentile",
    "G04": "operations failed",
    "G06": "data not what was written",
    "G09": "connections used unlike",
    "L01": "client at its limit",
    "L04": "above the link's limit",
    "L06": "throttled",
    "L07": "workers idle",
    "L08": "counts disagree",
    "L10": "errors on the way to the disk",
    "N02": "processor taken by others",
    "N05": "host short of memory",
    "S01": "rates added that were not together",
    "S02": "interval too wide",
    "S03": "runs in two groups",
    "S04": "drifts with the order of runs",
    "S05": "depends on the run before",
    "S06": "one difference among many looks",
    "S07": "runs that follow each other",
    "S08": "runs left out",
    "S09": "equality not shown",
    "S10": "set up too few times",
    "T01": "answered from memory",
    "T03": "cached below",
    "T05": "fits in memory",
    "T06": "holes read",
    "T12": "tier of metadata not known",
    "W01": "too short",
    "W04": "clients not together",
    "W04c": "clients not together",
    "W05": "fixed time against fixed work",
    "W06": "too few periods",
    "W07": "device busy before the start",
    "W08": "clock changed or set",
    "W11": "on the throttle's credit",
}
"""Rule -> what it found, where its name does not say so."""
MOST = 3


def why(results: Results, one: Comparison, verdict: Verdict | None) -> tuple[str, ...]:
    """The causes of a verdict that is not SOUND; empty for one that is, or where none was given."""
    if verdict is None or verdict.state is VerdictState.SOUND:
        return ()
    own = [short(finding) for finding in verdict.findings if matters(finding, verdict.state)]
    return tuple(dict.fromkeys((*own, *of_runs(runs_in(results, one), one.measure))))[:MOST]


def matters(finding: Finding, state: VerdictState) -> bool:
    """Whether a finding holds something against the comparison; what is unverified only where nothing worse is known."""
    if finding.severity is Severity.NOTES:
        return False
    return finding.state is State.FAIL or (finding.state is State.UNVERIFIED and state is VerdictState.UNVERIFIED)


def short(finding: Finding) -> str:
    """`interval too wide (S02)`."""
    if finding.rule == "C01" and finding.state is State.FAIL:
        differing = finding.observed.get("differing")
        words = "more than the factor differs" if differing else "a setting changed during a run"
    else:
        words = SHORT.get(finding.rule, finding.name.replace("-", " "))
    if finding.rule == "S04" and "drift_p" not in finding.observed:
        words = "not interleaved"
    if finding.rule == "S02" and finding.bound is None:
        words = "too few runs"
    return f"{words} ({finding.rule})"


def runs_in(results: Results, one: Comparison) -> Iterable[Judged]:
    """The runs that count in the two arms; all of them where none does."""
    here = [
        judged
        for judged in results.runs
        if judged.run.trial.levels.get(one.factor) in (one.baseline, one.candidate)
        and all(judged.run.trial.levels.get(path) == level for path, level in one.within.items())
    ]
    return [judged for judged in here if judged.id not in one.excluded] or here


def of_runs(runs: Iterable[Judged], measure: str) -> Iterable[str]:
    """`3 of 8 runs TAINTED: processor taken by others (N02)`, for each state that is not sound, the worst first."""
    verdicts = [judged.verdicts[measure] for judged in runs if measure in judged.verdicts]
    for state in VerdictState:
        here = [verdict for verdict in verdicts if verdict.state is state]
        if here and state is not VerdictState.SOUND:
            causes = Counter(short(finding) for verdict in here for finding in verdict.findings if matters(finding, state))
            most = f": {causes.most_common(1)[0][0]}" if causes else ""
            yield f"{len(here)} of {len(verdicts)} runs {state.value}{most}"
